# expect: none
# source: https://github.com/pytorch/pytorch/pull/189027
# note: no break, and no guard either: the value is fixed at the first compile
import os
import torch
import torch.nn as nn


def deterministic():
    return bool(int(os.getenv("FIELD_ALLOW_NONDET", "1")))


class Router(nn.Module):
    def __init__(self, dim=6, n=3):
        super().__init__()
        self.gate = nn.Linear(dim, n)

    def forward(self, x):
        scores = self.gate(x).softmax(-1)
        if deterministic() and os.environ.get("FIELD_NOISE") is None:
            return scores.topk(2, dim=-1).values
        return (scores + torch.rand_like(scores)).topk(2, dim=-1).values


torch.manual_seed(0)
router = torch.compile(Router(), backend="eager")
print(f"checksum {router(torch.randn(4, 6)).sum().item():.4f}")
