# expect: none
# source: https://github.com/pytorch/pytorch/issues/101154
# fix: hoist ; auto: manual (seeding moves to the caller)
# fixes: reformer_seed.py
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

    def forward(self, x):
        return self.drop(self.fc(x))


torch.manual_seed(0)
model = LSHAttention()
attn = torch.compile(model, backend="eager")
x = torch.randn(3, 8)
total = 0.0
for step in range(2):
    model.init_seed(0)
    total += attn(x).sum().item()
print(f"checksum {total:.4f}")
