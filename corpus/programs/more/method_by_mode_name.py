# expect: GB0170 @ 24
"""A loss that picks its reduction by name."""
import torch
import torch.nn as nn


class Penalty(nn.Module):
    def __init__(self, reduction):
        super().__init__()
        self.reduction = reduction

    def forward(self, values):
        reduce = getattr(self, f"_{self.reduction}_reduction")
        return reduce(values.abs())

    def _mean_reduction(self, values):
        return values.mean()

    def _sum_reduction(self, values):
        return values.sum()

    def _divided_reduction(self, values):
        divisor = (values > 0).sum()
        if divisor == 0:
            return values.sum() * 0
        return values.sum() / divisor


penalty = torch.compile(Penalty("divided"))
print("checksum", round(penalty(torch.linspace(-1, 1, 7)).item(), 4))
