# expect: GB0124 @ 9
"""The number is read before the method is looked up: only the reading breaks."""
import torch


@torch.compile
def rescale(weights, limit: float):
    weights = weights.clone()
    scale = limit / weights.norm().item()
    weights.mul_(scale)
    return weights * 2


print("checksum", round(rescale(torch.linspace(0, 1, 8), 0.5).sum().item(), 4))
