# expect: none
import warnings

import torch
from torch import nn


class Upsample(nn.Module):
    def __init__(self, scale_factor=None):
        super().__init__()
        if scale_factor is not None:
            warnings.warn("scale_factor is deprecated, use size", DeprecationWarning)
        self.scale_factor = scale_factor or 1

    def forward(self, x):
        return nn.functional.interpolate(x, size=int(x.shape[-1] * self.scale_factor))


up = torch.compile(Upsample(2.0))
up(torch.randn(1, 2, 4))
