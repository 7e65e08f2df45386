# expect: GB0124 @ 12
# expect: GB0059 @ 14
"""The same in a manager that does nothing, which Dynamo enters again: what follows is compiled, and its print breaks."""
import contextlib

import torch


@torch.compile
def centred(x):
    with contextlib.nullcontext():
        shift = x.mean().item()
        x = x - shift
    print("centred")
    return x * 2


print("checksum", round(centred(torch.arange(4.0)).abs().sum().item(), 4))
