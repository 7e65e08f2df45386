"""A tensor is searched for in a list or tuple.

What breaks:
    `tensor in [a, b]`, `tensor in (0, 3)`, and `index`, `count` or `remove` of a list with a tensor.
Why Dynamo breaks:
    The search compares the tensor with one element after the other and branches on each result.
Example:
    if token in self.stop_ids: ...
Instead:
    stopped = torch.isin(token, self.stop_ids_tensor)
Fix:
    Use `torch.isin` and keep the answer a tensor (`torch.where`), or compare Python numbers.
Torch versions:
    Every release.
Limits:
    Searching a tensor (`0 in tensor`) is GB0124; a set or dict is searched by hash and does not break, nor does a
    Python number that is searched for among tensors. `not in` breaks under another id.
"""

from __future__ import annotations

from gblint.rule_api import (
    Break,
    Call,
    Compare,
    Const,
    Context,
    Event,
    Plain,
    Rule,
    RuleMeta,
    Sequence,
    Tensor,
    Value,
    as_tensor,
    members,
    tensor_certainty,
    type_name,
)

SEARCHES = ("list.index", "list.count", "list.remove", "tuple.index", "tuple.count")
NUMBERS = ("bool", "int", "float", "number", "complex")


class TensorMembership(Rule):
    """Searches for tensors in sequences."""

    meta = RuleMeta(
        code="GB0170",
        slug="tensor-membership",
        summary="a tensor is searched for in a list or tuple",
        category="fundamental",
        advice="Use torch.isin and torch.where, or compare Python numbers.",
    )
    calls = SEARCHES
    BREAKS = (
        """
import torch

STOP = [0, 3]

@torch.compile
def stops(token: torch.Tensor):
    y = token * 2
    return y + 1 if token in STOP else y  # GB0170

@torch.compile
def drops(ids: torch.Tensor, special: torch.Tensor):
    out = ids + 1
    if special in (ids[0], ids[1]):  # GB0170
        out = out * 0
    return out

@torch.compile
def place(x: torch.Tensor):
    y = x * 2
    items = [x, y]
    return y * items.index(y)  # GB0170

stops(torch.tensor(4))
drops(torch.tensor([3, 4]), torch.tensor(4))
place(torch.tensor(1))
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def step(x: torch.Tensor, k: int, name: str):
    y = x * 2
    if k in (0, 3) or name in ["a", "b"] or x.shape[0] in (1, 2) or x.dtype in (torch.float16, torch.bfloat16):
        y = y + 1
    if k in [x, y] or x in {1, 2} or name in {"a": x}:
        y = y + 2
    return y * [1, 2, 3].index(2)

step(torch.ones(3), 1, "c")
""",
        """
import torch

@torch.compile
def named(x: torch.Tensor):
    y = x * 2
    if y in ["a", None]:
        y = y + 1
    return y * [1, 2].index(2) * ("a" in ["a"])

named(torch.rand(2))
""",
    )

    def on_compare(self, event: Compare, context: Context) -> Break | None:
        if event.operator != "in":
            return None
        return _answer(event, context, event.left, event.right, Plain("bool"))

    def on_call(self, event: Call, context: Context) -> Break | None:
        if not event.args or event.receiver is None:
            return None
        return _answer(event, context, event.args[0], event.receiver, Plain("int"))


def _answer(event: Event, context: Context, wanted: Value, sequence: Value, result: Value) -> Break | None:
    certainty = tensor_certainty(wanted)
    if not certainty or not isinstance(sequence, Sequence) or sequence.kind not in ("list", "tuple"):
        return None
    if not any(_is_compared(member) for item in sequence.items or [sequence.element()] for member in members(item)):
        return None
    message = f"`{context.text(event.node)}` compares a tensor with each element and branches on the results"
    return Break(message, certainty, about=as_tensor(wanted), result=result)


def _is_compared(value: Value) -> bool:
    """Whether comparing a tensor with the value gives a tensor."""
    return isinstance(value, Tensor) or (isinstance(value, Const | Plain) and type_name(value) in NUMBERS)
