"""A sparse tensor is used in a compiled region.

What breaks:
    Any use (even `is not None`) of a sparse tensor that comes from outside the graph: an argument, a buffer or
    attribute, a global, or one made by a call that itself broke the graph (`to_sparse`,
    `torch.sparse_coo_tensor`).
Why Dynamo breaks:
    Dynamo has no fake version of sparse layouts to trace with.
Example:
    return torch.sparse.mm(self.adjacency, x)
Instead:
    return x.new_zeros(n, d).index_add_(0, rows, weights[:, None] * x[cols])
Fix:
    Use gather and scatter on the index and value tensors, a dense matrix, or call a helper marked
    `torch.compiler.disable`.
Torch versions:
    Every release.
Limits:
    A sparse tensor that is passed in but not used does not break; making one has ids of its own (GB0007, GB0277).
"""

from __future__ import annotations

from collections.abc import Iterable

from gblint.rule_api import Break, Call, Compare, Context, Event, GetAttr, Operator, Rule, RuleMeta, Value, as_tensor


class SparseTensor(Rule):
    """Uses of sparse tensors."""

    meta = RuleMeta(
        code="GB0015",
        slug="sparse-tensor",
        summary="a sparse tensor is used in a compiled region",
        category="supportable",
        advice="Use gather and scatter on indices and values, or keep the sparse part outside.",
    )
    calls = ("torch.*",)
    BREAKS = (
        """
import torch
from torch import nn

class Propagate(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("adjacency", torch.eye(3).to_sparse())

    def forward(self, x):
        y = x + 1
        return torch.sparse.mm(self.adjacency, y)  # GB0015

torch.compile(Propagate())(torch.ones(3, 2))
""",
        """
import torch

graph = torch.eye(3).to_sparse()

@torch.compile
def mixed(x: torch.Tensor):
    y = x * 2
    return graph @ y  # GB0015

@torch.compile
def converted(x: torch.Tensor):
    s = x.to_sparse()  # GB0277
    y = x * 2
    return torch.sparse.mm(s, y)  # GB0015

mixed(torch.ones(3, 2))
converted(torch.eye(3))
""",
        """
import torch

graph = torch.eye(3).to_sparse()

@torch.compile
def right(x):
    y = x + 1
    return y * graph  # GB0015

@torch.compile
def negated(x):
    y = x + 1
    return y, -graph  # GB0015

right(torch.ones(3, 3))
negated(torch.ones(3, 3))
""",
    )
    CLEAN = (
        """
import torch

graph = torch.eye(3).to_sparse().to_dense()

@torch.compile
def dense(x: torch.Tensor):
    return graph @ x.to_dense() if not x.is_sparse else x

dense(torch.ones(3, 2))
""",
        """
import torch

@torch.compile
def unused(x: torch.Tensor, graph: torch.Tensor):
    return x * 2

unused(torch.ones(3, 2), torch.eye(3).to_sparse())
""",
        """
import torch
from torch import nn

class Propagate(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("rows", torch.arange(3))

    def forward(self, x):
        return torch.zeros(3, 2).index_add_(0, self.rows, x)

torch.compile(Propagate())(torch.ones(3, 2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        receiver = [event.receiver] if event.receiver is not None else []
        return _answer(event, context, [*receiver, *event.args, *event.kwargs.values()])

    def on_compare(self, event: Compare, context: Context) -> Break | None:
        return _answer(event, context, [event.left, event.right])

    def on_operator(self, event: Operator, context: Context) -> Break | None:
        sides = [event.left] if event.right is None else [event.left, event.right]
        return _answer(event, context, sides)

    def on_getattr(self, event: GetAttr, context: Context) -> Break | None:
        return _answer(event, context, [event.receiver])


def _answer(event: Event, context: Context, values: Iterable[Value]) -> Break | None:
    for value in values:
        tensor = as_tensor(value)
        if tensor is not None and tensor.subclass == "sparse":
            message = f"`{context.text(event.node)}` uses a sparse tensor, which Dynamo cannot trace"
            return Break(message, tensor.c, about=tensor, fatal=True)
    return None
