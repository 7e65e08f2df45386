# expect: none
"""Where an operand may be sparse in other uses, what is computed here is dense."""
import torch
import torch.nn as nn


class Mix(nn.Module):
    def __init__(self, sparse=False):
        super().__init__()
        weight = torch.eye(4)
        self.weight = nn.Parameter(weight.to_sparse() if sparse else weight, requires_grad=not sparse)

    def forward(self, x):
        mixed = torch.matmul(self.weight, x)
        if mixed.ndim == 1:
            mixed = mixed.unsqueeze(-1)
        return mixed.sum(-1) / mixed.shape[0]


print("checksum", torch.compile(Mix())(torch.ones(4, 2)).sum().item())
