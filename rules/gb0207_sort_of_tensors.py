"""`sorted` or `list.sort` comparing tensors.

What breaks:
    `sorted(tensors)`, `tensors.sort()`, also of tuples that hold tensors, and with a key function that gives tensors.
Why Dynamo breaks:
    The order depends on the values of the tensors, which are not known while tracing.
Example:
    ranked = sorted(scores)
Instead:
    ranked = torch.stack(scores).sort().values
Fix:
    Use `torch.sort` or `argsort` on a stacked tensor, or sort by something Python knows (names, shapes).
Torch versions:
    Every release.
Limits:
    `sorted` of a tensor itself is GB0059; `min` and `max` with a key are GB0193.
"""

from __future__ import annotations

from gblint.rule_api import (
    Break,
    Call,
    Compare,
    Context,
    Mapping,
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


class SortOfTensors(Rule):
    """Sorting by tensors."""

    meta = RuleMeta(
        code="GB0207",
        slug="sort-of-tensors",
        summary="tensors are compared by `sorted` or `sort`",
        category="supportable",
        advice="Stack the tensors and use torch.sort, or sort by something Python knows.",
    )
    calls = ("builtins.sorted", "list.sort")
    BREAKS = (
        """
import torch

@torch.compile
def ranked(x: torch.Tensor):
    scores = [row.sum() for row in x]
    return torch.stack(sorted(scores))  # GB0207

@torch.compile
def in_place(x: torch.Tensor):
    pairs = [(row.sum(), 1) for row in x]
    pairs.sort()  # GB0207
    return pairs[0][0] * 2

@torch.compile
def by_key(x: torch.Tensor):
    y = x * 2
    order = sorted(range(3), key=lambda i: y[i].sum())  # GB0207
    return y[order[0]]

ranked(torch.rand(3, 2))
in_place(torch.rand(3, 2))
by_key(torch.rand(3, 2))
""",
        """
import torch

@torch.compile
def paired(x: torch.Tensor):
    y = x * 2
    pairs = sorted([(y[0], 1), (y[1], 2)])  # GB0207
    return y + pairs[0][1]

@torch.compile
def in_place(x: torch.Tensor):
    y = x * 2
    rows = [y[0], y[1]]
    rows.sort(key=None)  # GB0207
    return rows[0]

paired(torch.rand(2))
in_place(torch.rand(2))
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def ranked(x: torch.Tensor):
    rows = sorted(x.unbind(), key=lambda row: row.shape[0])
    names = sorted({"b": x, "a": x * 2})
    sizes = sorted(x.shape, reverse=True)
    values = torch.stack(list(rows)).sort(dim=0).values
    return values * len(names) + sizes[0] + max(x[0, 0], x[0, 1])

ranked(torch.rand(3, 2))
""",
        """
import torch

@torch.compile
def by_name(x: torch.Tensor, names: dict):
    rows = {"b": x * 2, "a": x * 3}
    first = sorted(rows)[0] + sorted(names)[0]
    return rows[first[0]] + sorted([x, x + 1], key=len)[0]

by_name(torch.rand(2), {"c": 1})
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        key = event.kwargs.get("key")
        element = _element(event.receiver if event.receiver is not None else event.argument(0, "iterable"))
        if element is None or (key is not None and not is_none(key)):
            return None
        # Since 2.14 the method of a list has an id of its own, `sorted` has not.
        in_list = event.receiver is not None and context.torch >= (2, 14)
        return self._answer(event, context, element, "GB6622" if in_list else "")

    def on_compare(self, event: Compare, context: Context) -> Break | None:
        """The values of a key function, compared with each other (operator "sort")."""
        return self._answer(event, context, event.left) if event.operator == "sort" else None

    @staticmethod
    def _answer(event: Call | Compare, context: Context, key: Value, code: str = "") -> Break | None:
        tensor = _tensor_in(key)
        certainty = tensor_certainty(tensor)
        if not certainty:
            return None
        message = f"`{context.text(event.node)}` orders by the values of tensors, which are not known while tracing"
        return Break(message, certainty, about=as_tensor(tensor), code=code)


def _element(value: Value | None) -> Value | None:
    """What is compared; a dict yields its keys, a tensor is another break."""
    if isinstance(value, Tensor | Mapping):
        return None
    if isinstance(value, Sequence | Stream) and (value.items or value.elem is not None):
        return value.element()
    return None


def _tensor_in(value: Value) -> Value | None:
    if isinstance(value, Sequence) and value.items:
        return next((item for item in value.items if as_tensor(item) is not None), None)
    return value if as_tensor(value) is not None else None
