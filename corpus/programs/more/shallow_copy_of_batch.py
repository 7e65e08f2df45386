# expect: GB0007 @ 9
import copy

import torch


@torch.compile
def with_flip(batch):
    other = copy.copy(batch)
    other["image"] = batch["image"].flip(-1)
    return other["image"] + batch["image"] * batch["weight"]


with_flip({"image": torch.rand(2, 4), "weight": torch.rand(2, 1)})
