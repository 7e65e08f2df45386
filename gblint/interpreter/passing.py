"""Decorators that hand back what they are given: told from their text, so that they need not be run.

Documentation and registry decorators do much work for nothing Dynamo sees, and stand on most methods of some
libraries. A function hands its first parameter back if every return statement gives that parameter, or calls another
function that hands it back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from gblint.interpreter.functions import FunctionTree, tree_of
from gblint.interpreter.values import Function
from gblint.interpreter.walk import walk_scope

if TYPE_CHECKING:
    from gblint.index.model import ModuleInfo
    from gblint.interpreter.machine import Machine

SAME, MAKER = "same", "maker"  # a return gives the parameter; it gives a function that hands its parameter back
_DEPTH = 6


def hands_back(machine: Machine, decorator: Function, called: bool) -> bool:
    """True if `@decorator` (called: `@decorator(...)`) leaves a function exactly as it is."""
    kinds = returned(machine, decorator)
    return kinds <= {SAME, MAKER} and (MAKER if called else SAME) in kinds


def returned(machine: Machine, function: Function, depth: int = 0) -> frozenset[str]:
    """What the return statements of a module-level function give; the same for every unit, so kept."""
    if function.info is None or function.info.owner or depth > _DEPTH:
        return frozenset({""})
    key = (function.module.path, function.info.start)
    known = machine.passing.get(key)
    if known is None:
        with machine.project.track() as used:
            machine.passing[key] = frozenset({""}), used  # what a function that needs itself finds
            tree = tree_of(machine, function)
            kinds = _judge(machine, function.module, tree, depth) if tree is not None else frozenset({""})
        known = machine.passing[key] = kinds, used
    machine.project.note(known[1])
    return known[0]


def _judge(machine: Machine, module: ModuleInfo, tree: FunctionTree, depth: int) -> frozenset[str]:
    node = tree.node
    if not isinstance(node, cst.FunctionDef) or tree.is_generator or tree.is_async:
        return frozenset({""})
    return _Body(machine, module, node, {}, depth).kinds()


class _Body:
    """One function body: its first parameter, the functions nested in it, and its return statements."""

    def __init__(
        self, machine: Machine, module: ModuleInfo, node: cst.FunctionDef, outer: dict[str, cst.FunctionDef], depth: int
    ) -> None:
        self.machine = machine
        self.module = module
        self.depth = depth
        self.nodes = list(walk_scope([node.body]))
        positional = [*node.params.posonly_params, *node.params.params]
        self.first = positional[0].name.value if positional else ""
        self.nested = {**outer, **{n.name.value: n for n in self.nodes if isinstance(n, cst.FunctionDef)}}

    def kinds(self) -> frozenset[str]:
        """What the return statements give; "" stands for anything else."""
        if not self.first or self.first in self.nested or self._rebinds():
            return frozenset({""})
        values = [n.value for n in self.nodes if isinstance(n, cst.Return)]
        return frozenset(self._kind(v) for v in values) if values else frozenset({""})

    def _rebinds(self) -> bool:
        """Whether the first parameter may be given another value."""
        for node in self.nodes:
            bound = node.name if isinstance(node, cst.AsName | cst.NameItem) else getattr(node, "target", None)
            if self._names_first(bound):
                return True
        return False

    def _names_first(self, target: cst.CSTNode | None) -> bool:
        if isinstance(target, cst.Tuple | cst.List):
            return any(self._names_first(e.value) for e in target.elements)
        return isinstance(target, cst.Name) and target.value == self.first

    def _kind(self, value: cst.BaseExpression | None) -> str:
        if isinstance(value, cst.Name):
            if value.value == self.first:
                return SAME
            nested = self.nested.get(value.value)
            return MAKER if nested is not None and self._inner(nested) == {SAME} else ""
        if isinstance(value, cst.Lambda):
            return MAKER if self._lambda(value) else ""
        if isinstance(value, cst.Call) and value.args and self._is_first(value.args[0]):
            return SAME if self._callee(value.func) == {SAME} else ""
        return ""

    def _is_first(self, arg: cst.Arg) -> bool:
        plain = not arg.star and arg.keyword is None
        return plain and isinstance(arg.value, cst.Name) and arg.value.value == self.first

    def _inner(self, nested: cst.FunctionDef) -> frozenset[str]:
        if nested.decorators or nested.asynchronous is not None or self.depth > _DEPTH:
            return frozenset({""})
        body = _Body(self.machine, self.module, nested, self.nested, self.depth + 1)
        if any(isinstance(n, cst.Yield) for n in body.nodes):
            return frozenset({""})
        return body.kinds()

    def _lambda(self, node: cst.Lambda) -> bool:
        parameters = node.params.params
        return bool(parameters) and isinstance(node.body, cst.Name) and node.body.value == parameters[0].name.value

    def _callee(self, func: cst.BaseExpression) -> frozenset[str]:
        if not isinstance(func, cst.Name):
            return frozenset({""})
        nested = self.nested.get(func.value)
        if nested is not None:
            return self._inner(nested)
        value = self.machine.load_global(self.module, func.value)
        return returned(self.machine, value, self.depth + 1) if isinstance(value, Function) else frozenset({""})
