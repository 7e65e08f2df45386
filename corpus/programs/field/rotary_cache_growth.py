# expect: none
# source: https://github.com/foundation-model-stack/foundation-model-stack/pull/64
# note: was a cascade of breaks; lengths are ints, so the rebuild only recompiles
import torch
import torch.nn as nn


class Rotary(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.dim, self.cached_len = dim, 0
        self.cos = self.sin = None

    def update(self, n):
        if n > self.cached_len:
            self.cached_len = n
            freq = 10000 ** (-torch.arange(0, self.dim, 2) / self.dim)
            angle = torch.outer(torch.arange(n).float(), freq)
            self.cos, self.sin = angle.cos(), angle.sin()

    def forward(self, x):
        self.update(x.size(1))
        a, b = x.chunk(2, -1)
        cos, sin = self.cos[:x.size(1)], self.sin[:x.size(1)]
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


torch.manual_seed(0)
rope = torch.compile(Rotary(), backend="eager")
total = sum(rope(torch.randn(2, n, 8)).sum().item() for n in (4, 3, 7))
print(f"checksum {total:.4f}")
