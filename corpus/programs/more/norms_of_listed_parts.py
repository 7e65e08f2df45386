# expect: GB0124 @ 9
# expect: GB0059 @ 10
"""Norms are read in a comprehension over a list: the frame is split round it, and breaks once more at the print."""
import torch


@torch.compile
def norms(parts, x):
    sizes = [part.norm().item() for part in parts]
    print("norms")
    return x * len(sizes)


print("checksum", round(norms([torch.ones(2), torch.ones(3)], torch.ones(2)).sum().item(), 4))
