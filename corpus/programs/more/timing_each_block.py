# expect: GB0007 @ 17
# also: GB7000 @ 17
import time

import torch
import torch.nn as nn


class Timed(nn.Module):
    def __init__(self, *blocks):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.times = {}

    def forward(self, x):
        for i, block in enumerate(self.blocks):
            t0 = time.perf_counter()
            x = block(x)
            self.times[i] = time.perf_counter() - t0
        return x


net = torch.compile(Timed(nn.Linear(4, 4), nn.ReLU()))
net(torch.randn(2, 4))
