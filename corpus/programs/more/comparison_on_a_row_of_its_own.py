# expect: GB0170 @ 12
"""A comparison keeps its own row, wherever the `if` stands."""
import torch
import torch.nn as nn


class Clip(nn.Module):
    def forward(self, x, limit: float = 3.0):
        norm = x.norm()
        if (
            limit > 0
            and norm > limit
        ):
            return x * (limit / norm)
        return x


clip = torch.compile(Clip())
print("checksum", round(clip(torch.arange(6.0)).sum().item(), 4))
