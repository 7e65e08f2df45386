"""Side effects in the body of a checkpoint or another operator of higher order, which Dynamo refuses there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from gblint.interpreter.events import Call
from gblint.interpreter.frame import Frame
from gblint.interpreter.values import Class, Instance, Mapping, PyModule, Sequence, Value
from gblint.interpreter.walk import base

if TYPE_CHECKING:
    from gblint.interpreter.externals import Site
    from gblint.interpreter.machine import Machine

EFFECT = "mark:side_effect"
_CHANGES = (
    "append",
    "appendleft",
    "extend",
    "insert",
    "remove",
    "pop",
    "popleft",
    "popitem",
    "clear",
    "add",
    "discard",
    "update",
    "setdefault",
    "sort",
    "reverse",
)
MUTATORS = frozenset(
    f"{kind}.{name}" for kind in ("list", "dict", "set", "deque", "defaultdict", "OrderedDict") for name in _CHANGES
)


def run_pure(site: Site, function: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The value of calling `function` as the body of an operator of higher order."""
    frame = site.frame
    before, frame.pure = frame.pure, 1
    try:
        return site.call(function, args, kwargs)
    finally:
        frame.pure = before


def note_call(
    machine: Machine, frame: Frame, name: str, args: list[Value], kwargs: dict[str, Value], node: cst.CSTNode
) -> None:
    """Tell the rules of a method call that changes a container from outside the body."""
    if (
        name in MUTATORS
        and isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and _is_outside(frame, node.func.value)
    ):
        _tell(machine, frame, Call(node, EFFECT, args, kwargs, name=name))


def note_store(machine: Machine, frame: Frame, receiver: Value, node: cst.CSTNode) -> None:
    """Tell the rules of an attribute or element of something from outside the body that is set."""
    if not isinstance(receiver, Instance | Mapping | Sequence | Class | PyModule):
        return
    target = node.value if isinstance(node, cst.Attribute | cst.Subscript) else node
    made_here = isinstance(receiver, Instance) and receiver.born == "region"
    if not made_here and isinstance(target, cst.BaseExpression) and _is_outside(frame, target):
        _tell(machine, frame, Call(node, EFFECT))


def note_global(machine: Machine, frame: Frame, node: cst.CSTNode) -> None:
    """Tell the rules of a global that is set."""
    if frame.pure:
        _tell(machine, frame, Call(node, EFFECT))


def _tell(machine: Machine, frame: Frame, event: Call) -> None:
    """Where the operator is an option that is off by default, the same body runs without it as a rule."""
    frame.unlikely += frame.optional > 0
    machine.emit_call(frame, event)
    frame.unlikely -= frame.optional > 0


def _is_outside(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether an expression names something the body was given: a global, a variable of an enclosing function, a
    parameter, or an attribute or element of one."""
    path = base(node)
    if not isinstance(path, cst.Name):
        return False
    if path.value not in frame.env.names or path.value in frame.given:
        return True
    owner = frame.env.names[path.value]
    return isinstance(owner, Instance) and owner.born == "outside"
