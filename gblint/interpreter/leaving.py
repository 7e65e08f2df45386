"""Whether a tensor that is marked with `requires_grad_()` is read by anything but the computation of gradients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import libcst as cst

from gblint.interpreter.frame import Frame
from gblint.interpreter.walk import walk

if TYPE_CHECKING:
    from gblint.interpreter.machine import Machine


def stays(machine: Machine, frame: Frame, node: cst.CSTNode) -> bool:
    """True if the call at `node` is a statement, or assigned to a variable, and nothing in the function reads its
    variables elsewhere.

    Where Dynamo cannot resume, statements that end in `.backward()` do not count: they break, and the frame is not
    compiled. Elsewhere the frame is split before them, and the tensor is handed over."""
    from gblint.interpreter.functions import tree_of

    tree = tree_of(machine, frame.function) if frame.function is not None else None
    if tree is None or not isinstance(node, cst.Call):
        return False
    nodes = list(walk(tree.node.body))
    held = _held(nodes, node)
    apart = {id(n) for n in walk(node)}
    for other in nodes:
        if isinstance(other, cst.AssignTarget) or (frame.hard and _is_backward(other)):
            apart |= {id(n) for n in walk(other)}
    return bool(held) and not any(isinstance(n, cst.Name) and n.value in held and id(n) not in apart for n in nodes)


def _held(nodes: Iterable[cst.CSTNode], call: cst.Call) -> set[str]:
    """The variables that hold the marked tensor; none where something else may."""
    statement = next((n for n in nodes if isinstance(n, cst.Assign | cst.Expr) and n.value is call), None)
    if statement is None:
        return set()
    targets = [t.target for t in statement.targets] if isinstance(statement, cst.Assign) else []
    receiver = call.func.value if isinstance(call.func, cst.Attribute) else None
    if not all(isinstance(target, cst.Name) for target in targets):
        return set()
    return {n.value for n in (*targets, receiver) if isinstance(n, cst.Name)}


def _is_backward(node: cst.CSTNode) -> bool:
    call = node.value if isinstance(node, cst.Expr) else None
    return isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) and call.func.attr.value == "backward"
