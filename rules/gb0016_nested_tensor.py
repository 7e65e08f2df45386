"""A strided nested tensor is used in a compiled region.

What breaks:
    Any use (even `is not None`) of a nested tensor with the default layout that comes from outside the graph, or from
    `torch.nested.nested_tensor` (which itself breaks, GB0090).
Why Dynamo breaks:
    Strided nested tensors have no symbolic shape to trace with. The jagged layout has.
Example:
    nested = torch.nested.nested_tensor([a, b])
    return nested.to_padded_tensor(0.0)
Instead:
    nested = torch.nested.nested_tensor([a, b], layout=torch.jagged)
Fix:
    Use `layout=torch.jagged`, or pad and mask.
Torch versions:
    Every release.
Limits:
    A nested tensor that is passed in but not used does not break.
"""

from __future__ import annotations

from collections.abc import Iterable

from gblint.rule_api import Break, Call, Compare, Context, Event, GetAttr, Operator, Rule, RuleMeta, Value, as_tensor


class NestedTensor(Rule):
    """Uses of strided nested tensors."""

    meta = RuleMeta(
        code="GB0016",
        slug="nested-tensor",
        summary="a strided nested tensor is used in a compiled region",
        category="supportable",
        advice="Use layout=torch.jagged, or pad and mask.",
        by_hand="another layout, or padding, changes every operation that the tensor meets",
    )
    calls = ("torch.*",)
    BREAKS = (
        """
import torch

lengths = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])

@torch.compile
def padded(x: torch.Tensor):
    y = x + 1
    return y * lengths.to_padded_tensor(0.0)  # GB0016

@torch.compile
def ragged(a: torch.Tensor, b: torch.Tensor):
    nested = torch.nested.nested_tensor([a, b])  # GB0090
    c = a + 1
    return c, nested.to_padded_tensor(0.0)  # GB0016

padded(torch.ones(2, 3))
ragged(torch.ones(2, 3), torch.ones(1, 3))
""",
        """
import torch

lengths = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])

@torch.compile
def right(x):
    y = x + 1
    return y, 2 * lengths  # GB0016

@torch.compile
def negated(x):
    y = x + 1
    return y, -lengths  # GB0016

@torch.compile
def typed(x):
    y = x + 1
    return y, lengths.dtype  # GB0016

for function in (right, negated, typed):
    function(torch.ones(3, 3))
""",
    )
    CLEAN = (
        """
import torch

jagged = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)

@torch.compile
def doubled(x: torch.Tensor):
    return x.sum() + 1, jagged * 2

doubled(torch.ones(2, 3))
""",
        """
import torch

@torch.compile
def unused(x: torch.Tensor, nested: torch.Tensor):
    return x * 2

unused(torch.ones(2, 3), torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]))
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
        if tensor is not None and tensor.subclass == "nested":
            message = f"`{context.text(event.node)}` uses a strided nested tensor, which Dynamo cannot trace"
            return Break(message, tensor.c, about=tensor, fatal=True)
    return None
