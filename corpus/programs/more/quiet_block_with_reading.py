# expect: GB0092 @ 12
# expect: GB0124 @ 12
"""A number is read while warnings are caught: the manager is lost with the break."""
import warnings

import torch


@torch.compile
def centred(x):
    with warnings.catch_warnings():
        shift = x.mean().item()
        x = x - shift
    return x * 2


print("checksum", round(centred(torch.arange(4.0)).abs().sum().item(), 4))
