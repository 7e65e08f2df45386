"""A statement whose bytecode Dynamo does not handle.

What breaks:
    `del` of a global name, of a `nonlocal` name, and of a local that a nested function uses.
Why Dynamo breaks:
    Dynamo interprets bytecode instruction by instruction and has no handler for these (`DELETE_GLOBAL`,
    `DELETE_DEREF`).
Example:
    global cache
    del cache
Instead:
    global cache
    cache = None
Fix:
    Assign None instead of deleting.
Torch versions:
    Every release.
Limits:
    `del` of a plain local, an item or an attribute does not break. Instructions of coroutines break too, but a
    coroutine is seldom compiled.
"""

from __future__ import annotations

from gblint.rule_api import Break, Context, Delete, Rule, RuleMeta

KINDS = {"global": "global", "cell": "variable of a nested function", "nonlocal": "nonlocal variable"}


class UnhandledStatement(Rule):
    """del of names that are not plain locals."""

    meta = RuleMeta(
        code="GB0082",
        slug="unhandled-statement",
        summary="a global or shared variable is deleted in a compiled region",
        category="supportable",
        advice="Assign None instead of deleting.",
        by_hand="with None assigned, code that asks whether the name exists would be told that it does",
    )
    BREAKS = (
        """
import torch

CACHE = torch.ones(2)

@torch.compile
def flush(x):
    global CACHE
    y = x + CACHE
    del CACHE  # GB0082
    return y

flush(torch.ones(2))
""",
        """
import torch

@torch.compile
def shared(x):
    scale = 2.0
    def scaled():
        return x * scale
    y = scaled()
    del scale  # GB0082
    return y + 1

shared(torch.ones(2))
""",
    )
    CLEAN = (
        """
import torch

CACHE = torch.ones(2)

class Holder:
    pass

@torch.compile
def flush(x, holder: Holder):
    global CACHE
    y = x + CACHE
    CACHE = None
    table = {"a": 1, "b": 2}
    items = [1, 2, 3]
    del table["a"], items[0]
    holder.value = y
    del holder.value
    del x
    return y * len(table) * len(items)

flush(torch.ones(2), Holder())
""",
        """
import torch

@torch.compile
def shared(x):
    scale = 2.0
    other = x + 1
    def scaled():
        other = x * scale
        return other
    y = scaled()
    del other
    return y + 1

shared(torch.ones(2))
""",
    )

    def on_delete(self, event: Delete, context: Context) -> Break | None:
        if event.kind not in KINDS:
            return None
        message = f"`del {event.name}` deletes a {KINDS[event.kind]}, an instruction that Dynamo does not handle"
        return Break(message, fatal=True)
