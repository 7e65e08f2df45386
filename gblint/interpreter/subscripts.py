"""Subscripts: reading, writing and deleting elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from gblint.interpreter import conditions, effects, proxies
from gblint.interpreter.events import Index
from gblint.interpreter.frame import Frame
from gblint.interpreter.values import (
    NONE,
    Class,
    Const,
    External,
    Instance,
    Mapping,
    Origin,
    Plain,
    Sequence,
    Slice,
    Tensor,
    Union,
    Unknown,
    Value,
    as_tensor,
    is_none,
    join,
    join_all,
    mixed,
)

if TYPE_CHECKING:
    from gblint.interpreter.machine import Machine


def index_values(machine: Machine, frame: Frame, node: cst.Subscript) -> list[Value]:
    """The values between the brackets, one per comma-separated part; a comparison of unknown values used as an index is
    a boolean mask."""
    from gblint.interpreter.expressions import evaluate

    result: list[Value] = []
    for element in node.slice:
        part = element.slice
        if isinstance(part, cst.Slice):
            parts = [
                evaluate(machine, frame, p) if p is not None else NONE for p in (part.lower, part.upper, part.step)
            ]
            result.append(Slice(*parts))
            continue
        assert isinstance(part, cst.Index)
        value = evaluate(machine, frame, part.value)
        if isinstance(value, Unknown) and value.reason == conditions.COMPARISON:
            value = Tensor(0.6, "bool", None, "result", origin=Origin("result of", part.value, frame.chunk))
        value = _named_mask(part.value, value)
        if (
            isinstance(value, Sequence)
            and value.kind == "tuple"
            and value.items is not None
            and len(node.slice) == 1
            and as_index(value)
        ):
            result.extend(value.items)
        else:
            result.append(value)
    return result


def _named_mask(node: cst.BaseExpression, value: Value) -> Value:
    """A tensor of unknown element kind that is called a mask and used as an index is most likely boolean."""
    tensor = as_tensor(value)
    if tensor is None or tensor.dtype or not isinstance(node, cst.Name | cst.Attribute):
        return value
    name = node.value if isinstance(node, cst.Name) else node.attr.value
    if "mask" not in name.lower():
        return value
    return Tensor(tensor.c * 0.8, "bool", tensor.rank, tensor.role, tensor.subclass, tensor.origin)


def as_index(value: Sequence) -> bool:
    """True for a tuple that stands for several index parts."""
    return any(as_tensor(i) is not None or isinstance(i, Slice) for i in value.items or [])


def load(machine: Machine, frame: Frame, base: Value, index: list[Value], node: cst.CSTNode) -> Value:
    """The value of base[index]."""
    if frame.traced and machine.table.by_kind["index"] and _worth_telling(base, index):
        answer = machine.emit(frame, "index", Index(node, base, index))
        if answer is not None and answer.result is not None:
            return answer.result
    return _load(machine, frame, base, index, node)


def _worth_telling(base: Value, index: list[Value]) -> bool:
    if isinstance(base, Tensor | Union):
        return True
    return any(
        as_tensor(i) is not None or (isinstance(i, Slice) and (as_tensor(i.lower) or as_tensor(i.upper))) for i in index
    )


def _load(machine: Machine, frame: Frame, base: Value, index: list[Value], node: cst.CSTNode) -> Value:
    first = index[0] if index else Unknown("no index")
    if isinstance(base, Tensor):
        return _tensor(frame, base, index, node)
    if isinstance(base, Sequence):
        return _sequence(base, first)
    if isinstance(base, Mapping):
        return _mapping(machine, frame, base, first, node)
    if isinstance(base, Union):
        parts = [p for p in base.members if not is_none(p)]
        return join_all(_load(machine, frame, p, index, node) for p in parts) if parts else Unknown("element of None")
    if isinstance(base, Instance):
        from gblint.interpreter import classes

        return classes.index_instance(machine, frame, base, index, node)
    if isinstance(base, Const) and isinstance(base.value, str):
        return _character(base.value, first)
    if isinstance(base, Plain):
        return Plain("")
    if isinstance(base, Class | External):
        return base  # a generic class: List[int], Block[T]
    if any((t := as_tensor(i)) is not None and t.dtype == "bool" and t.c > 0.5 for i in index):
        return Tensor(0.7, "", None, "result", origin=Origin("result of", node, frame.chunk))
    return Unknown("element of an unknown value")


def _character(text: str, index: Value) -> Value:
    if isinstance(index, Const) and isinstance(index.value, int) and -len(text) <= index.value < len(text):
        return Const(str(text)[index.value])
    return Plain("str")


def _tensor(frame: Frame, base: Tensor, index: list[Value], node: cst.CSTNode) -> Tensor:
    return Tensor(
        base.c,
        base.dtype,
        _indexed_rank(base.rank, index),
        "result",
        base.subclass,
        Origin("result of", node, frame.chunk),
    )


def _indexed_rank(rank: int | None, index: list[Value]) -> int | None:
    if rank is None:
        return None
    gathered = 0
    for part in index:
        tensor = as_tensor(part)
        if tensor is not None:
            if tensor.rank is None:
                return None
            rank -= 1 if tensor.dtype != "bool" else tensor.rank
            gathered = max(gathered, 1 if tensor.dtype == "bool" else tensor.rank)
        elif is_none(part):
            rank += 1
        elif isinstance(part, Slice) or (isinstance(part, Const) and part.value is ...):
            continue
        elif isinstance(part, Sequence):
            rank -= 1
            gathered = max(gathered, 1)
        elif isinstance(part, Const | Plain):
            rank -= 1
        else:
            return None
    return max(rank + gathered, 0)


def _sequence(base: Sequence, index: Value) -> Value:
    if isinstance(index, Slice):
        return _sliced(base, index)
    if base.items is not None and isinstance(index, Const) and isinstance(index.value, int):
        if -len(base.items) <= index.value < len(base.items):
            return base.items[index.value]
    if base.items is not None and mixed(base.items):
        return Unknown("element at a computed position")
    if (
        base.prefix
        and isinstance(index, Const)
        and isinstance(index.value, int)
        and 0 <= index.value < len(base.prefix)
    ):
        return base.prefix[index.value]
    return base.element()


def _sliced(base: Sequence, index: Slice) -> Value:
    parts = [p.value for p in (index.lower, index.upper, index.step) if isinstance(p, Const)]
    if base.items is not None and len(parts) == 3 and all(isinstance(p, int | type(None)) for p in parts):
        try:
            return Sequence(base.kind, base.items[slice(*parts)])
        except ValueError:
            return base
    known = base.items or base.elem is not None
    return Sequence(base.kind, None, base.element() if known else None)


def _mapping(machine: Machine, frame: Frame, base: Mapping, key: Value, node: cst.CSTNode) -> Value:
    if isinstance(key, Const) and _hashable(key):
        if key.value in base.items:
            return base.items[key.value]
        if base.elem is not None:
            return base.elem
        if base.factory is not None:
            made = machine.call(frame, base.factory, [], {}, node)
            base.items[key.value] = made
            return made
        return Unknown(f"key {key.value!r}")
    if base.factory is not None and base.elem is None and not base.items:
        base.elem = machine.call(frame, base.factory, [], {}, node)
    if mixed(list(base.items.values())):
        return Unknown("value under a computed key")
    return base.element()


def _hashable(key: Const) -> bool:
    return isinstance(key.value, str | int | float | bool | bytes | type(None))


def store(machine: Machine, frame: Frame, base: Value, index: list[Value], value: Value, node: cst.CSTNode) -> None:
    """base[index] = value."""
    if (
        frame.traced
        and machine.table.by_kind["index"]
        and (_worth_telling(base, index) or isinstance(base, External | Instance))
    ):
        machine.emit(frame, "index", Index(node, base, index, True, value))
    if frame.pure:
        effects.note_store(machine, frame, base, node)
    first = index[0] if index else Unknown("no index")
    for member in base.members if isinstance(base, Union) else (base,):
        if isinstance(member, Mapping):
            proxies.note_change(frame, member)
            _store_mapping(frame, member, first, value)
        elif isinstance(member, Sequence):
            _store_sequence(frame, member, first, value)
        elif isinstance(member, Instance):
            from gblint.interpreter import classes

            classes.store_index(machine, frame, member, index, value, node)


def _store_mapping(frame: Frame, base: Mapping, key: Value, value: Value) -> None:
    from gblint.interpreter.expressions import store_key

    if frame.guards and isinstance(key, Const) and _hashable(key) and key.value in base.items:
        value = join(base.items[key.value], value)
    store_key(base, key, value)


def _store_sequence(frame: Frame, base: Sequence, index: Value, value: Value) -> None:
    if (
        base.items is not None
        and isinstance(index, Const)
        and isinstance(index.value, int)
        and -len(base.items) <= index.value < len(base.items)
    ):
        old = base.items[index.value]
        base.items[index.value] = join(old, value) if frame.guards else value
        return
    if base.items:
        changed = [_like(item, value) for item in base.items]
        base.items = [
            join(item, value) if alike or not any(changed) else item
            for item, alike in zip(base.items, changed, strict=True)
        ]
        return
    base.elem = join(base.elem, value) if base.elem is not None else value


def _like(old: Value, new: Value) -> bool:
    """Whether a store at a position that is not known may mean this element: both are tensors, or neither is."""
    return (as_tensor(old) is None) == (as_tensor(new) is None)


def delete(machine: Machine, frame: Frame, base: Value, index: list[Value], node: cst.CSTNode) -> None:
    """del base[index]."""
    if frame.traced and machine.table.by_kind["index"] and isinstance(base, External | Instance):
        machine.emit(frame, "index", Index(node, base, index, True, None))
    first = index[0] if index else None
    proxies.note_change(frame, base)
    if isinstance(base, Mapping) and isinstance(first, Const) and _hashable(first):
        base.items.pop(first.value, None)
    elif isinstance(base, Sequence) and base.items is not None:
        base.elem = join_all(base.items) if base.items else None
        base.items = None
