"""Python control flow that depends on the value of a tensor.

What breaks:
    `if`, `while`, a conditional expression, `and`, `or`, a comprehension's filter, `match`, a chained comparison,
    `any()` and `all()` over tensors, when the thing tested is a tensor.
Why Dynamo breaks:
    It traces one path through the code, with tensors that have a shape and a dtype but no contents. Which way the
    branch goes is known only when the graph has run, so the graph ends there and the rest becomes a second one.
Example:
    if mask.any():
        x = x.masked_fill(mask, 0.0)
Instead:
    x = x.masked_fill(mask, 0.0)
Fix:
    Compute both sides and choose with `torch.where`, drop a shortcut that only saves work, use `torch.cond` for
    large bodies, or keep the flag as a Python bool.
Torch versions:
    Every release.
Limits:
    A branch on a size (`x.shape[0] > 2`) or on `x is None` is fine. An `assert` is a matter of its own: with a constant
    message it becomes part of the graph.
"""

from __future__ import annotations

from gblint.rule_api import (
    Branch,
    Break,
    Context,
    DataScalar,
    Rule,
    RuleMeta,
    Value,
    as_tensor,
    is_none,
    members,
    tensor_certainty,
)

WORDS = {
    "if": "An `if`", "while": "A `while` loop", "ternary": "A conditional expression", "and": "An `and`",
    "or": "An `or`", "filter": "A comprehension filter", "match": "A `match`",
}  # fmt: skip


OPTIONAL = 0.5  # what is tested may be None, and then nothing depends on contents


class BranchOnTensor(Rule):
    """Truth tests of tensors."""

    meta = RuleMeta(
        code="GB0170",
        slug="branch-on-tensor",
        summary="control flow depends on the value of a tensor",
        category="fundamental",
        advice="Choose with torch.where, or drop the shortcut; use torch.cond for large bodies.",
    )
    BREAKS = (
        """
import torch

@torch.compile
def fill(x: torch.Tensor, mask: torch.Tensor):
    if mask.any():  # GB0170
        x = x.masked_fill(mask, 0.0)
    return x

@torch.compile
def settle(x: torch.Tensor):
    while x.norm() > 1:  # GB0170
        x = x / 2
    return x

@torch.compile
def scale(x: torch.Tensor):
    if not torch.isfinite(x).all():  # GB0170
        return torch.nan_to_num(x)
    factor = 2.0 if x.mean() > 0.5 else 1.0  # GB0170
    return x * factor

x = torch.rand(4)
fill(x, x > 0.5)
settle(x + 3)
scale(x)
""",
        """
import torch

@torch.compile
def both(x: torch.Tensor):
    flag = (x > 0).all() and (x < 2).all()  # GB0170
    return x * flag

@torch.compile
def chained(x: torch.Tensor):
    if 0 <= x.sum() <= 9:  # GB0170
        x = x + 1
    return x

@torch.compile
def kept(x: torch.Tensor):
    rows = [row * 2 for row in x if row.sum() > 0]  # GB0170
    return torch.stack(rows)

@torch.compile
def every(x: torch.Tensor):
    y = x + 1
    if all([v > 0 for v in y]):  # GB0170
        y = y - 1
    return y

both(torch.rand(3))
chained(torch.rand(3))
kept(torch.rand(3, 2))
every(torch.rand(3))
""",
        """
import torch
from torch import nn

@torch.compile
def member(x: torch.Tensor, kind: torch.Tensor):
    if kind in (0, 1):  # GB0170
        x = x * 2
    return x + 1

class Normalized(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("initialized", torch.tensor(False))
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        if not self.initialized:  # GB0170
            x = x - x.mean()
        return x * self.scale

member(torch.rand(3), torch.tensor(1))
torch.compile(Normalized())(torch.rand(2, 3))
""",
        """
import numpy as np
import torch

@torch.compile
def layerdrop(x: torch.Tensor, p: float):
    drop = torch.rand([])
    if drop < p:  # GB0170
        return x
    return x * 2

@torch.compile
def checked(x: torch.Tensor):
    y = x * 2
    if np.prod(x.shape) > 1:  # GB0170
        y = y + 1
    return y

layerdrop(torch.rand(3), 0.5)
checked(torch.rand(3))
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def sizes(x: torch.Tensor, mask: torch.Tensor | None = None):
    if x.shape[0] > 2 and x.dim() == 2:
        x = x + 1
    if mask is not None:
        x = x.masked_fill(mask, 0.0)
    if torch.is_tensor(x) and x.numel() and len(x):
        x = x * 2
    if x.dtype == torch.float32 and not x.requires_grad:
        x = x - 1
    return x

sizes(torch.rand(3, 2))
sizes(torch.rand(3, 2), torch.rand(3, 2) > 0.5)
""",
        """
import torch

@torch.compile
def elementwise(x: torch.Tensor, mask: torch.Tensor):
    y = torch.where(x.sum() > 0, x, -x)
    z = (x > 0) & ~mask | (x < -1)
    top = max(y[0], y[1])
    return y * z * (x == 0) + min(top, 3) + sum(v for v in x)

elementwise(torch.rand(3), torch.rand(3) > 0.5)
""",
        """
import torch
from torch import nn

class Gate(nn.Module):
    def __init__(self, dropout: float = 0.0):
        super().__init__()
        self.dropout = dropout
        self.weight = nn.Parameter(torch.ones(3))
        self.register_parameter("bias", None)
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(2))

    def forward(self, x, use_cache=False, scale=None):
        if self.training and self.dropout > 0:
            x = torch.nn.functional.dropout(x, self.dropout)
        if self.bias is not None:
            x = x + self.bias
        if use_cache or scale:
            x = x * 2
        kept = [layer for layer in self.layers if layer.bias is not None]
        for layer in kept:
            x = layer(x)
        return x * self.weight if x.shape[-1] == 3 else x

torch.compile(Gate())(torch.rand(2, 3))
""",
    )

    def on_branch(self, event: Branch, context: Context) -> Break | None:
        if event.kind not in WORDS:
            return None
        certainty = max(tensor_certainty(event.value), _scalar_certainty(event.value))
        tensor = as_tensor(event.value)
        drawn = tensor is not None and tensor.subclass == "random"
        if not certainty or (drawn and context.torch < (2, 13)):  # there the comparison breaks: GB0213
            return None
        if any(is_none(m) for m in members(event.value)):
            certainty *= OPTIONAL
        text = context.text(event.node)
        message = f"{WORDS[event.kind]} depends on the contents of `{text}`, which are not known while tracing"
        return Break(message, certainty, about=tensor or event.value)


def _scalar_certainty(value: Value) -> float:
    """1 for a number read from a tensor that stayed in the graph."""
    return 1.0 if any(isinstance(m, DataScalar) for m in members(value)) else 0.0
