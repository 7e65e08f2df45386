# expect: GB0142 @ 24
# expect: GB0142 @ 32
# expect: GB0142 @ 40
# silent: GB0003 @ 11
# note: what was made before the region cannot be entered in it, be it a device, a profiler or a generator's manager
import contextlib

import torch


@contextlib.contextmanager
def scope():
    yield 2


SCOPE = scope()
DEVICE = torch.device("cpu")
PROFILE = torch.profiler.profile()


@torch.compile(backend="eager")
def scoped(x: torch.Tensor):
    y = x * 2
    with SCOPE:
        y = y + 1
    return y * 3


@torch.compile(backend="eager")
def placed(x: torch.Tensor):
    y = x * 2
    with DEVICE:
        y = y + 1
    return y * 3


@torch.compile(backend="eager")
def profiled(x: torch.Tensor):
    y = x * 2
    with PROFILE:
        y = y + 1
    return y * 3


if __name__ == "__main__":
    scoped(torch.ones(2))
    placed(torch.ones(2))
    profiled(torch.ones(2))
