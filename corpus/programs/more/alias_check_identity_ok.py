# expect: none
import torch


@torch.compile
def safe_add_(dst, src):
    if dst is src or dst.shape != src.shape or dst.dtype is not src.dtype:
        src = src.clone()
    dst.add_(src)
    return dst


x = torch.ones(3)
safe_add_(x, torch.ones(3))
