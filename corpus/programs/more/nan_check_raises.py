# expect: GB0170 @ 7
import torch
import torch.nn as nn


def assert_finite(name, t):
    if not torch.isfinite(t).all():
        raise FloatingPointError(f"{name} has bad values")


class Safe(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        assert_finite("input", x)
        y = self.fc(x)
        assert_finite("output", y)
        return y


torch.compile(Safe())(torch.randn(2, 4))
