# expect: GB0046 @ 12
import torch
import torch.nn as nn


class Cached(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        if torch.is_inference_mode_enabled() or not torch.is_grad_enabled():
            return self.fc(x).detach()
        return self.fc(x)


torch.compile(Cached())(torch.randn(2, 3))
