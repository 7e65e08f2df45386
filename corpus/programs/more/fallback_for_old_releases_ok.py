# expect: none
"""Code for releases that are long gone is not reached."""
import sys

import torch
import torch.nn as nn

TORCH = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
HAS_NATIVE = TORCH >= (2, 1)
MAJOR, MINOR = map(int, torch.__version__.split(".")[:2])
MODE = "native" if torch.__version__ >= "2.0" else "manual"


def at_least(major, minor):
    return (MAJOR, MINOR) >= (major, minor)


class Scale(nn.Module):
    def forward(self, x):
        if not HAS_NATIVE:
            print("falling back")
        if MODE == "manual":
            x = x * x.max().item()
        if not at_least(2, 0) or int(torch.__version__[0]) < 2:
            print("very old")
        if sys.version_info < (3, 8):
            print("old Python")
        return x * 2


print("checksum", torch.compile(Scale())(torch.arange(4.0)).sum().item())
