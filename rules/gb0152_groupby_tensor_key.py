"""`itertools.groupby` over tensors, or with a key that gives tensors.

What breaks:
    `itertools.groupby(tensors)`, where the things compared are tensors.
Why Dynamo breaks:
    Groups are formed by comparing keys, and whether two tensors are equal is not known while tracing.
Example:
    for label, rows in itertools.groupby(labels):
        ...
Instead:
    for label, rows in itertools.groupby(label_names):
        ...
Fix:
    Group by Python values (names, shapes, dtypes), or outside the compiled region.
Torch versions:
    Every release.
Limits:
    What then iterates the groups breaks again (GB0811).
"""

from __future__ import annotations

from gblint.rule_api import (
    Break,
    Call,
    Compare,
    Context,
    Rule,
    RuleMeta,
    Sequence,
    Stream,
    Tensor,
    Value,
    as_tensor,
    is_none,
    tensor_certainty,
)


class GroupbyTensorKey(Rule):
    """groupby over tensors."""

    meta = RuleMeta(
        code="GB0152",
        slug="groupby-tensor-key",
        summary="`itertools.groupby` compares tensors",
        category="supportable",
        advice="Group by Python values, or outside the compiled region.",
    )
    calls = ("itertools.groupby",)
    BREAKS = (
        """
import itertools
import torch

@torch.compile
def runs(x: torch.Tensor, labels: torch.Tensor):
    y = x * 2
    names = [name for name, _ in itertools.groupby(list(labels))]  # GB0152, GB0811
    return y * len(names)

runs(torch.rand(3), torch.tensor([0, 0, 1]))
""",
    )
    CLEAN = (
        """
import itertools
import torch

@torch.compile
def runs(x: torch.Tensor):
    groups = [list(rows) for _, rows in itertools.groupby([x, x * 2], key=lambda t: t.shape)]
    names = [name for name, _ in itertools.groupby(["a", "a", "b"])]
    return torch.stack(groups[0]).sum(0) * len(names)

runs(torch.rand(3))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        key = event.argument(1, "key")
        element = _element(event.argument(0, "iterable"))
        certainty = tensor_certainty(element)
        if not certainty or (key is not None and not is_none(key)):
            return None
        return self._answer(event, context, certainty, element)

    def on_compare(self, event: Compare, context: Context) -> Break | None:
        """The values of a key function, compared with each other (operator "group")."""
        certainty = tensor_certainty(event.left) if event.operator == "group" else 0.0
        return self._answer(event, context, certainty, event.left) if certainty else None

    @staticmethod
    def _answer(event: Call | Compare, context: Context, certainty: float, key: Value | None) -> Break:
        message = f"`{context.text(event.node)}` compares tensors, whose values are not known while tracing"
        return Break(message, certainty, about=as_tensor(key))


def _element(value: Value | None) -> Value | None:
    if isinstance(value, Sequence | Stream) and (value.items or value.elem is not None):
        return value.element()
    return value if isinstance(value, Tensor) else None
