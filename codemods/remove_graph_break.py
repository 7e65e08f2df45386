"""An explicit graph break is removed.

What it does:
    Removes a statement `torch._dynamo.graph_break()`.
Applicability:
    Unsafe: it may be there on purpose, to split a graph that is too large or to work round an error of a backend.
Preconditions:
    The call is a statement of its own.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import Codemod, CodemodMeta, Declined, Example, Repair, Site, require

NAMES = frozenset({"torch._dynamo.graph_break", "torch._dynamo.decorators.graph_break"})


class RemoveGraphBreak(Codemod):
    """Removes explicit graph breaks."""

    meta = CodemodMeta(
        name="remove-graph-break",
        summary="remove an explicit graph break",
        fixes=("explicit-graph-break",),
        rank=50,
    )
    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
def f(x):
    x = x * 2
    torch._dynamo.graph_break()
    return x + 1

print("checksum", f(torch.ones(2)).sum().item())
""",
            """
import torch

@torch.compile
def f(x):
    x = x * 2
    return x + 1

print("checksum", f(torch.ones(2)).sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def f(x):
    done = torch._dynamo.graph_break()
    return x + 1 if done is None else x

f(torch.ones(2))
""",
            "is no statement of its own",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        if site.callee(site.node) not in NAMES:
            return None
        small = site.lone_statement(site.node)
        require(isinstance(small, cst.Expr) and small.value is site.node, "the call is no statement of its own")
        message = "remove the explicit graph break, which may be there on purpose"
        return Repair("unsafe", message, [site.remove(site.statement(small))])
