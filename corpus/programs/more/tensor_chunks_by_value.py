# expect: GB0124 @ 7
import torch


@torch.compile
def split_batch(x, sizes):
    a, b = torch.split(x, [int(s) for s in sizes])
    return a.sum(0) + b.sum(0)


split_batch(torch.randn(5, 2), torch.tensor([2, 3]))
