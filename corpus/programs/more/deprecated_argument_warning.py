# expect: GB0007 @ 10
import warnings

import torch
from torch import nn


def _handle_deprecated(size, scale_factor):
    if scale_factor is not None:
        warnings.warn("scale_factor is deprecated, use size", DeprecationWarning)
        return int(size * scale_factor)
    return size


class Upsample(nn.Module):
    def forward(self, x, scale_factor=None):
        target = _handle_deprecated(x.shape[-1], scale_factor)
        return nn.functional.interpolate(x, size=target)


up = torch.compile(Upsample())
up(torch.randn(1, 2, 4), scale_factor=2.0)
