# expect: GB0033 @ 11
# expect: GB0059 @ 12
# expect: GB0033 @ 13
import torch
import torch.nn.functional as F


@torch.compile
def stretched(x, sizes):
    height, width = sizes[0] // 2, sizes[1] // 2
    rows = x.view(height, width, -1)
    print("stretching")
    return rows.sum() + F.pad(x, (0, height + width))


stretched(torch.rand(4, 12), torch.tensor([8, 4]))
