# expect: GB0092 @ 9
# expect: GB0124 @ 9
"""Norms are read in a comprehension over the items of a dict, whose iterator is lost with the break."""
import torch


@torch.compile
def norms(parts, x):
    sizes = {name: part.norm().item() for name, part in parts.items()}
    print("norms")
    return x * len(sizes)


print("checksum", round(norms({"a": torch.ones(2), "b": torch.ones(3)}, torch.ones(2)).sum().item(), 4))
