# expect: none
import torch
import torch.nn as nn


class Sampler(nn.Module):
    def __init__(self, steps=10):
        super().__init__()
        betas = torch.linspace(1e-4, 0.02, steps)
        self.register_buffer("keep", (1 - betas).sqrt())
        self.steps = betas.tolist()

    def forward(self, x, t):
        last = self.steps[-1]
        return x * self.keep.gather(0, t).view(-1, 1) + last


torch.compile(Sampler())(torch.randn(2, 3), torch.tensor([4, 7]))
