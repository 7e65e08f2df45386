"""Ranks for a few users that are made up."""

import torch

from ranker.model import Ranker

torch.manual_seed(0)
model = torch.compile(Ranker(items=100), backend="eager")
with torch.no_grad():
    for _ in range(3):
        best = model(torch.randn(4, 32)).argmax(-1)
print("best items:", best.tolist())
