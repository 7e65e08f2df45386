# expect: GB0124 @ 9
# expect: GB0036 @ 10
# note: fullgraph=True captures scalars and data-dependent shapes; the same helper breaks under a plain compile
import torch
from torch import nn


def weigh(x, mask):
    total = x.sum().item()
    return x * total + x[mask].sum()


class Pool(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.proj = nn.Linear(width, width)

    def forward(self, x, mask):
        return weigh(self.proj(x), mask)


@torch.compile(fullgraph=True, backend="eager")
def whole(x, mask):
    return weigh(x, mask) + x.nonzero().shape[0]


def later(x, lengths):
    n = int(lengths.max())
    return torch.zeros(x.shape[0], n) + x.mean()


pool = torch.compile(Pool(4), fullgraph=True, backend="eager")
padded = torch.compile(later, backend="eager", fullgraph=True)


@torch.compile(backend="eager")
def split(x, mask):
    return weigh(x, mask) * 2


torch.manual_seed(0)
x, mask = torch.rand(4), torch.tensor([True, False, True, True])
result = pool(x, mask).sum() + whole(x, mask).sum() + padded(x, torch.tensor([1, 3])).sum() + split(x, mask).sum()
print("checksum", round(result.item(), 3))
