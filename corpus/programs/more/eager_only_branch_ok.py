# expect: none
import torch
import torch.nn as nn


class Guarded(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def check(self, x):
        if torch.compiler.is_compiling():
            return
        if torch.isnan(x).any():
            raise ValueError("nan in input")
        print("max", x.max().item())

    def forward(self, x):
        self.check(x)
        return self.fc(x)


torch.compile(Guarded())(torch.randn(2, 4))
