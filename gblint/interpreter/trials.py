"""What code would do if Dynamo traced it that is kept from it: disabled functions, and what is guarded by a test of
whether it compiles.

Both outlive their reason: a release later Dynamo may trace what it could not trace then. So the code is run once more
as if nobody had said anything, with the values it was met with. Nothing of that run counts for the findings:
it has a book of its own. What it says is worth something only where everything in it is known, so a value or a callee
that is not resolved makes it doubtful, and so does whatever outlives the call: code that changes a counter, a list or a
global is compiled anew when it finds another value there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from gblint.interpreter import functions
from gblint.interpreter.dispatch import RuleTable
from gblint.interpreter.drafts import Draft, Drafts, RootLabel
from gblint.interpreter.effects import EFFECT
from gblint.interpreter.events import Break, Call, Guard, SetAttr
from gblint.interpreter.frame import Frame
from gblint.interpreter.values import (
    COMPILING,
    NONE,
    Environment,
    Function,
    Instance,
    Tensor,
    Unknown,
    Value,
    join_all,
    members,
)
from gblint.rule_api import Context, Rule

if TYPE_CHECKING:
    from gblint.interpreter.machine import Machine

BUDGET = 4_000  # statements of one trial
MOST = 4  # calls of one function that are tried
CERTAIN = 0.75  # a break less certain than this is a doubt
MARKS = ("disable", "disable_frame")


class Left(NamedTuple):
    """A call of a function that Dynamo was told to leave out, in a root of its own settings."""

    function: Function
    args: list[Value]
    kwargs: dict[str, Value]
    node: cst.CSTNode
    root: RootLabel


class KeptOut(NamedTuple):
    """An arm of an `if` that compiled code leaves out, with the variables as they were."""

    frame: Frame
    names: dict[str, Value]
    body: cst.BaseSuite
    root: RootLabel


class Trial(NamedTuple):
    """What came of it. breaks: the first break that is certain, None for none. doubt: why it is not certain that there
    is none, "" if it is."""

    breaks: Draft | None
    doubt: str

    @property
    def clean(self) -> bool:
        """Whether nothing in the function breaks, for sure."""
        return self.breaks is None and not self.doubt


def trial(machine: Machine, node: cst.CSTNode) -> Trial | None:
    """The trial of the function that a call leaves out, over all calls of it that this unit makes; None if the call
    leaves nothing out."""
    function = machine.marked.get(node)
    if function is None or function.mark not in MARKS:
        return None
    key = functions.identity(function)
    if key not in machine.trials:
        calls = machine.left_out.get(key, [])
        machine.trials[key] = Trial(None, "it was handed on") if not calls else _worst(_try(machine, c) for c in calls)
    return machine.trials[key]


def leave_out(
    machine: Machine, function: Function, args: list[Value], kwargs: dict[str, Value], node: cst.CSTNode
) -> None:
    """Keep a call that Dynamo does not trace, for a trial."""
    calls = machine.left_out.setdefault(functions.identity(function), [])
    if len(calls) < MOST:
        calls.append(Left(function, args, kwargs, node, machine.root))


def keep_out(machine: Machine, frame: Frame, node: cst.If, truth: bool) -> None:
    """Keep the arm that is not taken, for a trial, if the code asks whether it is being compiled."""
    if not frame.traced or frame.fallen is not None:
        return
    test = node.test.expression if isinstance(node.test, cst.UnaryOperation) else node.test
    if COMPILING not in machine.values.get(id(test), ()):
        return
    other = node.orelse if truth else node
    if isinstance(other, cst.If | cst.Else) and (other is node or isinstance(other, cst.Else)):
        kept = machine.kept_out.setdefault(node.test, [])
        if len(kept) < MOST:
            kept.append(KeptOut(frame, dict(frame.env.names), other.body, machine.root))


def tell_guards(machine: Machine) -> None:
    """Tell the rules of the tests that keep code out for nothing. It is to be called when the roots have been run: what
    a trial does to the objects of a program must not be seen by them."""
    for test, kept in machine.kept_out.items():
        if all(_try_arm(machine, arm).clean for arm in kept):
            first = kept[0]
            outer, machine.root = machine.root, first.root
            machine.emit(first.frame, "guard", Guard(test))
            machine.root = outer


def _worst(trials: Iterator[Trial]) -> Trial:
    found = list(trials)
    broken = next((t for t in found if t.breaks is not None), None)
    doubtful = next((t for t in found if t.doubt), None)
    return broken or doubtful or found[0]


def _try(machine: Machine, call: Left) -> Trial:
    function = functions.with_mark(call.function, "")
    tree = functions.tree_of(machine, function)
    if tree is None or tree.is_generator or tree.is_async:
        return Trial(None, "it is no plain function")
    frame = Frame(function.module, tree.chunk, Environment({}, function.closure), traced=True)
    frame.pure = 1  # so that what the body changes outside of it is told
    return _run(
        machine, call.root, lambda: machine.call(frame, function, list(call.args), dict(call.kwargs), call.node)
    )


def _try_arm(machine: Machine, arm: KeptOut) -> Trial:
    from gblint.interpreter.statements import execute

    outer = arm.frame
    frame = Frame(
        outer.module, outer.chunk, Environment(dict(arm.names), outer.env.parent), outer.function, traced=True
    )
    frame.pure, frame.given = 2, set(arm.names)

    def run() -> Value:
        execute(machine, frame, arm.body)
        return join_all(frame.returns) if frame.returns else NONE

    return _run(machine, arm.root, run)


def _run(machine: Machine, root: RootLabel, action: Callable[[], Value]) -> Trial:
    from gblint.interpreter.machine import OutOfBudget

    watcher = _Watcher()
    with _aside(machine, root, watcher):
        try:
            result = action()
        except (OutOfBudget, RecursionError):
            return Trial(None, "it is too long")
        except Exception as error:  # a trial that fails costs its own answer, nothing else
            machine.rule_errors.add(f"trial: {type(error).__name__}: {error}")
            if machine.debug:
                raise
            return Trial(None, "gblint failed on it")
        return _judged(machine, watcher, result)


def _judged(machine: Machine, watcher: _Watcher, result: Value) -> Trial:
    drafts = [d for d in machine.drafts.by_place.values() if d.node not in watcher.effects]
    certain = [d for d in drafts if d.certainty >= CERTAIN and not d.guards and not d.answer.consequence]
    if certain:
        return Trial(min(certain, key=lambda d: (len(d.path), d.chunk.span(d.node))), "")
    if drafts:
        return Trial(None, "something in it may break")
    if watcher.effects:
        return Trial(None, "it changes something that outlives the call")
    if watcher.unmeasured:
        return Trial(None, f"what Dynamo does with `{watcher.unmeasured[0]}` is not known")
    if machine.unresolved:
        return Trial(None, f"`{min(machine.unresolved)}` is not known")
    met = [result, *(value for values in machine.values.values() for value in values)]
    if any(_is_unknown(machine, member) for value in met for member in members(value)):
        return Trial(None, "some values in it are not known")
    return Trial(None, "")


def _is_unknown(machine: Machine, value: Value) -> bool:
    """Whether Dynamo may meet anything at all here: no value, or an object of a class that is not in view."""
    if isinstance(value, Instance) and value.cls is None and not value.base.startswith("torch."):
        return machine.knowledge.context_managers.get(value.base) != "ok"
    return isinstance(value, Unknown)


class _Watcher(Rule):
    """Hears what no rule answers to: effects, and callees nobody has measured."""

    calls = ("*",)

    def __init__(self) -> None:
        self.effects: set[cst.CSTNode] = set()
        self.unmeasured: list[str] = []

    def on_call(self, event: Call, context: Context) -> Break | None:
        if event.callee == EFFECT:
            self.effects.add(event.node)
        elif not event.callee.startswith("mark:") and not self._is_known(event.callee, context):
            self.unmeasured.append(event.callee)
        return None

    def on_setattr(self, event: SetAttr, context: Context) -> Break | None:
        receiver = event.receiver
        if not isinstance(receiver, Tensor) and not (isinstance(receiver, Instance) and receiver.born == "region"):
            self.effects.add(event.node)
        return None

    @staticmethod
    def _is_known(callee: str, context: Context) -> bool:
        owner, _, method = callee.rpartition(".")
        if method == "__call__":
            return context.knowledge.verdict(owner, "call") == "ok"
        if context.knowledge.what(callee) == "class" and callee.startswith("torch."):
            return True  # managers and the like, of which rules hear when they are entered
        return context.knowledge.verdict(callee) == "ok"


@contextmanager
def _aside(machine: Machine, root: RootLabel, watcher: _Watcher) -> Iterator[None]:
    """Run something of which the unit's own results show nothing."""
    fresh = {
        "drafts": Drafts(), "memo": {}, "values": {}, "unresolved": set(), "executed": set(), "active": [],
        "root": root, "steps": 0, "budget": BUDGET, "left_out": {}, "kept_out": {},
        "table": RuleTable([watcher], machine.knowledge, machine.table),
    }  # fmt: skip
    kept = {name: getattr(machine, name) for name in fresh}
    fullgraph, machine.context.fullgraph = machine.context.fullgraph, root.fullgraph
    for name, value in fresh.items():
        setattr(machine, name, value)
    try:
        yield
    finally:
        for name, value in kept.items():
            setattr(machine, name, value)
        machine.context.fullgraph = fullgraph
