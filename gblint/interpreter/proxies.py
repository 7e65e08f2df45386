"""Dicts that were there before the compiled region, and read-only views of dicts.

Dynamo notes when traced code changes a dict that it did not make. From then on it refuses to look through a view of a
dict (`mappingproxy`) from outside, since it cannot tell whether that is a view of the changed one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gblint.interpreter.events import Call
from gblint.interpreter.values import Instance, Mapping, Value

if TYPE_CHECKING:
    import libcst as cst

    from gblint.interpreter.frame import Frame
    from gblint.interpreter.machine import Machine


def note_change(frame: Frame, value: Value) -> None:
    """Traced code changes a dict."""
    if not isinstance(value, Mapping) or not value.outside or not frame.traced:
        return
    if value.outside == "yes":
        _inlined(frame)[-1].changed_dict = "yes"
    else:
        frame.changed_dict = frame.changed_dict or "alone"


def note_read(machine: Machine, frame: Frame, owner: Value | None, node: cst.CSTNode) -> None:
    """Tell the rules of a read through a view that an object from outside holds, once a dict from outside has been
    changed.

    A function that changes its own `**kwargs` is compiled alone, and they come from outside, if anything in it breaks.
    """
    if not frame.traced or (isinstance(owner, Instance) and owner.born == "region"):
        return
    found = {each.changed_dict for each in _inlined(frame)}
    if found != {""}:
        mark = "mark:view_after_change" if "yes" in found else "mark:view_after_own_change"
        machine.emit_call(frame, Call(node, mark, [], {}, owner))


def _inlined(frame: Frame) -> list[Frame]:
    """The frames that are compiled together, up to the one that starts: they share one account of changes."""
    found = [frame]
    while not frame.starts and frame.caller is not None:
        frame = frame.caller
        found.append(frame)
    return found
