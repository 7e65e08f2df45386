"""What a function would do if Dynamo traced it that was told to leave it out.

`torch.compiler.disable` outlives its reason: a release later Dynamo may trace what it could not trace then. So the body
is run once more as if nobody had said anything, called as it was called. Nothing of that run counts for the findings:
it has a book of its own. What it says is worth something only where everything in it is known, so a value or a callee
that is not resolved makes it doubtful, and so does whatever outlives the call: code that changes a counter, a list or a
global is compiled anew when it finds another value there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from gblint.interpreter import functions
from gblint.interpreter.dispatch import RuleTable
from gblint.interpreter.drafts import Draft, Drafts, RootLabel
from gblint.interpreter.effects import EFFECT
from gblint.interpreter.events import Break, Call, SetAttr
from gblint.interpreter.frame import Frame
from gblint.interpreter.values import Environment, Function, Instance, Tensor, Unknown, Value, members
from gblint.rule_api import Context, Rule

if TYPE_CHECKING:
    import libcst as cst

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


def _worst(trials: Iterator[Trial]) -> Trial:
    found = list(trials)
    broken = next((t for t in found if t.breaks is not None), None)
    doubtful = next((t for t in found if t.doubt), None)
    return broken or doubtful or found[0]


def _try(machine: Machine, call: Left) -> Trial:
    from gblint.interpreter.machine import OutOfBudget

    watcher = _Watcher()
    function = functions.with_mark(call.function, "")
    tree = functions.tree_of(machine, function)
    if tree is None or tree.is_generator or tree.is_async:
        return Trial(None, "it is no plain function")
    with _aside(machine, call.root, watcher):
        frame = Frame(function.module, tree.chunk, Environment({}, function.closure), traced=True)
        frame.pure = 1  # so that what the body changes outside of it is told
        try:
            result = machine.call(frame, function, list(call.args), dict(call.kwargs), call.node)
        except (OutOfBudget, RecursionError):
            return Trial(None, "it is too long")
        return _judged(machine, watcher, result)


def _judged(machine: Machine, watcher: _Watcher, result: Value) -> Trial:
    drafts = [d for d in machine.drafts.by_place.values() if d.node not in watcher.effects]
    certain = [d for d in drafts if d.certainty >= CERTAIN and not d.guards and not d.answer.recompiles]
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
        "root": root, "steps": 0, "budget": BUDGET,
        "table": RuleTable([*machine.table.rules, watcher], machine.knowledge),
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
