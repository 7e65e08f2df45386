"""Context managers: what kind they are, what `as` binds, and whether Dynamo can resume inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from gblint.interpreter.frame import Frame
from gblint.interpreter.values import (
    NONE,
    External,
    Instance,
    Plain,
    Stream,
    Union,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from gblint.interpreter.machine import Machine


def classify(machine: Machine, frame: Frame, manager: Value, node: cst.BaseExpression) -> tuple[str, bool]:
    """(dotted name of the manager, whether a break inside throws the frame back to eager)."""
    if isinstance(manager, Union):
        known = [m for m in manager.members if isinstance(m, Instance | Stream)]
        return classify(machine, frame, known[0], node) if known else ("", False)
    if isinstance(manager, Stream):
        return "user", True  # a `@contextmanager` function gives the generator of its yields
    if isinstance(manager, Instance):
        if manager.cls is not None:
            return "user", True
        base = machine.knowledge.canonical(manager.base)
        return base, not _resumable(base)
    if isinstance(manager, Plain) and manager.type == "device":
        return "torch.device", True
    return _by_name(machine, frame, node)


def block_of(callee: str, hard: bool) -> str:
    """The kind of block that the body of a manager is. "lost-with": Dynamo resumes and cannot make the manager anew."""
    if callee == "warnings.catch_warnings":
        return "lost-with"
    if callee == "contextlib.suppress":
        return "try"
    return "user-with" if hard else "with"


def _by_name(machine: Machine, frame: Frame, node: cst.BaseExpression) -> tuple[str, bool]:
    """The same for a manager that is not known itself, by the library function that made it."""
    if not isinstance(node, cst.Call):
        return "", False
    from gblint.interpreter.expressions import evaluate_silently

    maker = evaluate_silently(machine, frame, node.func)
    if not isinstance(maker, External) or maker.dotted.startswith(("unknown.", "gblint.")):
        return "", False
    base = machine.knowledge.canonical(maker.dotted)
    return base, not _resumable(base)


def _resumable(base: str) -> bool:
    """Managers Dynamo can leave and enter again around a break: torch's own modes, and the one that does nothing."""
    return base == "contextlib.nullcontext" or (
        base.startswith("torch.") and not base.startswith(("torch.device", "torch.profiler"))
    )


def enter(machine: Machine, frame: Frame, manager: Value, node: cst.CSTNode) -> Value:
    """The value `with manager as x` binds to x."""
    if isinstance(manager, Union):
        known = [m for m in manager.members if isinstance(m, Instance | Stream)]
        return enter(machine, frame, known[0], node) if known else Unknown("context")
    if isinstance(manager, Stream):
        return manager.element()
    if not isinstance(manager, Instance):
        return Unknown("context")
    if manager.base == "contextlib.nullcontext":
        return manager.attrs.get("value", NONE)
    if manager.cls is not None:
        from gblint.interpreter import classes

        method = classes.class_attr(machine, manager.cls, "__enter__")
        if method is not None:
            leave = classes.class_attr(machine, manager.cls, "__exit__")
            value = machine.call(frame, method, [manager], {}, node)
            if leave is not None:
                machine.call(frame, leave, [manager, *[Unknown("exception")] * 3], {}, node)
            return value
        return manager
    return manager if not manager.base.startswith("torch.") else Unknown("context")


def swallows(machine: Machine, node: cst.With) -> bool:
    """True if a manager may swallow an exception, so that the statement after is reached anyway."""
    return any("suppress" in cst.Module([]).code_for_node(item.item) for item in node.items)
