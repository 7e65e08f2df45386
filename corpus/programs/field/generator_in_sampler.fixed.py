# expect: none
# source: https://github.com/pytorch/pytorch/issues/118735
# fix: hoist ; auto: manual (noise is drawn by the caller)
# fixes: generator_in_sampler.py
import torch
import torch.nn as nn


class Sampler(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.net = nn.Linear(dim, dim)

    def forward(self, x, sigma, noise):
        return x - sigma * self.net(x) + 0.1 * sigma * noise


torch.manual_seed(0)
sample = torch.compile(Sampler(), backend="eager")
x = torch.randn(2, 6)
for sigma in (1.0, 0.5):
    noise = torch.randn(x.shape, generator=torch.Generator().manual_seed(7))
    x = sample(x, sigma, noise)
print(f"checksum {x.sum().item():.4f}")
