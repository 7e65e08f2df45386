# expect: GB0036 @ 15
# expect: GB0036 @ 16
import torch
from torch import nn


class ConfusionMeter(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n
        self.register_buffer("mat", torch.zeros(n, n, dtype=torch.int64))

    def forward(self, pred, target):
        k = (target >= 0) & (target < self.n)
        flat = self.n * target[k] + pred[k]
        self.mat += torch.bincount(flat, minlength=self.n ** 2).view(self.n, self.n)
        return self.mat.diag().sum() / self.mat.sum()


meter = torch.compile(ConfusionMeter(3))
meter(torch.tensor([0, 1, 2, 2]), torch.tensor([0, 1, 1, -1]))
