# expect: GB0033 @ 13
import torch
import torch.nn as nn


class MaybeTied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3, bias=False)
        self.b = nn.Linear(3, 3, bias=False)

    def forward(self, x):
        if torch.equal(self.a.weight, self.b.weight):
            return self.a(x) * 2
        return self.a(x) + self.b(x)


torch.compile(MaybeTied())(torch.randn(2, 3))
