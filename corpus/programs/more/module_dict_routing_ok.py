# expect: none
import torch
import torch.nn as nn


class TaskRouter(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.heads = nn.ModuleDict({"cls": nn.Linear(dim, 2), "reg": nn.Linear(dim, 1)})
        self.order = sorted(self.heads)

    def forward(self, x, tasks):
        out = {name: self.heads[name](x) for name in self.order if name in tasks}
        if not out:
            raise KeyError("no task")
        return out


torch.compile(TaskRouter())(torch.randn(2, 4), ("cls", "reg"))
