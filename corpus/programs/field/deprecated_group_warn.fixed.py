# expect: none
# source: https://github.com/AMD-AGI/Primus/pull/1169
# fix: remove ; auto: unsafe (an is_compiling guard drops the warning under compile)
# fixes: deprecated_group_warn.py
import warnings
import torch
import torch.nn as nn


def group_if_none(group, rank=0):
    if group is None:
        if rank == 0 and not torch.compiler.is_compiling():
            warnings.warn("group is None, the default group will be used", DeprecationWarning)
        return "default"
    return group


class RowParallelLinear(nn.Module):
    def __init__(self, dim=8, world=2):
        super().__init__()
        self.shards = nn.ModuleList(nn.Linear(dim // world, dim, bias=False) for _ in range(world))

    def forward(self, x):
        group = group_if_none(None)
        parts = [s(c) for s, c in zip(self.shards, x.chunk(len(self.shards), -1))]
        return sum(parts) if group == "default" else parts[0]


torch.manual_seed(0)
layer = torch.compile(RowParallelLinear(), backend="eager")
print(f"checksum {layer(torch.randn(3, 8)).sum().item():.4f}")
