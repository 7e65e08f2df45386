# expect: GB0170 @ 6
import torch


def divided(x, divisor):
    if isinstance(divisor, torch.Tensor) and divisor == 0.0:
        divisor = 1.0
    return x / divisor


@torch.compile
def standardised(x):
    y = x - x.mean()
    return divided(y, 2.0) + divided(y, y.std())


standardised(torch.rand(4, 3))
