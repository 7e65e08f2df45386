# expect: none
# source: https://github.com/pytorch/pytorch/issues/93465
# note: ordered-dict output classes once needed a patch to Dynamo
from collections import OrderedDict
from dataclasses import dataclass, fields
import torch
import torch.nn as nn


class FieldDict(OrderedDict):
    def __post_init__(self):
        for f in fields(self):
            if getattr(self, f.name) is not None:
                self[f.name] = getattr(self, f.name)

    def to_tuple(self):
        return tuple(self[k] for k in self.keys())


@dataclass
class ModelResult(FieldDict):
    logits: torch.Tensor = None
    hidden: torch.Tensor = None


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x, as_dict=True):
        h = self.fc(x)
        out = ModelResult(logits=h.relu(), hidden=h)
        return out if as_dict else out.to_tuple()


torch.manual_seed(0)
model = torch.compile(Model(), backend="eager")
print(f"checksum {(model(torch.ones(2, 4)).logits + model(torch.ones(2, 4), False)[1]).sum().item():.4f}")
