# expect: GB0124 @ 47
# expect: GB0124 @ 48
# expect: GB0124 @ 49
# expect: GB0124 @ 50
# expect: GB0124 @ 56
# expect: GB0124 @ 57
# expect: GB0124 @ 58
# expect: GB0124 @ 73
# expect: GB0124 @ 74
# expect: GB0124 @ 75
# expect: GB0124 @ 76
# expect: GB0124 @ 86
# expect: GB0124 @ 87
# expect: GB0124 @ 88
# expect: GB0170 @ 95
# expect: GB0170 @ 98
# expect: GB0170 @ 103
# expect: GB0170 @ 108
# expect: GB0170 @ 111
# expect: GB0170 @ 114
# expect: GB0170 @ 117
# expect: GB0170 @ 119
# expect: GB0170 @ 121
import warnings

import torch


class Bounds:
    def __init__(self):
        self.seen = []

    def validate(self, low, name="low"):
        if low > 3:
            raise ValueError(name)

    def note(self, low):
        self.seen = [low]


bounds = Bounds()
helpers = [bounds.validate]


@torch.compile
def asked(x, limits: list):
    bounds.validate(x.max().item())
    helpers[0](x.min().item())
    bounds.note(x[0].item())
    bounds.validate(x[1].item() + limits.pop())
    return x * 2


@torch.compile
def fed(x):
    low = x.min().item()
    high: float = x.max().item()
    mean = x.mean().item()
    text = "low"
    if low > 9:
        raise ValueError("low")
    if high > 9:
        text = f"{high}"
        warnings.warn(text)
        raise ValueError(text)
    if mean > 9:
        bounds.note(mean)
    return x * 2


@torch.compile
def kept(x):
    total = x.sum().item()
    first = last = x[0].item()
    bounds.low = x[1].item()
    half, whole = x.sum().item() / 2, 1
    assert total > 0 and first < 9
    assert half > 0
    return x * total


@torch.compile
def rows(x, flag: bool):
    assert flag
    assert x.sum() > 0; assert x.sum() < 9
    assert bool(x.any())
    assert x.sum().item() > 0
    assert float(x.sum()) > 0
    assert x.shape[0] > 1
    return x


@torch.compile
def ends(x, flag: bool):
    if x.sum() > 9:
        if flag:
            raise ValueError("a")
    if x.sum() > 9:
        if flag:
            raise ValueError("a")
        else:
            x = x + 1
    if x.sum() > 9:
        if flag:
            x = x + 1
        else:
            raise ValueError("a")
    if x.sum() > 9:
        low, high = 1, 2
        raise ValueError(low)
    if x.sum() > 9:
        low = bounds.seen.pop()
        raise ValueError(low)
    if x.sum() > 9:
        bounds.low = 2
        raise ValueError("a")
    if (n := x.sum()) > 9:
        raise ValueError("a")
    elif flag and x.sum() > 8:
        raise ValueError("b")
    elif x.sum() > 7 or flag is None:
        x = x + 1
    return x


x = torch.tensor([1.0, 2.0])
asked(x, [1])
fed(x)
kept(x)
rows(x, True)
ends(x, True)
