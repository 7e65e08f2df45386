# expect: GB0069 @ 13
import torch
import torch.nn as nn


class FastNorm(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        try:
            from fused_norm_kernels_not_here import rms_norm
        except ImportError:
            rms_norm = None
        if rms_norm is not None:
            return rms_norm(x, self.weight)
        return x * x.pow(2).mean(-1, keepdim=True).rsqrt() * self.weight


torch.compile(FastNorm())(torch.randn(2, 4))
