# expect: GB0059 @ 9
import torch
import torch.nn.functional as F


@torch.compile
def stretched(x, sizes):
    height, width = sizes[0] // 2, sizes[1] // 2
    print("stretching")
    rows = [x.view(height, width, -1), x.reshape(width, -1).repeat(height, 1)]
    return rows[0].sum() + rows[1].sum() + F.pad(x, (0, height))


stretched(torch.rand(4, 12), torch.tensor([8, 4]))
