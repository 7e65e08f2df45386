# expect: GB0156 @ 18
# source: https://github.com/pytorch/pytorch/issues/186449
# fix: hoist ; auto: manual (read the context outside, pass the value in)
from contextvars import ContextVar
import torch
import torch.nn as nn

window = ContextVar("window", default=0)


class Attention(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.q, self.k = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        scores = self.q(x) @ self.k(x).transpose(0, 1)
        w = window.get()
        if w:
            scores = scores.tril().triu(-w)
        return scores.softmax(-1) @ x


torch.manual_seed(0)
attn = torch.compile(Attention(), backend="eager")
x = torch.randn(5, 8)
total = attn(x).sum()
window.set(2)
print(f"checksum {(total + 2 * attn(x).sum()).item():.4f}")
