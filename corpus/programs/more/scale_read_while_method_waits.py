# expect: GB0007 @ 10
# expect: GB0124 @ 10
"""Weights are scaled in place by a norm that is read as a number: the method waits while its argument breaks."""
import torch


@torch.compile
def rescale(weights, limit: float):
    weights = weights.clone()
    weights.mul_(limit / weights.norm().item())
    return weights * 2


print("checksum", round(rescale(torch.linspace(0, 1, 8), 0.5).sum().item(), 4))
