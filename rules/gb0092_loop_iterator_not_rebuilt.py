"""What the code after a graph break needs cannot be made anew: an iterator over modules or a dict, a manager.

What breaks:
    A break in a `for` loop over a ModuleList, `zip` of ModuleLists, or the items or values of a dict whose body holds
    a `return` after the break: Dynamo then resumes within the
    loop, and must hand the iterator to the code that follows. A break in a comprehension over one of these (on Python
    3.11), and one within `warnings.catch_warnings()`.
Why Dynamo breaks:
    Dynamo cannot write down code that makes such an iterator anew, and gives up the frame.
Example:
    for a, b in self.pairs.items():
        if a.sum() > b.sum():
            return a
Instead:
    for a, b in list(self.pairs.items()): ...
Fix:
    Remove the break, or loop over a list.
Torch versions:
    Since 2.13; before, a `zip` of modules was GB0156, and the items of a dict did not break again.
Limits:
    If the first turn of the loop already returns, the second break does not occur. Loops over lists, ranges and tensors
    do not have it.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Instance, Mapping, Rule, RuleMeta, Sequence, Stream, Value, members

VIEWS = ("dict_items", "dict_values")
KEYS = ("dict_keys",)
CONTAINERS = ("torch.nn.ModuleList", "torch.nn.Sequential")


class LoopIteratorNotRebuilt(Rule):
    """Iterators of loops that Dynamo resumes in."""

    meta = RuleMeta(
        code="GB0092",
        slug="loop-iterator-not-rebuilt",
        summary="a loop over modules or dict items is resumed after a break in it",
        category="supportable",
        advice="Remove the break in the loop, or loop over a list.",
        by_hand="it goes with the break in the loop",
        torch=">=2.13",
        renamed=(("<2.13", "GB0156"),),
        confidence=0.8,
    )
    calls = ("mark:loop_iterator", "mark:comprehension_iterator", "mark:lost_manager")
    BREAKS = (
        """
import torch

@torch.compile
def first(xs, table):
    y = xs[0] + 1
    for k, a in table.items():
        if a.sum() > 30:  # GB0170, GB0092
            return y * 2
    return y

first([torch.ones(2), torch.zeros(2)], {"a": torch.ones(2), "b": torch.zeros(2)})
""",
        """
import torch
from torch import nn

class EarlyExit(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(2))
        self.exits = nn.ModuleList(nn.Linear(2, 2) for _ in range(2))

    def forward(self, x):
        for layer, head in zip(self.layers, self.exits):
            x = layer(x)
            if head(x).sum() > 100:  # GB0170, GB0092
                return x
        return x

torch.compile(EarlyExit())(torch.ones(1, 2))
""",
        """
import warnings
import torch

@torch.compile
def quiet(x):
    with warnings.catch_warnings():
        shift = x.mean().item()  # GB0124, GB0092
        x = x - shift
    return x * 2

quiet(torch.ones(2))
""",
        """
import torch

@torch.compile
def norms(parts):
    return {name: part.norm().item() for name, part in parts.items()}  # GB0124, GB0092

norms({"a": torch.ones(2)})
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def first(xs):
    y = xs[0] + 1
    for a in xs:
        if a.shape[0] > 30:
            return y * 2
    return y

first([torch.ones(2), torch.zeros(2)])
""",
        """
import torch

@torch.compile
def every(xs):
    y = xs[0] + 1
    for a in xs:
        y = y + a
    return y

every([torch.ones(2), torch.zeros(2)])
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        if event.callee == "mark:lost_manager":
            return Break("after the break Dynamo cannot make the manager of this block anew", 0.9, fatal=True)
        if event.callee == "mark:comprehension_iterator":
            if not any(_is_view(m) for m in members(event.args[0])):
                return None
            return Break(
                "Dynamo calls this comprehension after the break, and cannot make its iterator anew", 0.9, fatal=True
            )
        views = VIEWS if context.torch >= (2, 13) else ()
        if not event.args or not any(_is_lost(m, views) for m in members(event.args[0])):
            return None
        return Break("Dynamo resumes in this loop after the break, and cannot make its iterator anew", 0.9, fatal=True)


def _is_view(value: Value) -> bool:
    """Whether iterating a value in a comprehension gives an iterator that is lost: over a dict, or modules."""
    if isinstance(value, Instance):
        return value.base in CONTAINERS
    return isinstance(value, Mapping) or (isinstance(value, Stream) and value.kind in (*VIEWS, *KEYS))


def _is_lost(value: Value, views: tuple[str, ...]) -> bool:
    if isinstance(value, Instance):
        return value.base in CONTAINERS
    if not isinstance(value, Stream) or value.passed_in:
        return False
    if value.kind in views:
        return True
    element = value.element()
    parts = element.items or [] if isinstance(element, Sequence) else [element]
    return value.kind == "zip" and any(isinstance(part, Instance) for part in parts)
