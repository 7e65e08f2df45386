# expect: GB0007 @ 16
# source: https://github.com/pytorch/pytorch/issues/101154
# fix: hoist ; auto: manual (seeding moves to the caller)
import torch
import torch.nn as nn


class LSHAttention(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.fc = nn.Linear(dim, dim)
        self.drop = nn.Dropout(0.5)

    def init_seed(self, step):
        self.seed = 1000 + step
        torch.manual_seed(self.seed)

    def forward(self, x, step=0):
        self.init_seed(step)
        return self.drop(self.fc(x))


torch.manual_seed(0)
attn = torch.compile(LSHAttention(), backend="eager")
x = torch.randn(3, 8)
total = sum(attn(x).sum().item() for step in range(2))
print(f"checksum {total:.4f}")
