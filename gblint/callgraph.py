"""The call graph: which function calls which from a compiled root on, how often, and whether at every call.

It is built from the calls that the interpreter has resolved, which is more exact than going by names: a method of an
attribute, a module of a container, an argument that is called all lead where Dynamo would follow. It knows nothing of
torch and nothing of findings.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    import networkx as nx

TRIPS = 4.0  # how often a loop is assumed to run: what is hot has to stand out, not to be exact
HOTTEST = 10_000.0  # nested loops and recursion multiply without end
ROOT_KINDS = ("explicit", "assumed", "guessed")  # surest first


class Site(NamedTuple):
    """One call in the source. loops, guards: how many loops and unresolved conditions of the caller are round it."""

    caller: str
    callee: str
    loops: int
    guards: int


class Edge(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """All calls from one function to another.

    times: calls in one run of the caller. loops: the deepest nesting of loops round one of them. guarded: all of them
    stand behind conditions that could not be decided.
    """

    caller: str
    callee: str
    times: float
    loops: int
    guarded: bool


class Calls(msgspec.Struct, gc=False):
    """The calls reached from some roots, as plain data.

    roots: their kinds ("explicit", "assumed", "guessed") by name. places: (path, first row) of functions by name.
    """

    roots: dict[str, str] = {}
    edges: list[Edge] = []
    places: dict[str, tuple[str, int]] = {}

    def pack(self) -> bytes:
        """The data as bytes, for a cache; see `unpack`. Names and paths repeat so much that compressing them pays."""
        return zlib.compress(msgspec.msgpack.encode(self), 1)


def unpack(data: bytes) -> Calls:
    """What `Calls.pack` packed."""
    return msgspec.msgpack.decode(zlib.decompress(data), type=Calls)


def calls_of(roots: Mapping[str, str], sites: Iterable[Site], places: Mapping[str, tuple[str, int]]) -> Calls:
    """Calls from single sites.

    Sites behind conditions are taken for alternatives: of several, the one that runs most often counts.
    """
    grouped: dict[tuple[str, str], list[Site]] = defaultdict(list)
    for site in sites:
        grouped[site.caller, site.callee].append(site)
    edges = []
    for (caller, callee), group in sorted(grouped.items()):
        always = sum(TRIPS**s.loops for s in group if not s.guards)
        sometimes = max((TRIPS**s.loops for s in group if s.guards), default=0.0)
        times = min(always + sometimes, HOTTEST)
        edges.append(Edge(caller, callee, times, max(s.loops for s in group), not always))
    return Calls(dict(sorted(roots.items())), edges, dict(sorted(places.items())))


def merged(parts: Iterable[Calls]) -> Calls:
    """The calls of several units as one. A function reached from two units has been seen calling the same in both."""
    roots: dict[str, str] = {}
    edges: dict[tuple[str, str], Edge] = {}
    places: dict[str, tuple[str, int]] = {}
    for part in parts:
        places.update(part.places)
        for name, kind in part.roots.items():
            roots[name] = min(kind, roots.get(name, kind), key=ROOT_KINDS.index)
        for edge in part.edges:
            old = edges.get((edge.caller, edge.callee))
            edges[edge.caller, edge.callee] = _joined(old, edge) if old is not None else edge
    return Calls(dict(sorted(roots.items())), [edges[key] for key in sorted(edges)], dict(sorted(places.items())))


def _joined(a: Edge, b: Edge) -> Edge:
    return Edge(a.caller, a.callee, max(a.times, b.times), max(a.loops, b.loops), a.guarded and b.guarded)


class CallGraph:
    """Answers about functions, by name, as seen from a root. Unknown names are simply not reached.

    graph: a `networkx.DiGraph` of the names; its edges carry `times`, `loops` and `guarded`.
    """

    def __init__(self, calls: Calls) -> None:
        import networkx as nx  # a tenth of a second, and not needed where nothing was found

        self.roots = calls.roots
        self.graph: nx.DiGraph = nx.DiGraph()
        self.graph.add_nodes_from(calls.roots)
        for e in calls.edges:
            self.graph.add_edge(e.caller, e.callee, times=e.times, loops=e.loops, guarded=e.guarded)
        self._heats: dict[str, dict[str, float]] = {}
        self._hot: dict[str, set[str]] = {}

    def heat(self, root: str, function: str) -> float:
        """How often a function runs in one call of a root: the product of the assumed trips of the loops on the way,
        summed over the calls that lead there. 0 if it is not reached. Recursion counts once."""
        if root not in self._heats:
            self._heats[root] = self._spread(root) if root in self.graph else {}
        return self._heats[root].get(function, 0.0)

    def is_hot(self, root: str, function: str) -> bool:
        """Whether a function runs at every call of a root: there is a way to it without unresolved conditions."""
        if root not in self._hot:
            self._hot[root] = self._always(root) if root in self.graph else set()
        return function in self._hot[root]

    def distances(self, root: str) -> dict[str, int]:
        """Every function that a root reaches, with the least number of calls on the way."""
        import networkx as nx

        if root not in self.graph:
            return {}
        return dict(nx.single_source_shortest_path_length(self.graph, root))

    def reached(self, functions: Iterable[str]) -> set[str]:
        """What functions call, directly or through others."""
        import networkx as nx

        return {callee for name in functions if name in self.graph for callee in nx.descendants(self.graph, name)}

    def leading_to(self, function: str) -> set[str]:
        """What calls a function, directly or through others."""
        import networkx as nx

        return set(nx.ancestors(self.graph, function)) if function in self.graph else set()

    def hottest(self, function: str) -> float:
        """The greatest heat that a function has from any root."""
        return max((self.heat(root, function) for root in self.roots), default=0.0)

    @cached_property
    def _order(self) -> dict[str, int]:
        """Functions by position in the order of calls; those that call each other in a circle share one."""
        import networkx as nx

        circles = nx.condensation(self.graph)
        positions = {circle: n for n, circle in enumerate(nx.lexicographical_topological_sort(circles))}
        return {name: positions[circle] for name, circle in circles.graph["mapping"].items()}

    def _spread(self, root: str) -> dict[str, float]:
        """Heat of everything a root reaches. Inside a circle only calls that lead further from the root pass it on."""
        distance, order = self.distances(root), self._order
        heat = {root: 1.0}
        for caller in sorted(distance, key=lambda name: (order[name], distance[name])):
            for callee, edge in self.graph[caller].items():
                if (order[caller], distance[caller]) < (order[callee], distance[callee]):
                    heat[callee] = min(heat.get(callee, 0.0) + heat[caller] * edge["times"], HOTTEST)
        return heat

    def _always(self, root: str) -> set[str]:
        import networkx as nx

        unguarded = nx.subgraph_view(self.graph, filter_edge=lambda a, b: not self.graph[a][b]["guarded"])
        return {root, *nx.descendants(unguarded, root)}
