"""Printing, logging and warning under `if not torch.compiler.is_compiling():`.

What it does:
    Puts a statement that only prints, logs or warns under a guard that is false while Dynamo traces. In eager code the
    message is what it was; in compiled code it is not given.
Applicability:
    Unsafe: compiled code loses the message.
Preconditions:
    The call is a statement of its own: nothing reads its result.
Instead:
    `[tool.gblint.fix] logging` chooses other repairs: "reorder", "ignore" or "remove".
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import Codemod, CodemodMeta, Declined, Example, Repair, Site, require


class GuardLogging(Codemod):
    """Guards calls that print, log or warn."""

    meta = CodemodMeta(
        name="guard-logging",
        summary="print, log and warn only when not compiling",
        fixes=("print-call",),
        rank=20,
        logging=("guard",),
    )
    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
def f(x):
    y = x * 2
    print("doubled", y.shape)
    return y + 1

print("checksum", f(torch.ones(2)).sum().item())
""",
            """
import torch

@torch.compile
def f(x):
    y = x * 2
    if not torch.compiler.is_compiling():
        print("doubled", y.shape)
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
    shown = print("in")
    return x if shown is None else x + 1

f(torch.ones(2))
""",
            "result of the call is used",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        statement = site.lone_statement(site.node)
        require(isinstance(statement, cst.Expr) and statement.value is site.node, "the result of the call is used")
        line = site.statement(statement)
        guard, imports = site.refer("torch.compiler.is_compiling")
        text = f"if not {guard}():\n{site.body_text([line], site.step)}"
        return Repair(
            "unsafe",
            "print only when not compiling; compiled code no longer prints",
            [site.replace_lines(line, line, text), *imports],
        )
