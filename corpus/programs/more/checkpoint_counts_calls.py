# expect: GB0067 @ 14
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.calls = []

    def inner(self, x):
        self.calls.append(x.shape[0])
        return torch.relu(self.fc(x))

    def forward(self, x):
        return checkpoint(self.inner, x, use_reentrant=False) + x


torch.compile(Block())(torch.randn(2, 4))
