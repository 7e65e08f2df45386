"""A loop is left across a graph break while its iterator is an `enumerate` or `chain`.

What breaks:
    A break in a `for` loop over `enumerate` or functions of `itertools` whose body holds a `return` after the break:
    Dynamo then resumes within the
    loop, and must hand the iterator to the code that follows.
Why Dynamo breaks:
    The iterator is an object of eager code once it was handed over, and Dynamo has no model of it.
Example:
    for a, b in enumerate(xs):
        if a.sum() > b.sum():
            return a
Instead:
    for a, b in list(enumerate(xs)): ...
Fix:
    Remove the break, or loop over a list.
Torch versions:
    Since 2.11.
Limits:
    If the first turn of the loop already returns, the second break does not occur. Loops over lists, ranges and tensors
    do not have it.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Instance, Rule, RuleMeta, Sequence, Stream, Value, members

KINDS = ("enumerate", "iterator")


class LoopCounterHandedOver(Rule):
    """Iterators of loops that Dynamo resumes in."""

    meta = RuleMeta(
        code="GB8335",
        slug="loop-counter-handed-over",
        summary="a loop over `enumerate` is resumed after a break in it",
        category="supportable",
        advice="Remove the break in the loop, or loop over a list.",
        by_hand="it goes with the break in the loop",
        torch=">=2.11",
        confidence=0.8,
    )
    calls = ("mark:loop_iterator", "mark:comprehension_iterator")
    BREAKS = (
        """
import torch

@torch.compile
def first(xs):
    y = xs[0] + 1
    for i, a in enumerate(xs):
        if a.sum() > 30:  # GB0170, GB8335
            return y * 2
    return y

first([torch.ones(2), torch.zeros(2)])
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def first(xs):
    y = xs[0] + 1
    for i, a in enumerate(xs):
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
    for i, a in enumerate(xs):
        y = y + a
    return y

every([torch.ones(2), torch.zeros(2)])
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        if not event.args or not any(_is_lost(m) for m in members(event.args[0])):
            return None
        return Break(
            "Dynamo resumes in this loop after the break, with an iterator that it has no model of", 0.9, fatal=True
        )


def _is_lost(value: Value) -> bool:
    if not isinstance(value, Stream) or value.kind not in KINDS or value.passed_in:
        return False
    element = value.element()
    parts = element.items or [] if isinstance(element, Sequence) else [element]
    return not any(isinstance(part, Instance) for part in parts)
