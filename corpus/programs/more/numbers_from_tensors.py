# expect: GB0033 @ 27
# expect: GB0033 @ 28
# expect: GB0033 @ 30
# expect: GB0033 @ 36
# expect: GB0033 @ 37
# expect: GB0033 @ 42
# expect: GB0033 @ 43
# expect: GB0033 @ 44
# expect: GB0033 @ 51
# expect: GB0033 @ 52
# expect: GB0033 @ 53
# expect: GB0059 @ 59
# expect: GB0059 @ 60
# expect: GB0170 @ 65
# expect: GB0033 @ 67
# expect: GB0033 @ 83
# expect: GB0124 @ 83
# expect: GB0033 @ 84
# also: GB7000 @ 67
import math

import torch


@torch.compile
def fills(x, t, n):
    a = torch.full_like(x, n.sum()) + torch.full_like(n, n.sum()) + torch.full_like(x, t.detach())
    c = x.new_full((2,), t.sum())
    c[0] = 1
    d = torch.full_like(x, n.bool().any())
    return a + c + d


@torch.compile
def clamps(x, t):
    a = torch.clamp(x, 0.0, t) + torch.clamp(x + 1, min=t, max=2.0) + x.clamp(t, max=3)
    return a + x.clamp(min=t) + (x * 2).clamp(0, t)


@torch.compile
def numbers(x, t, n):
    low = math.floor(t) + math.ceil(t.sum())
    root = math.sqrt(n) + math.exp(n.sum()) * 2
    far = not t > 3
    near = not (math.isnan(t.sum()))
    return x * low + root + far + near


@torch.compile
def compared(x, t):
    a = x.equal(t) * 1 + x.allclose(t, atol=1e-3) * 2
    b = t[0].is_nonzero() + torch.is_nonzero(t[1]) * x
    c = torch.equal(x + 1, t) | torch.allclose(x, t, 1e-3, 1e-3)
    return a + b + c


@torch.compile
def powers(x, t):
    a = pow(x, t).sum() + pow(x + 1, -2)[0] + pow(2, t) ** pow(x, 2)
    return a + pow(x[0], 2) + abs(pow(x, t.sum()))


@torch.compile
def decided(x, t):
    if not t.any():
        return x
    while not x.equal(t):
        x = t
    return x if torch.equal(x, t) else t


x, t = torch.tensor([1.0, 2.0]), torch.tensor(0.5)
fills(x, t, torch.tensor(3))
clamps(x, t)
numbers(x, t, torch.tensor(3))
compared(x, x)
powers(x, x)
decided(x, x + 1)


@torch.compile
def through_the_class(x, t):
    a = torch.Tensor.clamp(x, 0.0, t) + x.new_full((2,), 1) * torch.Tensor.item(t)
    return a + torch.Tensor.equal(x, x)


through_the_class(x, t)
