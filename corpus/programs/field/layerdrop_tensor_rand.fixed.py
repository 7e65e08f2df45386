# expect: none
# source: https://github.com/pytorch/pytorch/issues/107587
# fix: where ; auto: unsafe (the dropped layer now runs; wrong if it draws random numbers)
# fixes: layerdrop_tensor_rand.py
import torch
import torch.nn as nn


class Decoder(nn.Module):
    def __init__(self, dim=8, depth=4, layerdrop=0.5):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))
        self.layerdrop = layerdrop

    def forward(self, x):
        for layer in self.layers:
            if self.training:
                dropout_probability = torch.rand([])
                skip = dropout_probability < self.layerdrop
                x = torch.where(skip, x, torch.tanh(layer(x)))
            else:
                x = torch.tanh(layer(x))
        return x


torch.manual_seed(0)
model = torch.compile(Decoder(), backend="eager")
total = sum(model(torch.ones(2, 8)).sum().item() for _ in range(4))
print(f"checksum {total:.4f}")
