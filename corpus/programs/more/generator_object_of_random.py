# expect: GB0170 @ 17
"""How deep to go is drawn from a generator of Python's own."""
import random

import torch
import torch.nn as nn


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.levels = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x, seed: int):
        rand = random.Random(seed)
        depth = rand.randrange(1, 4)
        if depth > 1:
            x = self.levels[0](x)
        return self.levels[1](x)


torch.manual_seed(0)
print("checksum", round(torch.compile(Nested())(torch.ones(2, 4), 3).sum().item(), 3))
