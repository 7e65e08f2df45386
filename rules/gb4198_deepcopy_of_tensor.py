"""`copy.deepcopy` of a tensor, a module with parameters, or anything that holds one.

What breaks:
    `copy.deepcopy(t)`, `deepcopy([t])`, `deepcopy({"a": t})`, `deepcopy(module)`.
Why Dynamo breaks:
    The copy of a tensor object, with its storage and its place in the autograd graph, is no operation of a graph.
Example:
    saved = copy.deepcopy(state)
Instead:
    saved = {name: t.clone() for name, t in state.items()}
Fix:
    Use `t.clone()` (with `.detach()`) for tensors, copy modules before compiling.
Torch versions:
    Since 2.12 under this id; before, GB0179, whatever is copied. A module that holds modules is GB0116 since 2.14.
Limits:
    Copies of plain Python objects are fine. A module without parameters is GB0008.
"""

from __future__ import annotations

from gblint.rule_api import (
    Break,
    Call,
    Context,
    Instance,
    Mapping,
    Rule,
    RuleMeta,
    Sequence,
    Union,
    Value,
    as_tensor,
    tensor_certainty,
)

DEPTH = 4
CONTAINERS = ("torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ModuleDict")


class DeepcopyOfTensor(Rule):
    """Deep copies that reach a tensor."""

    meta = RuleMeta(
        code="GB4198",
        slug="deepcopy-of-tensor",
        summary="`copy.deepcopy` of something that holds tensors",
        category="supportable",
        advice="Clone the tensors, or copy modules before compiling.",
        torch=">=2.12",
        renamed=(("<2.12", "GB0179"),),
    )
    calls = ("copy.deepcopy", "torch.Tensor.__deepcopy__")
    BREAKS = (
        """
import copy
from copy import deepcopy

import torch
from torch import nn

@torch.compile
def saved(x: torch.Tensor):
    state = {"x": x * 2, "step": 1}
    backup = copy.deepcopy(state)  # GB4198
    return backup["x"] + 1

@torch.compile
def single(x: torch.Tensor):
    y = x * 2
    return deepcopy(y) + 1  # GB4198

class Twin(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        x = x * 2
        twin = copy.deepcopy(self.linear)  # GB4198
        return twin(x)

saved(torch.rand(3))
single(torch.rand(3))
torch.compile(Twin())(torch.rand(2, 3))
""",
        """
import copy
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

NET, LAYERS, LAYER = Net(), nn.Sequential(nn.Linear(3, 3)), nn.Linear(3, 3)

@torch.compile
def nets(x: torch.Tensor):
    y = x * 2
    copies = [copy.deepcopy(NET)]  # GB4198
    copies.append(copy.deepcopy(LAYERS))  # GB4198
    copies.append(copy.deepcopy(LAYER))  # GB4198
    return y * len(copies)

@torch.compile
def nested(x: torch.Tensor):
    y = x * 2
    options = copy.deepcopy({"a": [1, (2, y)]})  # GB4198
    return y * len(options)

nets(torch.rand(3))
nested(torch.rand(3))
""",
    )
    CLEAN = (
        """
import copy
from dataclasses import dataclass

import torch

@dataclass
class Options:
    steps: int = 2

options = Options()

@torch.compile
def copied(x: torch.Tensor):
    chosen = copy.deepcopy(options)
    names = copy.deepcopy({"a": [1, 2], "shape": tuple(x.shape)})
    return {"x": x.clone()}["x"] * chosen.steps + names["a"][0], x.detach().clone()

copied(torch.rand(3))
""",
        """
import copy
import torch

@torch.compile
def options(x: torch.Tensor):
    return x * copy.deepcopy({"a": [1, (2, "b")]})["a"][0]

options(torch.rand(3))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        subject = event.receiver if event.receiver is not None else event.argument(0, "x")
        found = _holds_tensor(subject, DEPTH) if subject is not None else None
        if found is None and context.torch < (2, 12):
            return Break(f"`{context.text(event.node)}` makes a deep copy, which Dynamo does not trace", result=subject)
        if found is None:
            return None
        certainty = tensor_certainty(found) or 0.9
        message = f"`{context.text(event.node)}` copies a tensor object, which Dynamo does not trace"
        code = "GB0116" if context.torch >= (2, 14) and _holds_modules(subject) else ""
        return Break(message, certainty, about=as_tensor(found), result=subject, code=code)


def _holds_modules(value: Value | None) -> bool:
    if not isinstance(value, Instance):
        return False
    if value.base in CONTAINERS:
        return True
    return any(isinstance(part, Instance) and part.base.startswith("torch.nn.") for part in value.attrs.values())


def _holds_tensor(value: Value, depth: int) -> Value | None:
    """A tensor that the copy reaches, or the module whose parameters it would copy; None if there is none in view."""
    if as_tensor(value) is not None:
        return value
    if not depth:
        return None
    if isinstance(value, Instance) and value.cls is None:
        return value if value.base.startswith("torch.nn.") and (value.args or value.kwargs) else None
    return next((found for part in _parts(value) if (found := _holds_tensor(part, depth - 1)) is not None), None)


def _parts(value: Value) -> list[Value]:
    if isinstance(value, Union):
        return list(value.members)
    if isinstance(value, Sequence):
        return value.items if value.items is not None else [value.elem] if value.elem is not None else []
    if isinstance(value, Mapping):
        return [*value.items.values(), *([value.elem] if value.elem is not None else [])]
    return list(value.attrs.values()) if isinstance(value, Instance) else []
