# expect: none
# source: https://github.com/pytorch/pytorch/pull/171496
# note: only a warning: the cache is ignored and the function traced
import functools
import torch
import torch.nn as nn


@functools.lru_cache(maxsize=None)
def sinusoid(length, dim):
    pos = torch.arange(length)[:, None]
    freq = torch.exp(torch.arange(0, dim, 2) * -0.5)
    return torch.cat([torch.sin(pos * freq), torch.cos(pos * freq)], -1)


class Embed(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.tok = nn.Embedding(20, dim)

    def forward(self, ids):
        x = self.tok(ids)
        return x + sinusoid(x.size(1), x.size(2))


torch.manual_seed(0)
embed = torch.compile(Embed(), backend="eager")
total = sum(embed(torch.randint(0, 20, (2, n))).sum().item() for n in (4, 6))
print(f"checksum {total:.4f}")
