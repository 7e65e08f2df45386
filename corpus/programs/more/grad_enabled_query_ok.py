# expect: none
import torch
import torch.nn as nn


class Cached(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        if not torch.is_grad_enabled() or not self.training:
            return self.fc(x).detach()
        with torch.enable_grad():
            return self.fc(x).relu()


torch.compile(Cached())(torch.randn(2, 3))
