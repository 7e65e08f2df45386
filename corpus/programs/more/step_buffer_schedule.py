# expect: GB0124 @ 14
import torch
import torch.nn as nn


class WarmupScale(nn.Module):
    def __init__(self, warmup=3):
        super().__init__()
        self.warmup = warmup
        self.register_buffer("num_updates", torch.tensor(0))

    def forward(self, x):
        self.num_updates += 1
        ramp = min(self.num_updates.item() / self.warmup, 1.0)
        return x * ramp


torch.compile(WarmupScale())(torch.randn(3))
