"""Statements that print, log or warn are removed.

What it does:
    Takes out a statement that only prints, logs or warns; an `if` that held nothing else goes with it where its test
    changes nothing.
Applicability:
    Unsafe: the message is lost, in eager code as well.
Preconditions:
    `[tool.gblint.fix] logging = "remove"`. The call is a statement of its own, and its arguments change nothing.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Declined,
    Example,
    Repair,
    Site,
    Statement,
    harmless,
    is_pure,
    reports,
    require,
)


class RemoveLogging(Codemod):
    """Removes statements that print, log or warn."""

    meta = CodemodMeta(
        name="remove-logging",
        summary="remove prints, logs and warnings",
        fixes=("print-call", "warnings-warn", "logging-function", "logger-method", "stream-write"),
        rank=10,
        logging=("remove",),
    )
    EXAMPLES = (
        Example(
            """
import warnings

import torch


@torch.compile
def f(x, mask=None):
    y = x * 2
    print("doubled", y.shape)
    if mask is None:
        warnings.warn("no mask")
    return y + 1


print("checksum", f(torch.ones(2)).sum().item())
""",
            """
import torch


@torch.compile
def f(x, mask=None):
    y = x * 2
    return y + 1


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
    y = x * 2
    print("clamped", y.clamp_(max=1))
    return y

f(torch.ones(2))
""",
            "change something besides",
        ),
        Declined(
            """
import torch

@torch.compile
def f(x):
    shown = print("x", x)
    return x * 2, shown

f(torch.ones(2))
""",
            "the result of the call is used",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        small = site.lone_statement(site.node)
        whole = isinstance(small, cst.Expr) and isinstance(small.value, cst.Call) and small.value is site.node
        require(whole or reports(site, small), "the result of the call is used")
        assert isinstance(small, cst.Expr)
        assert isinstance(small.value, cst.Call)
        require(harmless(site, [a.value for a in small.value.args]), "the arguments change something besides")
        return Repair(
            "unsafe", "remove the statement", [site.remove(self._all(site, site.statement(small)))], ("effects",)
        )

    def _all(self, site: Site, line: Statement) -> Statement:
        """The statement, or the outermost `if` that holds nothing else."""
        block = site.parent(line)
        above = site.parent(block) if block is not None else None
        alone = len(site.block(line)) == 1
        if not (alone and isinstance(above, cst.If) and above.body is block and above.orelse is None):
            return line
        if isinstance(site.parent(above), cst.If) or not is_pure(site, [above.test]):
            return line
        return self._all(site, above)
