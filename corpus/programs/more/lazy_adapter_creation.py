# expect: GB0264 @ 16
import torch
import torch.nn as nn


class AdaptIn(nn.Module):
    """Creates its projection when it first sees the input's width."""

    def __init__(self, out_dim):
        super().__init__()
        self.out_dim = out_dim
        self.proj = None

    def forward(self, x):
        if self.proj is None:
            self.proj = nn.Linear(x.shape[-1], self.out_dim)
        return self.proj(x)


m = torch.compile(AdaptIn(3))
m(torch.randn(2, 7))
