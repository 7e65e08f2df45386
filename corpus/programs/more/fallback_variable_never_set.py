# expect: GB0011 @ 12
import torch


@torch.compile
def combine(x, mode):
    if mode == "sum":
        out = x.sum(0)
    elif mode == "mean":
        out = x.mean(0)
    try:
        return out * 2
    except UnboundLocalError:
        return x


combine(torch.randn(3, 2), "max")
