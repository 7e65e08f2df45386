"""Printing, logging and warning by a function that Dynamo is told to run behind the graph.

What it does:
    Adds the function to `torch._dynamo.config.reorderable_logging_functions`, at module level: its calls are collected
    and made when the graph has run.
Applicability:
    Unsafe: messages come later than what the graph does in between, and a tensor shows what it is then.
Preconditions:
    `[tool.gblint.fix] logging = "reorder"`. The function is a plain one (`print`, `warnings.warn`, `logging.info`; not
    the method of a logger), and all its arguments are tensors, constants and texts made of them: Dynamo rejects others,
    sizes among them.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Const,
    Declined,
    Example,
    Plain,
    Repair,
    Site,
    members,
    require,
)

PLAIN = ("builtins.print", "warnings.warn", "logging.")
CONFIG = "torch._dynamo.config.reorderable_logging_functions"


class ReorderLogging(Codemod):
    """Lets Dynamo move prints behind the graph."""

    meta = CodemodMeta(
        name="reorder-logging",
        summary="print, log and warn behind the graph",
        fixes=("print-call", "warnings-warn", "logging-function"),
        rank=10,
        logging=("reorder",),
    )
    EXAMPLES = (
        Example(
            """
import warnings

import torch


@torch.compile
def f(x):
    y = x * 2
    print("doubled", y.sum())
    warnings.warn("no mask")
    return y + 1


print("checksum", f(torch.ones(2)).sum().item())
""",
            """
import warnings

import torch

torch._dynamo.config.reorderable_logging_functions.add(print)
torch._dynamo.config.reorderable_logging_functions.add(warnings.warn)


@torch.compile
def f(x):
    y = x * 2
    print("doubled", y.sum())
    warnings.warn("no mask")
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
    print("doubled", y.shape)
    return y + 1

f(torch.ones(2))
""",
            "`y.shape` is no tensor, constant or text",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        call = site.node
        if not isinstance(call, cst.Call) or not site.callee(call).startswith(PLAIN):
            return None
        for argument in call.args:
            text = site.flat(argument.value)
            require(self._may_move(site, argument.value), f"`{text}` is no tensor, constant or text")
        own = site.callee(call)
        dotted = own.removeprefix("builtins.")
        name, imports = (dotted, []) if dotted != own else site.refer(dotted)
        config, more = site.refer(CONFIG)
        edits = [*site.configure(f"{config}.add({name})\n"), *imports, *more]
        return Repair("unsafe", f"let Dynamo call `{name}` behind the graph", edits)

    def _may_move(self, site: Site, node: cst.BaseExpression) -> bool:
        """Whether Dynamo takes an argument of a call that it moves: a tensor, a constant, a text."""
        if isinstance(node, cst.BaseString | cst.BaseNumber) or site.tensor(node) is not None:
            return True
        value = site.value(node)
        return value is not None and all(isinstance(p, Const | Plain) for p in members(value))
