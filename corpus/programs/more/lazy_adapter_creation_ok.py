# expect: none
import torch
import torch.nn as nn


class AdaptIn(nn.Module):
    def __init__(self, out_dim, in_dim):
        super().__init__()
        self.proj = nn.Linear(in_dim, out_dim) if in_dim != out_dim else nn.Identity()
        self.bias = None

    def forward(self, x):
        y = self.proj(x)
        if self.bias is None:
            return y
        return y + self.bias


m = torch.compile(AdaptIn(3, 7))
m(torch.randn(2, 7))
