# expect: GB0007 @ 13
# expect: GB0007 @ 15
# expect: GB0467 @ 15
import functools
import time

import torch


def timed(fn):
    @functools.wraps(fn)
    def inner(*args, **kwargs):
        start = time.monotonic()
        out = fn(*args, **kwargs)
        inner.elapsed = time.monotonic() - start
        return out
    return inner


@timed
def heavy(x):
    return (x @ x.t()).softmax(-1)


@torch.compile
def run(x):
    return heavy(x) + 1


run(torch.randn(3, 2))
