"""Custom operators (`torch.library`): whether a fake implementation, which tracing needs, is registered for one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from gblint.interpreter.values import Function

if TYPE_CHECKING:
    from gblint.interpreter.machine import Machine

_FAKE = r"(?:register_fake|impl_abstract|register_torch_dispatch)"


def has_fake(machine: Machine, function: Function) -> bool:
    """Whether the module registers a fake for a custom operator, or it needs none as it returns nothing."""
    from gblint.interpreter.functions import tree_of

    tree = tree_of(machine, function)
    node = tree.node if tree is not None else None
    if not isinstance(node, cst.FunctionDef):
        return True
    returns = node.returns.annotation if node.returns is not None else None
    if returns is None or (isinstance(returns, cst.Name) and returns.value == "None"):
        return True
    text = machine.project.lines(function.module, 1, 100_000)
    names = [re.escape(function.name), *re.findall(r"""["'](\w+::\w+)["']""", cst.Module(_decorators(node)).code)]
    return any(re.search(rf"\b{name}\.{_FAKE}\b|{_FAKE}\(\s*[\"']{name}[\"']", text) for name in names)


def _decorators(node: cst.FunctionDef) -> list[cst.SimpleStatementLine]:
    return [cst.SimpleStatementLine([cst.Expr(d.decorator)]) for d in node.decorators]
