# expect: GB0170 @ 19
# also: GB7000 @ 19
# source: https://github.com/pytorch/pytorch/issues/95425
# fix: hoist ; auto: manual (random.uniform is traced, branching on its value is not)
import random
import torch
import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self, dim=8, depth=3, layerdrop=0.5):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))
        self.layerdrop = layerdrop

    def forward(self, x):
        for layer in self.layers:
            draw = random.uniform(0, 1)
            if self.training and draw < self.layerdrop:
                continue
            x = torch.tanh(layer(x))
        return x


torch.manual_seed(0)
random.seed(1)
model = torch.compile(Encoder(), backend="eager")
total = sum(model(torch.ones(2, 8)).sum().item() for _ in range(3))
print(f"checksum {total:.4f}")
