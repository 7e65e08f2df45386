"""A local variable is read that has no value on this path.

What breaks:
    Reading a variable that was never assigned on the path taken, that was deleted, that a loop over nothing would have
    bound, or the name of a finished `except … as name`.
Why Dynamo breaks:
    Python would raise `UnboundLocalError` here. Dynamo ends the graph and leaves the error to Python.
Example:
    if mode == "train":
        scale = 2.0
    return y * scale
Instead:
    scale = 2.0 if mode == "train" else 1.0
    return y * scale
Fix:
    Give the variable a value on every path.
Torch versions:
    Every release.
Limits:
    Reported only when the variable is certainly unbound on the path that is followed.
"""

from __future__ import annotations

from gblint.rule_api import Break, Context, Globals, Rule, RuleMeta


class UnboundLocal(Rule):
    """Reads of locals without a value."""

    meta = RuleMeta(
        code="GB0011",
        slug="unbound-local",
        summary="a local variable is read before it has a value",
        category="user-error",
        advice="Assign the variable on every path.",
        by_hand="what the variable should be on the other path is not in the code",
    )
    BREAKS = (
        """
import torch

@torch.compile
def pick(x, mode: str):
    y = x * 2
    if mode == "train":
        scale = 2.0
    return y * scale  # GB0011

@torch.compile
def caught(x):
    try:
        raise ValueError("a")
    except ValueError as error:
        pass
    y = x + 1
    return y, error  # GB0011

@torch.compile
def deleted(x):
    y = x * 2
    del y
    return x * y  # GB0011

for run in (lambda: pick(torch.ones(2), "eval"), lambda: caught(torch.ones(2)), lambda: deleted(torch.ones(2))):
    try:
        run()
    except UnboundLocalError:
        pass
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def pick(x, mode: str):
    if mode == "train":
        scale = 2.0
    else:
        scale = 1.0
    y = x * 2
    del x
    for i in range(3):
        last = i
    return y * scale + last

pick(torch.ones(2), "eval")
""",
        """
import torch

@torch.compile
def later(x, flag: bool):
    if flag:
        bias = x.mean()
    y = x + 1
    if flag:
        y = y + bias
    return y

later(torch.ones(2), True)
later(torch.ones(3), False)
""",
    )

    def on_globals(self, event: Globals, context: Context) -> Break | None:
        if event.kind != "unbound":
            return None
        return Break(f"`{event.name}` has no value on this path", fatal=True)
