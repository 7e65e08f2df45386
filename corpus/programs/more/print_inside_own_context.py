# expect: GB0059 @ 18
# also: GB0066 @ 18
# silent: GB0003 @ 9
import contextlib

import torch


@contextlib.contextmanager
def section(name):
    yield name


@torch.compile
def f(x):
    with section("norm") as name:
        x = x / x.norm()
        print("leaving", name)
    return x * 2


f(torch.randn(4))
