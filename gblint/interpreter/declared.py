"""Calls of functions that the project or a plugin says something about (`gblint.knowledge.declared`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from gblint.interpreter.events import Call
from gblint.interpreter.values import NONE, Instance, Origin, Plain, Tensor, Unknown, Value
from gblint.knowledge.declared import Declared

if TYPE_CHECKING:
    from gblint.interpreter.frame import Frame
    from gblint.interpreter.machine import Machine

SAID = 0.98  # the certainty of what a person says: as high as any


def is_closed(declared: Declared) -> bool:
    """Whether a function is not looked into: Dynamo does not trace it."""
    return bool(declared.breaks or declared.logs or declared.disabled)


def tell(
    machine: Machine,
    frame: Frame,
    declared: Declared,
    name: str,
    args: list[Value],
    kwargs: dict[str, Value],
    node: cst.CSTNode,
) -> None:
    """Report a call of a function that is not looked into to the rules."""
    callee = "mark:disable" if declared.disabled else "logging.Logger.log" if declared.logs else "mark:declared"
    machine.emit_call(frame, Call(node, callee, args, kwargs, name=name))


def result(frame: Frame, declared: Declared, node: cst.CSTNode, otherwise: Value | None = None) -> Value:
    """What a call gives by what is said of it; `otherwise` where nothing is said of that."""
    kind = declared.returns
    if not kind:
        return otherwise if otherwise is not None else Unknown("result of a declared function")
    if kind == "none":
        return NONE
    if kind == "logger":
        return Instance(None, "logging.Logger", open=True, born="region" if frame.traced else "outside")
    dtype, _, is_tensor = kind.rpartition(" ")
    if is_tensor == "tensor":
        return Tensor(SAID, dtype, None, "result", origin=Origin("result of", node, frame.chunk))
    return Plain(kind)
