"""What constructors of base classes in other folders leave behind, worked out once for all units.

A framework's base class does much in its constructor that traced code never sees (checks, kernels, configurations),
and every model of a project derives from it. Its effect on an object is worked out on a machine of its own that
starts with nothing, with an object of the base class alone: so it depends on no unit, and can be kept. It holds for
objects of a derived class unless that overrides a method the constructor looked up, and only if all it leaves is plain
data.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import libcst as cst

from gblint.interpreter import classes
from gblint.interpreter.frame import Frame
from gblint.interpreter.functions import shape
from gblint.interpreter.globals import class_value
from gblint.interpreter.values import (
    Class,
    Const,
    Environment,
    External,
    Function,
    Instance,
    Mapping,
    Plain,
    Sequence,
    Tensor,
    Union,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from gblint.index.project import Dependencies
    from gblint.interpreter.machine import Machine

_FLAT = (Const, Plain, Unknown, External, Tensor)
_DEPTH = 4  # objects within objects that are copied


class Summary:
    """attrs: what the constructor sets, None if that cannot be kept. methods: names it looked up on the object.
    used: the files it rests on."""

    __slots__ = ("attrs", "methods", "used")

    def __init__(self, attrs: dict[str, Value] | None, methods: frozenset[str], used: Dependencies) -> None:
        self.attrs = attrs
        self.methods = methods
        self.used = used


class Summaries:
    """The summaries of a run, and the machine they are worked out on."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._known: dict[Any, Summary] = {}

    def forget(self, touched: Callable[[str, Dependencies], bool]) -> None:
        """Drop the summaries where the file of the constructor, or something it rests on, was touched."""
        self._known = {key: known for key, known in self._known.items() if not touched(key[0], known.used)}
        self._machine.forget(touched)

    def apply(self, unit: Machine, function: Function, args: list[Value], kwargs: dict[str, Value]) -> bool:
        """Give an object what a constructor of its base class would set. False if that has to be run."""
        owner, receiver = function.owner, args[0] if args else None
        if owner is None or not isinstance(receiver, Instance) or receiver.attrs or function.info is None:
            return False
        if receiver.cls is None or receiver.cls is owner or os.path.dirname(owner.module.path) == unit.home:
            return False
        given = [*args[1:], *kwargs.values()]
        if owner.closure is not None or not all(isinstance(v, Const | Plain | Unknown | External) for v in given):
            return False
        shapes = (*(shape(v) for v in args[1:]), *((k, shape(v)) for k, v in kwargs.items()))
        key = (owner.module.path, function.info.start, shapes)
        summary = self._known.get(key)
        if summary is None:
            named = {k: _argument(v) for k, v in kwargs.items()}
            summary = self._known[key] = self._work_out(owner, [_argument(v) for v in args[1:]], named)
        if summary.attrs is None or _overridden(unit, receiver.cls, owner, summary.methods):
            return False
        unit.project.note(summary.used)
        receiver.attrs.update({name: _copy(unit, value) for name, value in summary.attrs.items()})
        return True

    def _work_out(self, owner: Class, args: list[Value], kwargs: dict[str, Value]) -> Summary:
        machine = self._machine
        machine.release()
        with machine.project.track() as used:
            cls = class_value(machine, owner.module, owner.info.qualname)
            if cls is None:
                return Summary(None, frozenset(), used)
            init = classes.class_attr(machine, cls, "__init__")
            machine.watched = cls
            receiver = Instance(cls, classes.external_base(machine, cls))
            attrs: dict[str, Value] | None = None
            if isinstance(init, Function):
                attrs = self._run(init, receiver, args, kwargs)
        return Summary(attrs, frozenset(machine.looked_up), used)

    def _run(
        self, init: Function, receiver: Instance, args: list[Value], kwargs: dict[str, Value]
    ) -> dict[str, Value] | None:
        from gblint.interpreter.functions import tree_of
        from gblint.interpreter.machine import OutOfBudget

        machine = self._machine
        tree = tree_of(machine, init)
        if tree is None:
            return None
        machine.guessing = True
        try:
            scope = Frame(init.module, tree.chunk, Environment({}), init)
            machine.call(scope, init, [receiver, *args], kwargs, cst.Name("_"))
        except (OutOfBudget, RecursionError):
            return None
        if machine.compiled or receiver.flags or not all(_portable(v) for v in receiver.attrs.values()):
            return None
        return receiver.attrs


def _overridden(unit: Machine, cls: Class, owner: Class, methods: frozenset[str]) -> bool:
    """Whether a class that comes before `owner` in the ancestry defines one of the methods anew."""
    for ancestor in classes.mro(unit, cls):
        if ancestor is owner:
            return False
        if isinstance(ancestor, Class) and not methods.isdisjoint(ancestor.info.methods):
            return True
    return True


def _argument(value: Value) -> Value:
    """One unknown argument stands for all, or the first unit's would."""
    return Unknown("argument") if isinstance(value, Unknown) else value


def _portable(value: Value, depth: int = 0) -> bool:
    """Whether a value means the same in every unit."""
    if isinstance(value, _FLAT):
        return True
    if depth > _DEPTH:
        return False
    if isinstance(value, Sequence):
        parts = value.items or [] if value.elem is None else [*(value.items or []), value.elem]
        return all(_portable(v, depth + 1) for v in parts)
    if isinstance(value, Mapping):
        extra = [v for v in (value.elem, value.factory) if v is not None]
        return all(_portable(v, depth + 1) for v in (*value.items.values(), *extra))
    if isinstance(value, Union):
        return all(_portable(v, depth + 1) for v in value.members)
    if isinstance(value, Instance):
        cls = value.cls
        if cls is not None and (cls.closure is not None or cls.info.qualname not in cls.module.classes):
            return False
        return all(_portable(v, depth + 1) for v in (*value.attrs.values(), *value.args, *value.kwargs.values()))
    return False


def _copy(unit: Machine, value: Value) -> Value:
    """The same value with objects of its own."""
    if isinstance(value, Sequence):
        items = [_copy(unit, v) for v in value.items] if value.items is not None else None
        return Sequence(value.kind, items, _copy(unit, value.elem) if value.elem is not None else None)
    if isinstance(value, Mapping):
        elem = _copy(unit, value.elem) if value.elem is not None else None
        values = {k: _copy(unit, v) for k, v in value.items.items()}
        return Mapping(values, elem, value.exact, value.kind, value.factory)
    if isinstance(value, Union):
        return Union(tuple(_copy(unit, v) for v in value.members))
    if isinstance(value, Instance):
        cls = class_value(unit, value.cls.module, value.cls.info.qualname) if value.cls is not None else None
        attrs = {k: _copy(unit, v) for k, v in value.attrs.items()}
        kwargs = {k: _copy(unit, v) for k, v in value.kwargs.items()}
        copy = Instance(cls, value.base, attrs, value.open, value.born, [_copy(unit, v) for v in value.args], kwargs)
        copy.flags = set(value.flags)
        return copy
    return value
