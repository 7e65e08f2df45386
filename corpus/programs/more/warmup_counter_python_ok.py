# expect: none
import torch
import torch.nn as nn


class Gate(nn.Module):
    def __init__(self, warmup=2, start=0):
        super().__init__()
        self.warmup = warmup
        self.phase = "warm" if start < warmup else "full"
        self.register_buffer("scale", torch.ones(3))

    def forward(self, x):
        if self.phase == "warm" and self.training:
            return x * self.scale
        return x * self.scale.clamp(max=0.5)


torch.compile(Gate())(torch.randn(2, 3))
