"""Breaks as they are found: which frames they throw back to eager, and what they mask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gblint.interpreter.events import Break
from gblint.interpreter.frame import Frame
from gblint.interpreter.handing import hand_over
from gblint.interpreter.resuming import cannot_resume, is_getter
from gblint.interpreter.source import Chunk

if TYPE_CHECKING:
    import libcst as cst

    from gblint.interpreter.machine import Machine
    from gblint.interpreter.values import Compiled
    from gblint.rule_api import Rule

SURE = 0.5  # a break less certain than this masks nothing
_COST = (
    "masked",
    "needless",
    "ignored",
    "fails",
    "recompiles",
    "splits-graph",
    "frame-falls-back",
    "raises",
)  # the worst of several ways to a place counts
UNLIKELY = 0.5  # what a condition leaves of a certainty that is false by default and stands on the same line
SAME_STEP = {"construct": "call"}  # events that tell of one instruction in two ways


class RootLabel:
    """The compiled root being run. kind: "explicit", "assumed" (a module nobody compiles by name) or "guessed".
    fullgraph: it is compiled with `fullgraph=True`. compiled: what `torch.compile` gave, None where nobody calls that.
    number: which root of the unit it is."""

    __slots__ = ("compiled", "fullgraph", "kind", "name", "number")

    def __init__(self, name: str, kind: str, fullgraph: bool = False, compiled: Compiled | None = None) -> None:
        self.name = name
        self.kind = kind
        self.fullgraph = fullgraph
        self.compiled = compiled
        self.number = 0


class Draft:
    """One predicted break; the same place found again keeps the surer and hotter of both.

    event: kind of the event it answers. Dynamo may break several times on one expression (a manager is made, then
    entered), but only once for each kind. roots: numbers of the roots that lead here.
    """

    __slots__ = (
        "answer", "certainty", "chunk", "consequence", "event", "function", "guards", "inline", "inner", "loops",
        "masked_by", "node", "path", "root", "roots", "rule",
    )  # fmt: skip

    def __init__(self, rule: Rule, answer: Break, node: cst.CSTNode, frame: Frame, root: RootLabel, event: str) -> None:
        self.rule = rule
        self.answer = answer
        self.node = node
        self.event = SAME_STEP.get(event, event)
        self.chunk = frame.chunk
        self.certainty = answer.certainty * (UNLIKELY if frame.unlikely else 1.0)
        self.guards = frame.guards
        self.inline = frame.inline
        self.loops = frame.loops
        self.inner = frame.loops - (frame.caller.loops if frame.caller is not None else 0)  # of the function alone
        self.path: list[tuple[str, Chunk, cst.CSTNode | None]] = _path(frame)
        self.function = self.path[-1][0] if self.path else frame.module.name
        self.root = root
        self.roots = {root.number}
        self.consequence = "splits-graph"
        self.masked_by: Draft | None = None


def _path(frame: Frame) -> list[tuple[str, Chunk, cst.CSTNode | None]]:
    """Functions from the root to here; each with the call (in its text) that leaves it, None for the last."""
    from gblint.interpreter.functions import full_name

    steps: list[tuple[str, Chunk, cst.CSTNode | None]] = []
    leaving: cst.CSTNode | None = None
    current: Frame | None = frame
    while current is not None and current.function is not None and current.traced:
        if not (current.caller is None and current.fallen is not None and not current.starts):
            steps.append((full_name(current.function), current.chunk, leaving))
        leaving = current.call_node
        current = current.caller
    return steps[::-1]


class Drafts:
    """The breaks of one unit, and logs of what each function call contributed (for memo entries)."""

    def __init__(self) -> None:
        self.by_place: dict[tuple[str, int, int, str], Draft] = {}
        self._logs: list[tuple[Frame, list[tuple[Draft, int, int]]]] = []

    def note(self, machine: Machine, frame: Frame, rule: Rule, answer: Break, node: cst.CSTNode, event: str) -> None:
        """Keep what breaks nothing, if Dynamo compiles the frame; it has no effect on any frame."""
        if frame.fallen is not None:
            return
        draft = Draft(rule, answer, node, frame, machine.root, event)
        draft.consequence = answer.consequence
        self._keep(frame, draft)

    def record(self, machine: Machine, frame: Frame, rule: Rule, answer: Break, node: cst.CSTNode, event: str) -> Draft:
        """Keep a break found in `frame` and let it take effect on the frames around it."""
        draft = Draft(rule, answer, node, frame, machine.root, event)
        consequence, masked_by = self._take_effect(frame, node, draft, answer.certainty, answer.fatal)
        if machine.root.fullgraph and consequence != "masked":
            consequence = "raises"
        draft.consequence, draft.masked_by = consequence, masked_by
        return self._keep(frame, draft)

    def _keep(self, frame: Frame, draft: Draft) -> Draft:
        """Add a draft to the logs that are open; of those of one place there is one."""
        key = (frame.module.path, frame.chunk.first, id(draft.node), draft.rule.meta.code)
        known = self.by_place.get(key)
        if known is None:
            self.by_place[key] = known = draft
        else:
            _merge(known, draft)
        for owner, log in self._logs:
            log.append((known, frame.guards - owner.guards, frame.loops - owner.loops))
        return known

    def _take_effect(
        self, frame: Frame, node: cst.CSTNode | None, draft: Draft, certainty: float, fatal: bool = False
    ) -> tuple[str, Draft | None]:
        if isinstance(frame.fallen, Draft):
            return "masked", frame.fallen
        falls = False
        always = certainty >= SURE  # the frames are split in every run
        guards = frame.guards
        current: Frame | None = frame
        while current is not None and current.traced and current.fallen is None:
            drops = fatal or cannot_resume(current, node) or (current is not frame and is_getter(node))
            if drops and certainty >= SURE and current.guards == guards:  # else the caller falls in some runs only
                current.fallen = draft
            falls = falls or drops
            current.splits += certainty >= SURE and not drops
            always = always and not falls and current.guards == (current.caller.guards if current.caller else 0)
            if always:
                hand_over(current)
            if current.starts:
                if always:
                    current.changed_dict = ""  # what follows is compiled anew
                break
            node = current.call_node
            current = current.caller
            fatal = False  # callers can be split round the call, unless where they stand forbids it
        return ("frame-falls-back" if falls else "splits-graph"), None

    def open_log(self, frame: Frame) -> None:
        """Start to write down what a call from `frame` finds."""
        self._logs.append((frame, []))

    def close_log(self) -> tuple[list[tuple[Draft, int, int]], Draft | None]:
        """Stop; give what was found (guards and loops relative to the caller) and the break the caller feels."""
        _, log = self._logs.pop()
        best: dict[int, tuple[Draft, int, int]] = {}
        for entry in log:
            old = best.get(id(entry[0]))
            if old is None or entry[1] < old[1]:
                best[id(entry[0])] = entry
        breaks = (d for d, guards, _ in best.values() if guards <= 0 and not d.answer.consequence)
        felt = max(breaks, key=lambda d: d.certainty, default=None)
        return list(best.values()), felt

    def forget_logs(self) -> None:
        """Drop logs left open by a root that was cut short."""
        self._logs.clear()

    def replay(
        self, root: RootLabel, frame: Frame, node: cst.CSTNode, log: list[tuple[Draft, int, int]], felt: Draft | None
    ) -> None:
        """A call answered from memory contributes the same breaks again, at this call's heat and guards."""
        for draft, guards, loops in log:
            draft.roots.add(root.number)
            draft.guards = min(draft.guards, frame.guards + guards)
            draft.loops = max(draft.loops, frame.loops + loops)
        for owner, entries in self._logs:
            move_guards, move_loops = frame.guards - owner.guards, frame.loops - owner.loops
            entries.extend((d, g + move_guards, n + move_loops) for d, g, n in log)
        if felt is not None and frame.traced and frame.fallen is None:
            self._take_effect(frame, node, felt, felt.certainty)


def _merge(known: Draft, new: Draft) -> None:
    if new.certainty > known.certainty:
        known.certainty, known.answer = new.certainty, new.answer
    if (new.guards, -new.loops) < (known.guards, -known.loops):
        known.path, known.root = new.path, new.root
    known.roots |= new.roots
    known.guards = min(known.guards, new.guards)
    known.inline = min(known.inline, new.inline)
    known.loops = max(known.loops, new.loops)
    known.inner = max(known.inner, new.inner)
    if _COST.index(new.consequence) > _COST.index(known.consequence):
        known.consequence, known.masked_by = new.consequence, new.masked_by
