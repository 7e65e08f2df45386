# expect: none
import functools

import torch


def traced_shape(fn):
    @functools.wraps(fn)
    def inner(*args, **kwargs):
        out = fn(*args, **kwargs)
        assert out.shape == args[0].shape, "shape changed"
        return out
    return inner


@traced_shape
def residual(x, scale=1.0, *, act=torch.relu):
    return x + scale * act(x)


@torch.compile
def stack(x, depth=3):
    layer = functools.partial(residual, scale=0.5, act=torch.tanh)
    for _ in range(depth):
        x = layer(x)
    return x


stack(torch.randn(2, 2))
