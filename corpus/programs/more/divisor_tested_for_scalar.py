# expect: GB0208 @ 7
import numpy as np
import torch


def divided(x, divisor):
    if np.isscalar(divisor):
        if divisor == 0.0:
            divisor = 1.0
        return x / divisor
    divisor = divisor.clone()
    divisor[divisor == 0.0] = 1.0
    return x / divisor


@torch.compile
def standardised(x):
    y = x - x.mean()
    return divided(y, y.std(0))


standardised(torch.rand(4, 3))
