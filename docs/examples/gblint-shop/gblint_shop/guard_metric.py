"""Metrics are sent by eager code only.

What it does:
    Puts the call under `if not torch.compiler.is_compiling():`.
Applicability:
    Unsafe: compiled code sends no metrics any more.
Preconditions:
    The result of the call is not used.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import Codemod, CodemodMeta, Declined, Example, Repair, Site, guarded, owner, require


class GuardMetric(Codemod):
    """Guards calls of shop_native.send."""

    meta = CodemodMeta(name="guard-metric", summary="send metrics only when not compiling", fixes=("metric-call",))
    EXAMPLES = (
        Example(
            """
import shop_native
import torch

@torch.compile
def f(x):
    shop_native.send("mean", x.mean())
    return x + 1
""",
            """
import shop_native
import torch

@torch.compile
def f(x):
    if not torch.compiler.is_compiling():
        shop_native.send("mean", x.mean())
    return x + 1
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import shop_native
import torch

@torch.compile
def f(x):
    return x if shop_native.send("mean", x.mean()) else x + 1
""",
            "the result of the call is used",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        statement = owner(site, site.node)
        alone = isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1
        whole = statement.body[0] if alone else None
        require(isinstance(whole, cst.Expr) and whole.value is site.node, "the result of the call is used")
        return Repair(
            "unsafe", "send it only when not compiling; compiled code sends nothing", guarded(site, [statement])
        )
