"""Code that fails in the region alone: a default that is filled in only where nothing is compiled.

`if mask is None and not torch.compiler.is_compiling(): mask = …` leaves None in a compiled call, and what comes after
was not written for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from gblint.interpreter.events import Raise
from gblint.interpreter.values import COMPILING, Union, Value, is_none

if TYPE_CHECKING:
    from gblint.interpreter.frame import Frame
    from gblint.interpreter.machine import Machine


def note_unfilled(machine: Machine, frame: Frame, learnt: dict[str, Value], other: cst.BaseExpression) -> None:
    """A condition is false for being compiled; learnt: what its first half would have taught."""
    if not isinstance(other, cst.UnaryOperation) or not isinstance(other.operator, cst.Not):
        return
    if COMPILING not in machine.values.get(id(other.expression), ()):
        return
    for name, value in learnt.items():
        current = frame.env.names.get(name)
        if is_none(value) and current is not None and (isinstance(current, Union) or is_none(current)):
            frame.unfilled[name] = current


def note_use(machine: Machine, frame: Frame, node: cst.Attribute | cst.Subscript) -> None:
    """Tell the rules of an attribute or element of a variable that may be None for want of its default."""
    if not isinstance(node.value, cst.Name) or not frame.traced:
        return
    name = node.value.value
    value = frame.unfilled.get(name)
    if value is None or frame.env.names.get(name) is not value or "try" in frame.blocks:
        return
    _fail(machine, frame, node, value, name)


def _fail(machine: Machine, frame: Frame, node: cst.CSTNode, value: Value, name: str) -> None:
    """Dynamo reports an exception at the `finally` that it passes on its way out; and where it arises, once the caller
    has been split round the call and the function is compiled alone."""
    chain = [frame]
    while not chain[-1].finals and not chain[-1].starts and chain[-1].caller is not None:
        chain.append(chain[-1].caller)
    last = _last_resort(chain[-1]) if len(chain) > 1 else None
    if last is not None:
        before = [each.fallen for each in chain]
        machine.emit(chain[-1], "raise", Raise(last, "builtins.TypeError", value, False, name))
        for each, fallen in zip(chain, before, strict=True):
            each.fallen = fallen
    machine.emit(frame, "raise", Raise(node, "builtins.TypeError", value, False, name))


def _last_resort(frame: Frame) -> cst.CSTNode | None:
    """The first statement of the innermost `finally` around the current statement."""
    first = frame.finals[-1].body[0] if frame.finals else None
    return first.body[0] if isinstance(first, cst.SimpleStatementLine) else None
