"""Values that cross into a graph: what an argument is to Dynamo, at a root and after each split.

A single integer in a tensor that is computed has no value while it is traced. Handed over to the code after a split,
or to a function that is called by code that runs eagerly, it is an argument like any other, and Dynamo knows its value
as a symbol.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gblint.interpreter.values import Mapping, Sequence, Stream, Tensor, Union, Value

if TYPE_CHECKING:
    from gblint.interpreter.frame import Frame

MOST_ITEMS = 32  # elements of a list that are looked at


def mark_input(value: Value) -> Value:
    """An argument as Dynamo sees it: iterators, dicts and tensors come from outside."""
    if isinstance(value, Mapping):
        value.outside = "yes"
    if isinstance(value, Stream) and value.kind != "range":
        return Stream(value.kind, value.elem, value.items, passed_in=True)
    if isinstance(value, Tensor) and value.role in ("", "result"):
        return _from_outside(value)
    return _with_numbers(value)


def hand_over(frame: Frame) -> None:
    """The frame is split: what its variables hold is given to the code that comes after."""
    for name, value in frame.env.names.items():
        if isinstance(value, Stream):
            value.passed_in = value.passed_in or value.kind not in ("range", "generator")
        elif (given := _with_numbers(value)) is not value:
            frame.env.names[name] = given


def _with_numbers(value: Value) -> Value:
    """The value, with tensors that may hold a single integer as arguments; a list keeps its identity."""
    if isinstance(value, Tensor):
        return _from_outside(value) if _may_be_number(value) else value
    if isinstance(value, Union):
        members = [_with_numbers(member) for member in value.members]
        return Union(tuple(members)) if any(a is not b for a, b in zip(members, value.members, strict=True)) else value
    if isinstance(value, Sequence):
        if value.items is not None:
            value.items[:MOST_ITEMS] = [_with_numbers(item) for item in value.items[:MOST_ITEMS]]
        elif value.elem is not None:
            value.elem = _with_numbers(value.elem)
    return value


def _may_be_number(tensor: Tensor) -> bool:
    plain = not tensor.subclass and tensor.dtype in ("int", "") and tensor.rank in (0, None)
    return plain and tensor.role in ("", "result")


def _from_outside(tensor: Tensor) -> Tensor:
    return Tensor(tensor.c, tensor.dtype, tensor.rank, "input", tensor.subclass, tensor.origin)
