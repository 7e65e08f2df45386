"""An exception leaves the compiled function.

What breaks:
    A `raise` that is certainly reached and that nothing in the compiled region catches; also `raise` in a helper,
    and `NotImplementedError` of an abstract method. An attribute or element of an argument that is None because its
    default is filled in under `not torch.compiler.is_compiling()`.
Why Dynamo breaks:
    Dynamo traces raising and catching inside the region, but an exception that leaves it has to be raised by
    Python: the graph ends and the function runs eagerly up to there.
Example:
    if x.shape[0] != 3:
        raise ValueError("bad shape")
Instead:
    check before calling the compiled function
Fix:
    Validate outside the compiled region, or use `torch._check`.
Torch versions:
    Every release.
Limits:
    A check that is not certain to fail is not reported: in the usual run it does not raise. Other exceptions raised
    by Python itself (a missing key, a bad index) are not predicted. A `raise` is reported in what is compiled by name
    only: nobody compiles what always fails.
"""

from __future__ import annotations

from gblint.rule_api import Break, Context, Raise, Rule, RuleMeta, Unknown, is_none


class UncaughtException(Rule):
    """raise statements that are reached and not caught."""

    meta = RuleMeta(
        code="GB0088",
        slug="uncaught-exception",
        summary="an exception leaves the compiled function",
        category="user-error",
        advice="Validate before the compiled function is called.",
        by_hand="the check would have to move to the callers, which may rely on where the error comes from",
        confidence=0.8,
    )
    BREAKS = (
        """
import torch

class Base:
    def run(self, x):
        raise NotImplementedError  # GB0088

@torch.compile
def checked(x):
    y = x * 2
    if x.dim() < 4:
        raise ValueError("bad rank")  # GB0088
    return y

@torch.compile
def abstract(x, base: Base):
    y = x + 1
    return base.run(y)

for run in (lambda: checked(torch.ones(2)), lambda: abstract(torch.ones(2), Base())):
    try:
        run()
    except (ValueError, NotImplementedError):
        pass
""",
    )
    CLEAN = (
        """
import torch

class Bad(Exception):
    pass

@torch.compile
def checked(x, dim: int):
    if dim > x.dim():
        raise ValueError(f"bad dim {dim}")
    try:
        if x.dim() == 1:
            raise Bad("a")
    except Bad:
        x = x + 1
    return x.sum(dim)

checked(torch.ones(2), 0)
""",
        """
import torch

def validate(x):
    if x.shape[0] == 0:
        raise RuntimeError("empty")
    return x

@torch.compile
def step(x):
    try:
        raise KeyError("a")
    except Exception:
        x = validate(x) * 2
    return x

step(torch.ones(2))
""",
    )

    def on_raise(self, event: Raise, context: Context) -> Break | None:
        if event.caught:
            return None
        if event.missing:
            message = f"`{event.missing}` may be None here: its default is filled in only by code that is not compiled"
            return Break(message, 0.95 if is_none(event.value or Unknown()) else 0.8, fatal=True)
        return Break(f"`{context.text(event.node)}` leaves the compiled function", 0.9, fatal=True)
