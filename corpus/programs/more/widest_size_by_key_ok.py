# expect: none
"""The widest size is found among numbers, with the same key."""
import torch


@torch.compile
def widest(maps):
    sizes = [m.shape[-1] for m in maps]
    place = max(range(len(sizes)), default=0) if not sizes else sizes.index(max(sizes, key=lambda n: n))
    return maps[place].mean() + len(maps)


print("checksum", round(widest([torch.ones(2, 3), torch.ones(2, 5)]).item(), 4))
