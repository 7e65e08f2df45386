# expect: GB0363 @ 16
# expect: GB7650 @ 16
# expect: GB0055 @ 17
# source: https://github.com/pytorch/pytorch/issues/118735
# fix: hoist ; auto: manual (noise is drawn by the caller)
import torch
import torch.nn as nn


class Sampler(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.net = nn.Linear(dim, dim)

    def forward(self, x, sigma, seed):
        g = torch.Generator().manual_seed(seed)
        noise = torch.randn(x.shape, generator=g)
        return x - sigma * self.net(x) + 0.1 * sigma * noise


torch.manual_seed(0)
sample = torch.compile(Sampler(), backend="eager")
x = torch.randn(2, 6)
for sigma in (1.0, 0.5):
    x = sample(x, sigma, 7)
print(f"checksum {x.sum().item():.4f}")
