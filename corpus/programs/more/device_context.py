# expect: GB0142 @ 7
import torch


@torch.compile
def make_mask(n, x):
    with torch.device("cpu"):
        base = torch.ones(n, n)
    return torch.tril(base) * x


make_mask(3, torch.randn(3, 3))
