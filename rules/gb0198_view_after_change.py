"""A signature is looked through after the region has changed a dict from outside.

What breaks:
    `signature.bind(...)` and `signature.bind_partial(...)` of an `inspect.Signature` that was made outside, after the
    compiled code has changed a dict that was there before: an argument, its own `**kwargs`, a member of an object.
Why Dynamo breaks:
    A signature keeps its parameters behind a read-only view of a dict. Once a dict from outside has changed, Dynamo
    cannot tell whether the view shows the changed one.
Example:
    kwargs["use_cache"] = False
    bound = SIGNATURE.bind(x, **kwargs)
Instead:
    bound = SIGNATURE.bind(x, **{**kwargs, "use_cache": False})
Fix:
    Copy the dict before changing it (`kwargs = dict(kwargs)`), or bind the arguments first.
Torch versions:
    Every release.
Limits:
    Only signatures are known to hold such a view. `len(signature.parameters)` is fine, and so is a signature made in
    the region.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta


class ViewAfterChange(Rule):
    """Reads through views of dicts, after a dict has changed."""

    meta = RuleMeta(
        code="GB0198",
        slug="view-after-change",
        summary="a signature is looked through after a dict from outside was changed",
        category="supportable",
        advice="Change a copy of the dict, or bind the arguments first.",
        by_hand="whether the signature should see the dict before or after the change is not in the code",
    )
    calls = ("mark:view_after_change", "mark:view_after_own_change")
    BREAKS = (
        """
import inspect
import torch

def scaled(x, by=1, *, plus=2):
    return x * by + plus

SIGNATURE = inspect.signature(scaled)

class Table:
    def __init__(self):
        self.entries = {}

TABLE = Table()

@torch.compile
def named(x, **kwargs):
    kwargs["by"] = 3
    found = SIGNATURE.bind(x, **kwargs)  # GB0198
    return found.arguments["x"] * 2

@torch.compile
def counted(x, options: dict):
    options["calls"] = 3
    y = x * 2
    found = SIGNATURE.bind_partial(x)  # GB0198
    return y * len(found.arguments)

@torch.compile
def kept(x):
    TABLE.entries["last"] = 1
    found = SIGNATURE.bind(x)  # GB0198
    return found.arguments["x"] * 2

named(torch.rand(3), by=2)
counted(torch.rand(3), {"calls": 1})
kept(torch.rand(3))
""",
    )
    CLEAN = (
        """
import inspect
import torch

def scaled(x, by=1, *, plus=2):
    return x * by + plus

SIGNATURE = inspect.signature(scaled)

@torch.compile
def copied(x, **kwargs):
    kwargs = dict(kwargs)
    kwargs["by"] = 3
    found = SIGNATURE.bind(x, **kwargs)
    return found.arguments["x"] * 2

@torch.compile
def first(x, options: dict):
    found = SIGNATURE.bind(x)
    options["calls"] = 3
    return found.arguments["x"] * 2

@torch.compile
def made_here(x, options: dict):
    options["calls"] = 3
    y = x * len(SIGNATURE.parameters)
    return y * len(inspect.signature(scaled).bind(x).arguments)

copied(torch.rand(3), by=2)
first(torch.rand(3), {"calls": 1})
made_here(torch.rand(3), {"calls": 1})
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        message = f"`{context.text(event.node)}` looks through a view of a dict after a dict from outside was changed"
        return Break(message, 0.9 if event.callee == "mark:view_after_change" else 0.6)
