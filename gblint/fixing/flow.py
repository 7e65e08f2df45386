"""Where the value of an expression goes inside its function: the places that read it, and what is computed from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import libcst as cst

from gblint.interpreter.values import Tensor, members
from gblint.interpreter.walk import only, walk, walk_scope

if TYPE_CHECKING:
    from gblint.fixing.site import Site


def reads(site: Site, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The expressions through which a value is used: the node itself, or, where it is assigned to variables, the places
    that read them before they are bound anew (copies to other variables followed).

    Raises Refusal where that cannot be told: the variable is global, read by a nested function, changed in place, or
    read in an earlier part of a loop.
    """
    found: list[cst.BaseExpression] = []
    _collect(site, node, found, set())
    return found


def _collect(site: Site, node: cst.BaseExpression, found: list[cst.BaseExpression], seen: set[str]) -> None:
    targets = plain_targets(site, node)
    if not targets:
        found.append(node)
        return
    if isinstance(site.parent(node), cst.NamedExpr):
        above = site.parent(node)
        assert isinstance(above, cst.NamedExpr)
        _collect(site, above, found, seen)
    for name in targets:
        for place in loads_of(site, name, node):
            if place not in found:
                _collect(site, place, found, seen)


def plain_targets(site: Site, node: cst.BaseExpression) -> list[str]:
    """The variables that an expression as a whole is assigned to; empty if it is used in another way."""
    above = site.parent(node)
    targets: list[cst.CSTNode] = []
    if isinstance(above, cst.Assign) and above.value is node:
        targets = [t.target for t in above.targets]
    elif isinstance(above, cst.AnnAssign | cst.NamedExpr) and above.value is node:
        targets = [above.target]
    if not targets or not all(isinstance(t, cst.Name) for t in targets):
        return []
    return [t.value for t in targets if isinstance(t, cst.Name)]


def loads_of(site: Site, name: str, node: cst.CSTNode) -> list[cst.Name]:
    """The places that read a variable after the statement that holds `node` has bound it, up to the next binding in the
    same block. Raises Refusal as `reads` does."""
    from gblint.fixing.site import Refusal

    statement = site.statement(node)
    _require_local(site, name)
    loop = site.loop(statement)
    before = _names_in(loop, name) if loop is not None else []
    own = _names_in(statement, name)
    behind = [n for n in site.after(statement) if n.value == name]
    if any(n not in own and n not in behind and not site.is_store(n) for n in before):
        raise Refusal(f"`{name}` is read in an earlier part of the loop")
    found = []
    for place in [*_behind_in_statement(site, statement, node, name), *behind]:
        if not site.is_store(place):
            found.append(place)
        elif isinstance(site.parent(place), cst.AugAssign):
            raise Refusal(f"`{name}` is changed in place afterwards")
        elif _same_block(site, statement, place):
            break
    return found


def _behind_in_statement(site: Site, statement: cst.CSTNode, node: cst.CSTNode, name: str) -> list[cst.Name]:
    """Places in the rest of a statement or line that holds the node: `if (n := …) > 1: use(n)`, `n = …; use(n)`."""
    inside = _names_in(statement, name)
    above = site.parent(node)
    own = [n for n in _names_in(above, name) if site.is_store(n)] if above is not None else []
    return [n for n in site.after(node) if n in inside and n not in own]


def _names_in(node: cst.CSTNode, name: str) -> list[cst.Name]:
    return [n for n in only(walk(node), cst.Name) if n.value == name]


def _same_block(site: Site, statement: cst.CSTNode, place: cst.CSTNode) -> bool:
    return site.parent(site.statement(place)) is site.parent(statement)


def _require_local(site: Site, name: str) -> None:
    from gblint.fixing.site import Refusal

    for inner in only(walk(site.function), *_SCOPES):
        if isinstance(inner, cst.Global | cst.Nonlocal):
            if any(item.name.value == name for item in inner.names):
                raise Refusal(f"`{name}` is not a local variable")
        elif inner is not site.function and site.function in site.ancestors(inner):
            if _names_in(inner, name) and not _inside(site, site.node, inner):
                raise Refusal(f"`{name}` is read in a nested function")


def _inside(site: Site, node: cst.CSTNode, outer: cst.CSTNode) -> bool:
    return node is outer or outer in site.ancestors(node)


def derived(site: Site, node: cst.CSTNode) -> frozenset[str]:
    """Variables of the function whose values are computed from an expression, in some number of steps."""
    names: set[str] = set()
    waiting: list[tuple[set[str], list[str]]] = []  # what a statement reads, and what it binds
    for statement in only(walk_scope([site.function.body]), *_BINDERS):
        value = statement.iter if isinstance(statement, cst.For | cst.CompFor) else statement.value
        inside = list(walk(value)) if value is not None else []
        if any(below is node for below in inside):
            names.update(_bound(statement))
        else:
            waiting.append(({name.value for name in only(inside, cst.Name)}, list(_bound(statement))))
    while True:
        size = len(names)
        for read, bound in waiting:
            if not read.isdisjoint(names):
                names.update(bound)
        if len(names) == size:
            return frozenset(names)


_TESTED = (cst.If, cst.While, cst.IfExp, cst.CompIf, cst.Assert, cst.BooleanOperation)
_SCOPES = (cst.Global, cst.Nonlocal, cst.FunctionDef, cst.Lambda, cst.ClassDef)
_BINDERS = (cst.Assign, cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.For, cst.CompFor)


def _bound(statement: cst.CSTNode) -> Iterator[str]:
    targets = [t.target for t in statement.targets] if isinstance(statement, cst.Assign) else [statement.target]  # type: ignore[attr-defined]
    stack: list[cst.CSTNode] = list(targets)
    while stack:
        target = stack.pop()
        if isinstance(target, cst.Name):
            yield target.value
        elif isinstance(target, cst.Tuple | cst.List):
            stack += [e.value for e in target.elements]


def depends(expression: cst.CSTNode, node: cst.CSTNode, names: Iterable[str]) -> bool:
    """Whether an expression holds the node or one of the variables."""
    known = set(names)
    for below in walk(expression):  # noqa: SIM110 - a generator costs a call for each
        if below is node or (below.__class__ is cst.Name and below.value in known):
            return True
    return False


def tests(site: Site) -> Iterator[cst.BaseExpression]:
    """The expressions of the function whose truth decides what runs."""
    for node in only(walk_scope([site.function.body]), *_TESTED):
        yield node.left if isinstance(node, cst.BooleanOperation) else node.test


def decides(site: Site, node: cst.CSTNode) -> cst.BaseExpression | None:
    """A test in the function that is a Python value computed from the node; None if there is none. Tests of tensors are
    left out: they are findings of their own."""
    names = derived(site, node)
    for test in tests(site):
        if depends(test, node, names) and not _about_identity(test) and not _is_tensor(site, test):
            return test
    return None


def _about_identity(test: cst.BaseExpression) -> bool:
    return isinstance(test, cst.Comparison) and all(
        isinstance(c.operator, cst.Is | cst.IsNot) for c in test.comparisons
    )


def _is_tensor(site: Site, node: cst.CSTNode) -> bool:
    value = site.value(node)
    return value is not None and all(isinstance(m, Tensor) for m in members(value))
