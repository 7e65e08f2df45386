"""What becomes of each compiled root in a file, for a line above it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from gblint.callgraph import CallGraph, merged, unpack
from gblint.checking import Outcome
from gblint.findings.finding import Finding
from gblint.report.style import plural


class RootView(msgspec.Struct, frozen=True):
    """A root: the row it starts in, its kind ("explicit", "assumed" or "guessed"), and what is said of it."""

    row: int
    kind: str
    title: str


_KINDS = {"explicit": "compiled", "assumed": "if compiled", "guessed": "if compiled"}


def views(
    path: Path, outcome_of: Callable[[Iterable[Path]], Outcome], beside: Callable[[Iterable[str]], list[str]]
) -> list[RootView]:
    """The roots in a file.

    outcome_of: what a check of some files gives, by the roots in this file alone. beside: those of some files that are
    in the same project.
    """
    calls = merged(map(unpack, outcome_of([path]).calls))
    roots = [name for name in calls.roots if calls.places[name][0] == str(path)]
    if not roots:
        return []
    graph = CallGraph(calls)
    reached = {root: graph.distances(root) for root in roots}
    files = {calls.places[name][0] for names in reached.values() for name in names} - {str(path)}
    findings = outcome_of([path, *map(Path, beside(sorted(files)))]).findings
    kinds, places = calls.roots, calls.places
    return [
        RootView(places[root][1], kinds[root], _title(root, kinds[root], graph, reached[root], findings))
        for root in roots
    ]


def _title(root: str, kind: str, graph: CallGraph, reached: dict[str, int], findings: list[Finding]) -> str:
    breaks = [f for f in findings if f.function in reached]
    said = _KINDS[kind]
    if not breaks:
        return f"{said}: one graph, no break predicted"
    always = [f for f in breaks if f.hot and graph.is_hot(root, f.function) and f.consequence != "masked"]
    times = sum(_times(root, f, graph) for f in always)
    rest = len(breaks) - len(always)
    parts = [plural(len(breaks), "graph break") + (f" ({rest} not at every call)" if rest and always else "")]
    if any(f.function == root and f.consequence == "frame-falls-back" for f in always):
        parts.insert(0, "runs eagerly, no graph of its own")
    elif always:
        parts.insert(0, f"about {plural(1 + round(times), 'graph')} per call")
    else:
        parts.append("none at every call")
    return f"{said}: {', '.join(parts)}"


def _times(root: str, finding: Finding, graph: CallGraph) -> float:
    """How often a break is met in one call of a root."""
    return finding.heat if finding.root == root else graph.heat(root, finding.function)
