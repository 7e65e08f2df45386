"""What a function's text says of names and of what stands in what, worked out once for all findings in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from gblint.interpreter.walk import children, only, walk

if TYPE_CHECKING:
    from gblint.interpreter.source import Tree

# The field of a node that holds the name it binds.
_BINDERS = (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.For, cst.CompFor)
_DEFINERS = (cst.FunctionDef, cst.ClassDef, cst.Param)
_BOUND: dict[type, str] = {**dict.fromkeys(_BINDERS, "target"), **dict.fromkeys(_DEFINERS, "name")}
_GROUPS = frozenset((cst.Tuple, cst.List, cst.Element, cst.StarredElement))


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
    def bound(self) -> frozenset[str]:
        """The variables that something in the text binds, parameters included."""
        return frozenset(name.value for name in self.stored) | self.parameters

    @cached_property
    def all_names(self) -> frozenset[str]:
        """Every word used as a name of anything."""
        return frozenset(n.value for n in only(walk(self.module), cst.Name))

    @cached_property
    def parameters(self) -> frozenset[str]:
        """Names of the parameters of all functions in the text."""
        return frozenset(n.name.value for n in only(walk(self.module), cst.Param))

    @cached_property
    def shared(self) -> frozenset[str]:
        """Names that a function declares global or nonlocal."""
        declared = only(walk(self.module), cst.Global, cst.Nonlocal)
        return frozenset(item.name.value for node in declared for item in node.names)

    @cached_property
    def imported(self) -> list[cst.ImportAlias]:
        """What the text imports."""
        return list(only(walk(self.module), cst.ImportAlias))

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
            inside = set(only(walk(node), cst.Name))
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
        while above is not None and type(above) in _GROUPS:
            node, above = above, self.parents.get(above)
        if type(above) is cst.Del or type(above) is cst.AsName:
            return True
        field = _BOUND.get(type(above))
        return field is not None and getattr(above, field) is node


def reading(tree: Tree) -> Reading:
    """The reading of a tree, kept with it."""
    if not isinstance(tree.notes, Reading):
        tree.notes = Reading(tree.module)
    return tree.notes


def variables(node: cst.CSTNode) -> Iterator[cst.Name]:
    """Names that are variables, in the order of the text."""
    if type(node) is cst.Name:
        yield node
        return
    if type(node) is cst.ImportAlias or type(node) is cst.NameItem:
        return
    other = _NO_VARIABLE.get(type(node))
    name = getattr(node, other) if other is not None else None
    for child in _text_order(node):
        if child is not name:
            yield from variables(child)


_NO_VARIABLE = {cst.Attribute: "attr", cst.Arg: "keyword", cst.Param: "name"}


# The fields in the order of the text; libcst's own are in it save for comprehensions and targets.
_COMPREHENSION = ("for_in", "elt")
_ORDERS: dict[type, tuple[str, ...]] = {
    cst.ListComp: _COMPREHENSION,
    cst.SetComp: _COMPREHENSION,
    cst.GeneratorExp: _COMPREHENSION,
    cst.DictComp: ("for_in", "key", "value"),
    cst.IfExp: ("test", "body", "orelse"),
    cst.FunctionDef: ("decorators", "params", "returns", "name", "body"),
    cst.Assign: ("value", "targets"),
    cst.AnnAssign: ("value", "target"),
    cst.AugAssign: ("value", "target"),
    cst.NamedExpr: ("value", "target"),
    cst.For: ("iter", "target", "body", "orelse"),
}


def _text_order(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The children in the order of the text."""
    return children(node, _ORDERS.get(node.__class__))
