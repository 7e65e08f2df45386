"""What a function's text says of names and of what stands in what, worked out once for all findings in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from gblint.interpreter.walk import children, walk

if TYPE_CHECKING:
    from gblint.interpreter.source import Tree

_BINDERS = (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.For, cst.CompFor)
_DEFINERS = (cst.FunctionDef, cst.ClassDef, cst.Param)
_GROUPS = (cst.Tuple, cst.List, cst.Element, cst.StarredElement)


class Reading:
    """Parents of nodes, and variables by name in the order of the text."""

    def __init__(self, module: cst.Module) -> None:
        self.module = module
        self._after: dict[cst.CSTNode, list[cst.Name]] = {}
        self._below: dict[cst.CSTNode, frozenset[cst.CSTNode]] = {}

    @cached_property
    def parents(self) -> dict[cst.CSTNode, cst.CSTNode]:
        """The node directly above each node."""
        found: dict[cst.CSTNode, cst.CSTNode] = {}
        stack: list[cst.CSTNode] = [self.module]
        while stack:
            node = stack.pop()
            for child in children(node):
                found[child] = node
                stack.append(child)
        return found

    @cached_property
    def names(self) -> list[cst.Name]:
        """Variables in the order of the text: no attributes, keywords or parameters."""
        return list(variables(self.module))

    @cached_property
    def uses(self) -> dict[str, list[cst.Name]]:
        """The places of each variable."""
        found: dict[str, list[cst.Name]] = defaultdict(list)
        for name in self.names:
            found[name.value].append(name)
        return found

    @cached_property
    def stored(self) -> frozenset[cst.Name]:
        """The places that bind or delete a variable."""
        return frozenset(name for name in self.names if self._binds(name))

    @cached_property
    def all_names(self) -> frozenset[str]:
        """Every word used as a name of anything."""
        return frozenset(n.value for n in walk(self.module) if isinstance(n, cst.Name))

    @cached_property
    def parameters(self) -> frozenset[str]:
        """Names of the parameters of all functions in the text."""
        return frozenset(n.name.value for n in walk(self.module) if isinstance(n, cst.Param))

    @cached_property
    def imported(self) -> list[cst.ImportAlias]:
        """What the text imports."""
        return [n for n in walk(self.module) if isinstance(n, cst.ImportAlias)]

    def below(self, node: cst.CSTNode) -> frozenset[cst.CSTNode]:
        """A node and all nodes in it."""
        found = self._below.get(node)
        if found is None:
            found = self._below[node] = frozenset(walk(node))
        return found

    def after(self, node: cst.CSTNode) -> list[cst.Name]:
        """The variables in the text behind a node."""
        found = self._after.get(node)
        if found is None:
            inside = {n for n in walk(node) if isinstance(n, cst.Name)}
            found, seen = [], False
            for name in self.names:
                if name in inside:
                    seen = True
                elif seen:
                    found.append(name)
            self._after[node] = found
        return found

    def _binds(self, name: cst.Name) -> bool:
        node: cst.CSTNode = name
        above = self.parents.get(node)
        while isinstance(above, _GROUPS):
            node, above = above, self.parents.get(above)
        if isinstance(above, _BINDERS):
            return above.target is node
        return isinstance(above, cst.Del | cst.AsName) or (isinstance(above, _DEFINERS) and above.name is node)


def reading(tree: Tree) -> Reading:
    """The reading of a tree, kept with it."""
    if not isinstance(tree.notes, Reading):
        tree.notes = Reading(tree.module)
    return tree.notes


def variables(node: cst.CSTNode) -> Iterator[cst.Name]:
    """Names that are variables, in the order of the text."""
    if isinstance(node, cst.Name):
        yield node
        return
    for child in _text_order(node):
        skipped = (
            (isinstance(node, cst.Attribute) and child is node.attr)
            or (isinstance(node, cst.Arg) and child is node.keyword)
            or (isinstance(node, cst.Param) and child is node.name)
            or isinstance(node, cst.ImportAlias | cst.NameItem)
        )
        if not skipped:
            yield from variables(child)


def _text_order(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The children in the order of the text; libcst's own fields have it so save for comprehensions and targets."""
    if isinstance(node, cst.BaseSimpleComp):
        return [node.for_in, node.elt]
    if isinstance(node, cst.DictComp):
        return [node.for_in, node.key, node.value]
    if isinstance(node, cst.IfExp):
        return [node.test, node.body, node.orelse]
    if isinstance(node, cst.FunctionDef):
        return [*node.decorators, node.params, *([node.returns] if node.returns else []), node.name, node.body]
    if isinstance(node, cst.Assign):
        return [node.value, *node.targets]
    if isinstance(node, cst.AnnAssign | cst.AugAssign | cst.NamedExpr):
        return [*([node.value] if node.value is not None else []), node.target]
    if isinstance(node, cst.For):
        tail = [node.orelse] if node.orelse is not None else []
        return [node.iter, node.target, node.body, *tail]
    return children(node)
