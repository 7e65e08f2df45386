"""A NumPy array that cannot become a tensor is used in a compiled region.

What breaks:
    Any use of an array of strings or objects: one made outside (an argument, a global), or one that a call in the
    region which broke the graph has made (`np.array(["a"])`, `astype(object)`).
Why Dynamo breaks:
    Dynamo turns every NumPy array it meets into a tensor, which has no such element type.
Example:
    LABELS = np.array(["cat", "dog"])
    ...
    return x * len(LABELS)
Instead:
    LABELS = ["cat", "dog"]
Fix:
    Use a list for names and objects, or keep the array outside.
Torch versions:
    Every release.
Limits:
    Arrays with negative strides, foreign byte order or long doubles break as well and are not predicted.
"""

from __future__ import annotations

from collections.abc import Iterable

from gblint.rule_api import (
    Break,
    Call,
    Compare,
    Context,
    Event,
    GetAttr,
    Index,
    Iterate,
    Operator,
    Rule,
    RuleMeta,
    Value,
    as_tensor,
)


class UntranslatableArray(Rule):
    """Uses of arrays of strings or objects."""

    meta = RuleMeta(
        code="GB0185",
        slug="untranslatable-array",
        summary="an array of strings or objects is used in a compiled region",
        category="supportable",
        advice="Use a list, or keep the array outside the compiled function.",
        by_hand="torch has no arrays of strings or objects",
    )
    calls = ("builtins.len", "numpy.*", "torch.from_numpy", "torch.as_tensor", "torch.tensor")
    BREAKS = (
        """
import numpy as np
import torch

LABELS = np.array(["cat", "dog"])
THINGS = np.array([1, None], dtype=object)

@torch.compile
def counted(x: torch.Tensor):
    y = x + 1
    return y * len(LABELS)  # GB0185

@torch.compile
def picked(x: torch.Tensor):
    y = x + 1
    return y, THINGS[0]  # GB0185

counted(torch.ones(2))
picked(torch.ones(2))
""",
    )
    CLEAN = (
        """
import numpy as np
import torch

LABELS = ["cat", "dog"]
NUMBERS = np.array([1.0, 2.0])

@torch.compile
def counted(x: torch.Tensor):
    return x * len(LABELS) + torch.from_numpy(NUMBERS) * len(NUMBERS)

counted(torch.ones(2))
""",
        """
import numpy as np
import torch

LABELS = np.array(["cat", "dog"])

@torch.compile
def unused(x: torch.Tensor, labels):
    return x * 2

unused(torch.ones(2), LABELS)
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        receiver = [event.receiver] if event.receiver is not None else []
        return _answer(event, context, [*receiver, *event.args])

    def on_compare(self, event: Compare, context: Context) -> Break | None:
        return _answer(event, context, [event.left, event.right])

    def on_operator(self, event: Operator, context: Context) -> Break | None:
        sides = [event.left] if event.right is None else [event.left, event.right]
        return _answer(event, context, sides)

    def on_getattr(self, event: GetAttr, context: Context) -> Break | None:
        return _answer(event, context, [event.receiver])

    def on_index(self, event: Index, context: Context) -> Break | None:
        return _answer(event, context, [event.base])

    def on_iterate(self, event: Iterate, context: Context) -> Break | None:
        return _answer(event, context, [event.value])


def _answer(event: Event, context: Context, values: Iterable[Value]) -> Break | None:
    for value in values:
        tensor = as_tensor(value)
        if tensor is not None and tensor.subclass == "object array":
            message = f"`{context.text(event.node)}` uses an array of strings or objects, which cannot become a tensor"
            return Break(message, tensor.c, about=tensor, fatal=True)
    return None
