"""Which repairs are behind the breaks that a check finds after them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from gblint.checking import Outcome
from gblint.findings.choice import beyond
from gblint.findings.finding import Edit, Finding
from gblint.fixing.edits import moved_row
from gblint.fixing.plan import Key, Step

Identity = tuple[str, str, str, str]


class Blame:
    """The repairs that are left out of one pass, each for a break that came up with it.

    Of a break's suspects the likelier go first. Where it stays without them, they come back and the next go; where none
    are left to suspect, all of them stay out. strict: nothing comes back.
    """

    def __init__(self) -> None:
        self.strict = False
        self._tried: dict[Identity, list[dict[Key, tuple[Step, str]]]] = {}
        self._all: set[Identity] = set()

    @property
    def out(self) -> dict[Key, tuple[Step, str]]:
        """What is left out now, with the reason, a sentence."""
        found: dict[Key, tuple[Step, str]] = {}
        for identity, tried in self._tried.items():
            for suspects in tried if self.strict or identity in self._all else tried[-1:]:
                found = suspects | found
        return found

    def lay(self, before: Outcome, after: Outcome, chosen: list[Step], edits: dict[str, list[Edit]]) -> bool:
        """Lay the breaks that are new after some repairs, or still there, to repairs; False if none has to do with any.

        edits: those that were made, by file.
        """
        fresh = {_identity(f): f for f in _fresh(before, after, chosen, edits)}
        calls = _calls(after) if fresh else {}
        laid = [self._lay(name, finding, chosen, edits, calls) for name, finding in fresh.items()]
        return any(laid)

    def _lay(
        self,
        identity: Identity,
        finding: Finding,
        chosen: list[Step],
        edits: dict[str, list[Edit]],
        calls: Mapping[str, set[str]],
    ) -> bool:
        tried = self._tried.setdefault(identity, [])
        cleared = {key for suspects in tried for key in suspects}
        found = culprits(finding, [s for s in chosen if s.key not in cleared], edits, calls)
        if found:
            # what another repair of the same finding has replaced was no better
            replaced = {step.key[1:] for step in found}
            kept = {k: v for k, v in (tried[-1] if tried else {}).items() if k[1:] in replaced}
            tried.append(kept | {step.key: (step, _sentence(step, finding)) for step in found})
        elif identity not in self._all and tried:
            self._all.add(identity)
        else:
            return False
        return True


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


def culprits(
    finding: Finding, chosen: list[Step], edits: dict[str, list[Edit]], calls: Mapping[str, set[str]]
) -> list[Step]:
    """The steps that can be behind a finding: those that wrote its rows, else those of its function, of a function on
    the way to it, of one that it calls, else those of what is called on the way and may have handed something on. None
    if no step has to do with it."""
    way = {finding.function, *(step.function for step in finding.path)}
    below = _reached({finding.function}, calls)
    beside = _reached(way, calls)
    tests: tuple[Callable[[Step], bool], ...] = (
        lambda s: any(_covers(e, finding, edits) for e in s.fix.edits),
        lambda s: s.finding.function == finding.function,
        lambda s: s.finding.function in way,
        lambda s: s.finding.function in below,
        lambda s: s.finding.function in beside,
    )
    for test in tests:
        found = [step for step in chosen if test(step)]
        if found:
            return found
    return []


def _calls(outcome: Outcome) -> dict[str, set[str]]:
    """Who calls whom."""
    from gblint.callgraph import merged, unpack

    found: dict[str, set[str]] = defaultdict(set)
    for edge in merged(map(unpack, outcome.calls)).edges:
        found[edge.caller].add(edge.callee)
    return found


def _reached(functions: Iterable[str], calls: Mapping[str, set[str]]) -> set[str]:
    """What functions call, directly or through others."""
    found: set[str] = set()
    stack = list(functions)
    while stack:
        for callee in calls.get(stack.pop(), ()):
            if callee not in found:
                found.add(callee)
                stack.append(callee)
    return found


def _covers(edit: Edit, finding: Finding, edits: dict[str, list[Edit]]) -> bool:
    if edit.filename != finding.filename:
        return False
    first = moved_row(edit.row, [e for e in edits[edit.filename] if (e.row, e.column) < (edit.row, edit.column)])
    return first <= finding.row <= first + edit.content.count("\n")
