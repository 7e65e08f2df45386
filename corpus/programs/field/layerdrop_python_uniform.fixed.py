# expect: none
# source: https://github.com/pytorch/pytorch/issues/95425
# fix: hoist ; auto: manual (random.uniform is traced, branching on its value is not)
# fixes: layerdrop_python_uniform.py
import random
import torch
import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self, dim=8, depth=3, layerdrop=0.5):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))
        self.layerdrop = layerdrop

    def draw(self):
        return [random.uniform(0, 1) < self.layerdrop for _ in self.layers]

    def forward(self, x, dropped):
        for layer, drop in zip(self.layers, dropped):
            if self.training and drop:
                continue
            x = torch.tanh(layer(x))
        return x


torch.manual_seed(0)
random.seed(1)
encoder = Encoder()
model = torch.compile(encoder, backend="eager")
total = sum(model(torch.ones(2, 8), encoder.draw()).sum().item() for _ in range(3))
print(f"checksum {total:.4f}")
