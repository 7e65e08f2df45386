"""Putting a name in the place of an expression, and taking out the assignments that only served it."""

from __future__ import annotations

import libcst as cst

from gblint.findings.finding import Edit
from gblint.fixing.site import Site
from gblint.interpreter.walk import walk


def replaced(site: Site, expression: cst.BaseExpression, name: str) -> list[Edit]:
    """The parameter in the place of the expression; statements that only served it go."""
    above = site.parent(expression)
    gone: list[cst.CSTNode] = [expression]
    if isinstance(above, cst.Assign) and len(above.targets) == 1 and len(site.stores(name)) == 1:
        line = site.statement(above)
        edits = [site.remove(line)] if _alone(line) else [site.replace(expression, name)]
    else:
        edits = [site.replace(expression, name)]
    return [*edits, *_orphans(site, gone)]


def _orphans(site: Site, gone: list[cst.CSTNode]) -> list[Edit]:
    """Removal of the assignments whose variables were read in the code that is gone alone."""
    edits: list[Edit] = []
    position = 0
    while position < len(gone):
        inside = [n for n in walk(gone[position]) if isinstance(n, cst.Name)]
        position += 1
        for name in {n.value for n in inside}:
            stores = site.stores(name)
            assign = site.parent(site.parent(stores[0]) or stores[0]) if len(stores) == 1 else None
            if not isinstance(assign, cst.Assign) or assign in gone:
                continue
            covered = {n for g in gone for n in walk(g)}
            line = site.statement(assign)
            if all(n in covered for n in site.loads(name)) and line not in gone and _alone(line):
                gone += [assign, line]
                edits.append(site.remove(line))
    return edits


def _alone(line: cst.CSTNode) -> bool:
    return isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
