# expect: GB0045 @ 6
import torch


def workspace(x):
    if x.is_inference():
        return torch.empty_like(x)
    return x.clone()


@torch.compile
def op(x):
    buf = workspace(x)
    return buf.copy_(x).add_(1)


op(torch.randn(3))
