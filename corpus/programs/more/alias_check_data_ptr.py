# expect: GB5976 @ 6
import torch


def same_storage(a, b):
    return a.data_ptr() == b.data_ptr()


@torch.compile
def safe_add_(dst, src):
    if same_storage(dst, src):
        src = src.clone()
    dst.add_(src)
    return dst


x = torch.ones(3)
safe_add_(x, torch.ones(3))
