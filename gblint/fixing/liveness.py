"""Whether a variable has a value in front of statements, and whether what they bind to it is read behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from gblint.interpreter.walk import only, walk

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gblint.fixing.site import Site, Statement


def is_live(site: Site, name: str, region: list[Statement]) -> bool:
    """Whether what consecutive statements bind to a variable may be read by others: behind them, in the next round of a
    loop, or in a nested function."""
    if site.shared_names:
        return True
    inside = {n for s in region for n in only(walk(s), cst.Name)}
    end = site.last_row(region[-1])
    loop = site.loop(region[0])
    looped = set(only(walk(loop), cst.Name)) if loop is not None else set()
    stores = [s for s in site.stores(name) if s not in inside]
    for load in site.readings(name):
        row = site.span(load)[0]
        if load in inside:
            if loop is not None and not _stored_before(site, name, load, inside):
                return True
            continue
        if _in_nested_function(site, load):
            return True
        if row <= end and load not in looped:
            continue
        after = [s for s in stores if (site.span(s)[0] > end) == (row > end) and (row > end or s in looped)]
        if not any(_dominates(site, s, load) for s in after if s is not load):
            return True
    return False


def _stored_before(site: Site, name: str, load: cst.Name, inside: set[cst.Name]) -> bool:
    """Whether a read inside the region gets what the region has bound before."""
    return any(s in inside and site.span(s)[0] < site.span(load)[0] for s in site.stores(name))


def _in_nested_function(site: Site, node: cst.CSTNode) -> bool:
    for above in site.ancestors(node):
        if above is site.function:
            return False
        if isinstance(above, cst.FunctionDef | cst.Lambda | cst.ClassDef):
            return True
    return False


def _dominates(site: Site, store: cst.Name, load: cst.Name) -> bool:
    """Whether a binding has always run when a read in the same round of the same loop comes."""
    if site.span(store)[0] >= site.span(load)[0]:
        return False
    statement = site.statement(store)
    above = site.parent(statement)
    if isinstance(statement, cst.If | cst.While | cst.Try | cst.TryStar | cst.With):
        return False
    if isinstance(statement, cst.For):
        return load in set(_names_in(statement.body))
    if isinstance(above, cst.IndentedBlock | cst.Module) and any(a is above for a in site.ancestors(load)):
        return True
    return isinstance(statement, cst.SimpleStatementLine) and _on_all_ways(site, store.value, statement, load)


def _names_in(node: cst.CSTNode) -> Iterable[cst.Name]:
    return (n for n in walk(node) if isinstance(n, cst.Name))


def bound_before(site: Site, name: str, statement: Statement) -> bool:
    """Whether a variable surely has a value when a statement starts: a parameter, or bound in a block around it."""
    if name in site.parameters():
        return True
    row = site.span(statement)[0]
    for store in site.stores(name):
        line = site.statement(store)
        above = site.parent(line)
        if site.span(store)[0] >= row or _in_nested_function(site, store):
            continue
        if isinstance(line, cst.For) and any(a is line for a in site.ancestors(statement)):
            return True
        plain = isinstance(line, cst.SimpleStatementLine | cst.With)
        if plain and any(a is above for a in site.ancestors(statement)):
            return True
        if isinstance(line, cst.SimpleStatementLine) and _on_all_ways(site, name, line, statement):
            return True
    return False


def _on_all_ways(site: Site, name: str, line: Statement, node: cst.CSTNode) -> bool:
    """Whether a binding stands in an `if` in front of a node each of whose arms binds the variable."""
    block = site.parent(line)
    branch = site.parent(block) if block is not None else None
    while isinstance(branch, cst.Else) or (isinstance(branch, cst.If) and _is_elif(site, branch)):
        branch = site.parent(branch)
    if not isinstance(branch, cst.If) or site.span(node)[0] <= site.last_row(branch):
        return False
    around = site.parent(branch)
    return any(a is around for a in site.ancestors(node)) and _binds_everywhere(site, branch, name)


def _binds_everywhere(site: Site, branch: cst.If, name: str) -> bool:
    if not _binds(branch.body, name) or branch.orelse is None:
        return False
    orelse = branch.orelse
    return _binds_everywhere(site, orelse, name) if isinstance(orelse, cst.If) else _binds(orelse.body, name)


def _binds(suite: cst.BaseSuite, name: str) -> bool:
    lines = [s for s in getattr(suite, "body", ()) if isinstance(s, cst.SimpleStatementLine)]
    small = [b for s in lines for b in s.body]
    if any(isinstance(b, cst.Raise | cst.Return | cst.Continue) for b in small):
        return True
    targets = [t.target for b in small if isinstance(b, cst.Assign) for t in b.targets]
    targets += [b.target for b in small if isinstance(b, cst.AnnAssign) and b.value is not None]
    return any(isinstance(n, cst.Name) and n.value == name for t in targets for n in walk(t))


def _is_elif(site: Site, statement: cst.If) -> bool:
    above = site.parent(statement)
    return isinstance(above, cst.If) and above.orelse is statement
