"""The variables of a function body: which names it binds, and which of them nested functions share."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gblint.interpreter.walk import walk_scope


class Scope:
    """plainly_bound: names that the body binds, but no loop in it (a loop that runs no time leaves them unbound in ways
    that cannot be told). cells: names of the body that nested functions read."""

    __slots__ = ("cells", "plainly_bound")

    def __init__(self, node: cst.FunctionDef | cst.Lambda) -> None:
        nodes = list(walk_scope([node.body]))
        bound = set(_bound(nodes))
        looped = {
            n for loop in nodes if isinstance(loop, cst.For | cst.While) for n in _bound(list(walk_scope([loop.body])))
        }
        self.plainly_bound = (
            bound - looped - {n for loop in nodes if isinstance(loop, cst.For) for n in _names(loop.target)}
        )
        nested = [n for n in nodes if isinstance(n, cst.FunctionDef | cst.Lambda)]
        self.cells = {name for inner in nested for name in _free(inner)} & (bound | _parameters(node))


def _free(node: cst.FunctionDef | cst.Lambda) -> set[str]:
    """The names that a function uses and does not bind itself."""
    nodes = list(walk_scope([node.body]))
    used = {n.value for n in nodes if isinstance(n, cst.Name)}
    for inner in nodes:
        if isinstance(inner, cst.FunctionDef | cst.Lambda):
            used |= _free(inner)
    shared = {item.name.value for n in nodes if isinstance(n, cst.Nonlocal) for item in n.names}
    loops = {name for n in nodes if isinstance(n, cst.For) for name in _names(n.target)}
    return used - ((set(_bound(nodes)) | loops | _parameters(node)) - shared)


def _bound(nodes: list[cst.CSTNode]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, cst.AssignTarget | cst.AugAssign | cst.NamedExpr) or (
            isinstance(node, cst.AnnAssign) and node.value is not None
        ):
            yield from _names(node.target)
        elif isinstance(node, cst.AsName):
            yield from _names(node.name)


def _names(target: cst.CSTNode) -> Iterator[str]:
    if isinstance(target, cst.Name):
        yield target.value
    elif isinstance(target, cst.Tuple | cst.List):
        for element in target.elements:
            yield from _names(element.value)


def _parameters(node: cst.FunctionDef | cst.Lambda) -> set[str]:
    return {p.name.value for p in (*node.params.posonly_params, *node.params.params, *node.params.kwonly_params)}
