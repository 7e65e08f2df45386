# expect: GB0170 @ 18
# expect: GB0170 @ 28
# expect: GB0170 @ 37
# expect: GB0170 @ 44
# expect: GB0170 @ 51
# expect: GB0170 @ 59
# expect: GB0170 @ 61
# expect: GB0170 @ 69
# expect: GB0170 @ 78
# expect: GB0170 @ 87
# expect: GB0170 @ 99
# expect: GB0170 @ 109
import torch


@torch.compile
def either(x):
    if x.sum() > 9:
        y = x * 2
        return y, x
    else:
        z = x + 1
        return z, x * 3


@torch.compile
def one(x):
    if x.sum() > 9:
        return x * 2
    else:
        x = x + 1
    return x


@torch.compile
def bare(x, out):
    if x.sum() > 9:
        return
    return x


@torch.compile
def open_end(x, out):
    if x.sum() > 9:
        return x
    out.copy_(x)


@torch.compile
def facts(x, flag: bool):
    if flag and x.sum() > 9:
        return x * 2
    y = x + 1
    return y * 3


@torch.compile
def facts_in_line(x, flag: bool):
    if flag and x.sum() > 9:
        return x * 2
    elif x.sum() > 8:
        return x * 3
    return x * 4


@torch.compile
def from_loop(x):
    for _ in range(2):
        if x.sum() > 9:
            return x * 2
        x = x + 1
    return x


@torch.compile
def shared(x):
    y = x + 1
    if x.sum() > 9:
        y = x * 2
        return y
    return y * 3


@torch.compile
def later(x, flag: bool):
    y = x * 1
    if x.sum() > 9:  # large
        z = x * 2
        return z, y
    y = y + 1
    if flag:
        return y * 2, y
    y = y * 3
    return y, x


@torch.compile
def later_nothing(x, flag: bool):
    if x.sum() > 9:
        return x
    y = x + 1
    if flag:
        return
    return y


@torch.compile
def scalar(x):
    if x.sum() > 9:
        return 1.0
    return x.mean()


x = torch.ones(3)
either(x)
one(x)
bare(x, x)
open_end(x, x + 1)
facts(x, True)
facts_in_line(x, True)
from_loop(x)
shared(x)
later(x, True)
later_nothing(x, True)
scalar(x)
