# expect: GB0124 @ 11
# also: GB7000 @ 11
import torch


@torch.compile
def spread(x):
    stops = (2, 4)
    for step in range(6):
        mask = x > step
        if step + 1 in stops and not bool(mask.any()):
            break
        x = torch.where(mask, x * 0.5, x)
    return x


spread(torch.rand(4))
