"""Which repairs are behind the breaks that a check finds after them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gblint.callgraph import CallGraph, unpack
from gblint.checking import Outcome
from gblint.findings.choice import beyond
from gblint.findings.finding import Edit, Finding
from gblint.fixing.edits import moved_row
from gblint.fixing.plan import Key, Step
from gblint.reach import key_of

Identity = tuple[str, str, str, str]


class Blame:
    """The repairs that are left out of one pass, each for a break that came up with it.

    Of a break's suspects the likelier go first. Where it stays without them in as many roots, they come back and the
    next go; where none are left to suspect, all of them stay out. strict: nothing comes back.
    """

    def __init__(self) -> None:
        self.strict = False
        self._tried: dict[Identity, list[Tried]] = {}
        self._all: set[Identity] = set()

    @property
    def out(self) -> dict[Key, tuple[Step, str]]:
        """What is left out now, with the reason, a sentence."""
        found: dict[Key, tuple[Step, str]] = {}
        for identity, tried in self._tried.items():
            everything = self.strict or identity in self._all
            for one in tried:
                if everything or not one.cleared:
                    found = one.suspects | found
        return found

    def lay(self, before: Outcome, after: Outcome, chosen: list[Step], edits: dict[str, list[Edit]]) -> bool:
        """Lay the breaks that are new after some repairs, or still there, to repairs; False if none has to do with any.

        edits: those that were made, by file.
        """
        fresh = {_identity(f): f for f in _fresh(before, after, chosen, edits)}
        ways = Ways(after)
        laid = [self._lay(name, finding, chosen, edits, ways) for name, finding in fresh.items()]
        return any(laid)

    def _lay(
        self, identity: Identity, finding: Finding, chosen: list[Step], edits: dict[str, list[Edit]], ways: Ways
    ) -> bool:
        tried = self._tried.setdefault(identity, [])
        roots = ways.roots(finding)
        if tried and roots >= tried[-1].roots:  # in fewer roots they were behind it in some
            tried[-1].cleared = True
        known = {key for one in tried for key in one.suspects}
        found = culprits(finding, [s for s in chosen if s.key not in known], edits, ways)
        if found:
            # what another repair of the same finding has replaced was no better
            replaced = {step.key[1:] for step in found}
            kept = {k: v for one in tried[-1:] for k, v in one.suspects.items() if k[1:] in replaced}
            tried.append(Tried(roots, kept | {step.key: (step, _sentence(step, finding)) for step in found}))
        elif identity not in self._all and tried:
            self._all.add(identity)
        else:
            return False
        return True


@dataclass
class Tried:
    """Suspects that were left out together. roots: how many the break broke before; cleared: without them it broke as
    many."""

    roots: int
    suspects: dict[Key, tuple[Step, str]]
    cleared: bool = False


class Ways:
    """Who calls whom on the ways from the roots that a break breaks. A helper that calls what it is given, such as a
    decorator's wrapper, calls another function on each way: the calls of different units are kept apart."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self._graphs: dict[int, CallGraph] = {}

    def roots(self, finding: Finding) -> int:
        """How many roots the break breaks."""
        return len(self._outcome.broken.get(key_of(finding), ()))

    def of(self, finding: Finding) -> list[CallGraph]:
        """The calls of the units in which the break is found; of all where that is not known."""
        units = {unit for unit, _ in self._outcome.broken.get(key_of(finding), ())}
        return [self._graph(unit) for unit in sorted(units) or range(len(self._outcome.calls))]

    def _graph(self, unit: int) -> CallGraph:
        if unit not in self._graphs:
            self._graphs[unit] = CallGraph(unpack(self._outcome.calls[unit]))
        return self._graphs[unit]


def _fresh(before: Outcome, after: Outcome, chosen: list[Step], edits: dict[str, list[Edit]]) -> list[Finding]:
    """The breaks that some repairs have brought up, or have not removed."""
    fixed = {id(step.finding) for step in chosen}
    left = [f for f in (*before.findings, *before.doubtful) if id(f) not in fixed]
    places = Counter((f.filename, moved_row(f.row, edits.get(f.filename, ())), f.code) for f in left)
    fresh = beyond(after.findings, places, lambda f: (f.filename, f.row, f.code))
    if fresh:  # in a statement that was laid out anew, rows are no guide
        seen = {id(f) for f in fresh}
        kept = Counter(_identity(f) for f in after.findings if id(f) not in seen)
        fresh = beyond(fresh, Counter(_identity(f) for f in left) - kept, _identity)
    return fresh


def _identity(finding: Finding) -> Identity:
    return (finding.filename, finding.function, finding.code, finding.message)


def _sentence(step: Step, finding: Finding) -> str:
    where = f"{Path(finding.filename).name}:{finding.row}"
    if finding.code == step.finding.code and finding.name == step.finding.name:
        return f"the break would still be there ({where}: {finding.message})"
    return f"it would bring up {finding.code} {finding.name} ({where}: {finding.message})"


def culprits(finding: Finding, chosen: list[Step], edits: dict[str, list[Edit]], ways: Ways) -> list[Step]:
    """The steps that can be behind a finding: those that wrote its rows, else those of its function, of a function on
    the way to it, of one that it calls, else those of what is called on the way and may have handed something on. None
    if no step has to do with it."""
    way = {finding.function, *(step.function for step in finding.path)}
    near: tuple[Callable[[Step], bool], ...] = (
        lambda s: any(_covers(e, finding, edits) for e in s.fix.edits),
        lambda s: s.finding.function == finding.function,
        lambda s: s.finding.function in way,
    )
    for test in near:
        found = [step for step in chosen if test(step)]
        if found:
            return found
    graphs = ways.of(finding)
    callers = [g.leading_to(finding.function) for g in graphs]
    below = [g.reached([finding.function]) for g in graphs]
    beside = [g.reached([*way, *above]) for g, above in zip(graphs, callers, strict=True)]
    for far in (callers, below, beside):
        found = _common(chosen, far)
        if found:
            return found
    return []


def _common(chosen: list[Step], functions: list[set[str]]) -> list[Step]:
    """The steps in functions of several units: one that all of them run explains more than those of single ones."""
    counts = {step.key: sum(step.finding.function in names for names in functions) for step in chosen}
    shared = [step for step in chosen if counts[step.key] == len(functions)]
    return shared or [step for step in chosen if counts[step.key]]


def _covers(edit: Edit, finding: Finding, edits: dict[str, list[Edit]]) -> bool:
    if edit.filename != finding.filename:
        return False
    first = moved_row(edit.row, [e for e in edits[edit.filename] if (e.row, e.column) < (edit.row, edit.column)])
    return first <= finding.row <= first + edit.content.count("\n")
