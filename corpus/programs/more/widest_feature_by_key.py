# expect: GB0193 @ 8
"""The widest of several feature maps is taken by a key."""
import torch


@torch.compile
def widest(maps):
    best = max(maps, key=lambda m: m.shape[-1])
    return best.mean() + len(maps)


print("checksum", round(widest([torch.ones(2, 3), torch.ones(2, 5)]).item(), 4))
