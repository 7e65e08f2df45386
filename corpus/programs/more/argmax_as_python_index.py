# expect: GB0124 @ 14
import torch
import torch.nn as nn


class HardRouter(nn.Module):
    def __init__(self, n=3, dim=4):
        super().__init__()
        self.gate = nn.Linear(dim, n)
        self.experts = nn.ModuleList(nn.Linear(dim, dim) for _ in range(n))

    def forward(self, x):
        choice = self.gate(x.mean(0)).argmax()
        return self.experts[choice](x)


torch.compile(HardRouter())(torch.randn(2, 4))
