"""What becomes of the functions below a compiled root: traced into a graph whole, split into several, or run eagerly.

Dynamo inlines what a frame calls. Where it meets a break in a callee, it splits the caller round the call, and compiles
the callee as a frame of its own; where the call stands in a loop, the caller cannot be split and runs eagerly. So a
break is felt by every caller up to the root, and a frame becomes one graph more than there are places to split it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

import msgspec

from gblint.callgraph import CallGraph, Calls, Edge
from gblint.findings.finding import Finding

WHOLE, SPLIT, EAGER, FAILS = "whole", "split", "eager", "fails"
_MANY = 16  # called functions


class Fate(msgspec.Struct, frozen=True):
    """What is to be expected of a function.

    kind: WHOLE (part of its caller's graph, or one graph), SPLIT, EAGER, or FAILS (compiling ends in an error). graphs:
    how many graphs are made of its frame; 0 if it runs eagerly or not at all. breaks: findings in it, masked ones left
    out.
    """

    kind: str = WHOLE
    graphs: int = 1
    breaks: int = 0


class Views:
    """The calls as seen from single roots.

    A function that calls very many others, as the wrapper of a decorator does that stands on every model, calls each of
    them for one root or another, not all for each: from it only the ways of a root's own findings lead on.
    """

    def __init__(self, calls: Calls, findings: Iterable[Finding]) -> None:
        self._kinds = calls.roots
        self._edges: dict[str, list[Edge]] = defaultdict(list)
        self._ways: dict[str, dict[str, dict[str, Edge]]] = defaultdict(lambda: defaultdict(dict))
        for edge in calls.edges:
            self._edges[edge.caller].append(edge)
        for finding in findings:
            for caller, callee in _pairs(finding):
                self._ways[finding.root][caller][callee] = Edge(caller, callee, 1.0, 0, False)

    def of(self, root: str) -> CallGraph:
        """What a root calls, as a graph of its own."""
        ways = self._ways.get(root, {})
        found: list[Edge] = []
        reached, waiting = {root}, [root]
        while waiting:
            edges = self._from(waiting.pop(), ways)
            found += edges
            new = {edge.callee for edge in edges} - reached
            reached |= new
            waiting += new
        order = sorted(found, key=lambda edge: (edge.caller, edge.callee))
        return CallGraph(Calls({root: self._kinds.get(root, "guessed")}, order))

    def _from(self, name: str, ways: Mapping[str, Mapping[str, Edge]]) -> list[Edge]:
        edges, own = self._edges.get(name, []), ways.get(name, {})
        if len(edges) > _MANY:
            edges = [edge for edge in edges if edge.callee in own]
        known = {edge.callee for edge in edges}
        return [*edges, *(edge for callee, edge in own.items() if callee not in known)]


def _pairs(finding: Finding) -> Iterator[tuple[str, str]]:
    """The calls on the way to a finding."""
    way = [step.function for step in finding.path]
    if way and way[-1] != finding.function:
        way.append(finding.function)
    yield from pairwise(way)


def fates(graph: CallGraph, findings: Iterable[Finding]) -> dict[str, Fate]:
    """The fate of each function in which something breaks, or in something that it calls; all others are whole."""
    own: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.consequence != "masked" and finding.function in graph.graph:
            own[finding.function].append(finding)
    feeling = _callers_of(graph, own)
    failing = {name for found in own.values() for f in found if f.consequence == "raises" for name in _way(f)}
    return {
        name: Fate(FAILS, 0, len(own.get(name, [])))
        if name in failing
        else _fate(graph, name, own.get(name, []), feeling)
        for name in feeling
    }


def _way(finding: Finding) -> list[str]:
    """The functions from the root to the finding."""
    return [finding.root, *(step.function for step in finding.path), finding.function]


def _callers_of(graph: CallGraph, names: Iterable[str]) -> set[str]:
    """Functions and all that lead to them."""
    found = set(names)
    waiting = list(found)
    while waiting:
        callers = set(graph.graph.predecessors(waiting.pop())) - found
        found |= callers
        waiting += callers
    return found


def _fate(graph: CallGraph, name: str, own: list[Finding], feeling: set[str]) -> Fate:
    calls = [edge for callee, edge in graph.graph[name].items() if callee in feeling and callee != name]
    if any(edge["loops"] for edge in calls) or any(_loses_its_frame(graph, finding) for finding in own):
        return Fate(EAGER, 0, len(own))
    places = len({finding.row for finding in own}) + sum(_sites(edge) for edge in calls)
    return Fate(SPLIT, places + 1, len(own))


def _sites(edge: Mapping[str, float]) -> int:
    """How many calls in the source an edge without loops stands for."""
    return max(1, round(edge["times"]))


def _loses_its_frame(graph: CallGraph, finding: Finding) -> bool:
    """Whether it is the function of a finding that falls back: not only a caller, which calls it in a loop."""
    if finding.consequence != "frame-falls-back":
        return False
    edges = graph.graph.edges
    in_loop = any(pair in edges and edges[pair]["loops"] for pair in _pairs(finding))
    return not in_loop or finding.heat > 1.5 * graph.heat(finding.root, finding.function)
