# expect: none
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, use_checkpoint=True):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.use_checkpoint = use_checkpoint

    def inner(self, x, scale):
        return torch.relu(self.fc(x)) * scale

    def forward(self, x):
        if self.use_checkpoint and self.training:
            return x + checkpoint(self.inner, x, 0.5, use_reentrant=False)
        return x + self.inner(x, 0.5)


torch.compile(Block())(torch.randn(2, 4))
