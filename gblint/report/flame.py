"""The call tree of a compiled root as a picture: a flame lying on its side, each box a function, coloured by its fate.

Callers are left, what they call is right; a box is as high as all that it calls. The bar at its left edge is cut into
the graphs that its frame becomes, and hollow where there is none. Colour is never the only sign: each box says its fate
in words.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from xml.etree import ElementTree as Xml

import msgspec

from gblint.callgraph import CallGraph
from gblint.report.frames import EAGER, FAILS, SPLIT, WHOLE, Fate
from gblint.report.style import plural, printable, short, shown

_NO_XML = re.compile("[^\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
REST = "rest"  # a box that stands for several functions in which nothing breaks

_ROW, _GAP = 44, 6  # pixels
_CHARACTER, _PADDING = 7.3, 24
_NARROWEST, _WIDEST = 130, 280
_MOST, _MOST_FOLDED = 160, 80  # boxes of a root
_MOST_PIECES = 12  # of a strip; more would be too thin to count
# For readers of SVG that know no style sheets; the sheet has the colours for dark surroundings too.
_FILLS = {WHOLE: "#dce9f7", SPLIT: "#fbe6bd", EAGER: "#f8d3d0", FAILS: "#f8d3d0", REST: "#f1f1ef"}
_STRONG = {WHOLE: "#4a80b8", SPLIT: "#b97a00", EAGER: "#c2403a", FAILS: "#c2403a", REST: "#b5b4ae"}
_INK, _PALE = "#23262b", "#5d636d"


Places = Mapping[str, tuple[str, int]]  # (path, first row) of functions by name


class Box(msgspec.Struct):
    """A function as it is called from the box before it, or (REST) several of them.

    rows: the height. note: its fate in words. always: it runs at every call of the root. cut: what it calls is left
    out. column, top: its place, filled in by `_placed`.
    """

    name: str
    label: str
    kind: str
    note: str
    graphs: int
    tip: str
    always: bool = True
    cut: bool = False
    inside: list[Box] = []
    column: int = 0
    top: int = 0

    @property
    def rows(self) -> int:
        return max(1, sum(box.rows for box in self.inside))


class Tree(msgspec.Struct):
    """The boxes below a root; how many graphs are made of it all, and how many functions run eagerly."""

    root: Box
    graphs: int
    eager: int


def tree(places: Places, graph: CallGraph, fates: Mapping[str, Fate], root: str, *, fold: bool) -> Tree:
    """What a root calls. With `fold`, and in any case where there is too much of it, functions below which nothing
    breaks are one box. A function is unfolded once."""
    maker = _Maker(places, graph, fates, root)
    top = maker.grown(fold, _MOST_FOLDED if fold else _MOST)
    if not fold and any(box.cut for box in _placed(top, 0, 0)):
        top = maker.grown(True, _MOST_FOLDED)
    reached = graph.distances(root)
    eager = [name for name, fate in fates.items() if fate.kind == EAGER and name in reached]
    alone = {callee for name in eager for callee in graph.graph[name] if callee not in fates}
    graphs = sum(fates[name].graphs for name in reached if name in fates) if root in fates else 1
    return Tree(top, graphs + len(alone), len(eager))


class _Maker:
    def __init__(self, places: Places, graph: CallGraph, fates: Mapping[str, Fate], root: str) -> None:
        self._places = places
        self._graph = graph
        self._fates = fates
        self._root = root

    def grown(self, fold: bool, most: int) -> Box:
        """The boxes of the root, those near it first, until there are about so many."""
        top = self._box(self._root, self._root)
        drawn = {self._root}
        waiting = deque([top])
        count = 1
        while waiting:
            box = waiting.popleft()
            callees = list(self._graph.graph[box.name])
            single = [name for name in callees if name in self._fates] if fold else callees
            if count + len(single) > most:
                box.note, box.cut = f"{box.note} · more below", True
                continue
            for name in single:
                inner = self._box(name, box.name)
                box.inside.append(inner)
                if name not in drawn:
                    drawn.add(name)
                    waiting.append(inner)
                elif self._graph.graph[name]:
                    inner.note += " · drawn before"
            if rest := [name for name in callees if name not in single]:
                box.inside.append(self._rest(rest))
            count += len(box.inside)
        return top

    def _box(self, name: str, caller: str) -> Box:
        fate = self._fates.get(name, Fate())
        label, note, tip = printable(short(name)), self._note(name, caller, fate), self._tip(name, fate)
        always = self._graph.is_hot(self._root, name)
        return Box(name, label, fate.kind, note, fate.graphs, tip, always, inside=[])

    def _rest(self, names: list[str]) -> Box:
        what = printable(short(names[0])) if len(names) == 1 else plural(len(names), "function")
        tip = "\n".join(printable(name) for name in names[:20]) + ("\n…" if len(names) > 20 else "")
        return Box("", what, REST, "no break below", 0, tip, inside=[])

    def _note(self, name: str, caller: str, fate: Fate) -> str:
        times = round(self._graph.heat(self._root, name))
        alone = name == self._root or self._fates.get(caller, Fate()).kind == EAGER
        kind = {
            WHOLE: "1 graph" if alone else "in its caller's graph",
            SPLIT: f"≈ {plural(fate.graphs, 'graph')}",
            EAGER: "runs eagerly",
            FAILS: "raises an error",
        }[fate.kind]
        return f"{kind} · ×{times:,}" if times > 1 else kind

    def _tip(self, name: str, fate: Fate) -> str:
        path, row = self._places.get(name, ("", 0))
        place = f"{shown(path)}:{row}" if path else ""
        breaks = plural(fate.breaks, "graph break") + " in it" if fate.breaks else ""
        always = "" if self._graph.is_hot(self._root, name) else "not at every call"
        return "\n".join(filter(None, (printable(name), place, breaks, always)))


# ---------------------------------------------------------------------------------------------------------- drawing


class _Drawing:
    """Lays out boxes: a column for each depth, as wide as its longest text wants."""

    def __init__(self, links: Mapping[str, str]) -> None:
        self._links = links
        self._widths: dict[int, float] = {}

    def draw(self, root: Box) -> tuple[Xml.Element, float, float]:
        """A group of boxes, its width and its height."""
        boxes = list(_placed(root, 0, 0))
        for box in boxes:
            text = max(len(box.label) * _CHARACTER, len(box.note) * (_CHARACTER - 1.2)) + _PADDING
            self._widths[box.column] = max(self._widths.get(box.column, _NARROWEST), min(text, _WIDEST))
        group = Xml.Element("g")
        group.extend(self._box(box) for box in boxes)
        return group, sum(self._widths.values()) + _GAP * (len(self._widths) - 1), root.rows * _ROW - _GAP

    def _box(self, box: Box) -> Xml.Element:
        x = sum(self._widths[column] + _GAP for column in range(box.column))
        width, height = self._widths[box.column], box.rows * _ROW - _GAP
        link = self._links.get(box.name, "")
        made = Xml.Element("a", href=link) if link else Xml.Element("g")
        made.set("class", f"box {box.kind}" + ("" if box.always else " maybe"))
        made.set("transform", f"translate({x:g} {box.top * _ROW})")
        Xml.SubElement(made, "title").text = box.tip
        frame = Xml.SubElement(made, "rect", {"class": "frame", "rx": "5", "fill": _FILLS[box.kind]})
        frame.attrib |= {"width": f"{width:g}", "height": f"{height:g}", "stroke": _STRONG[box.kind]}
        if not box.always:
            frame.set("stroke-dasharray", "4 3")
        made.extend(_strip(box, width, height))
        room = int((width - _PADDING) / _CHARACTER) + 1
        _text(made, box.label, room, 18, "label", _INK, "12.5")
        _text(made, box.note, int(room * 1.25), 32, "note", _PALE, "10.5")
        return made


def _placed(box: Box, column: int, top: int) -> Iterator[Box]:
    """All boxes, each with its place."""
    box.column, box.top = column, top
    yield box
    for inner in box.inside:
        yield from _placed(inner, column + 1, top)
        top += inner.rows


def _strip(box: Box, width: float, height: float) -> Iterator[Xml.Element]:
    """The graphs that a frame becomes, as the pieces of a bar along its left edge; hollow where there is none."""
    colour = _STRONG[box.kind]
    pieces = min(max(box.graphs, 1), _MOST_PIECES)
    top, room = 5.0, height - 10
    each = (room - 2.0 * (pieces - 1)) / pieces
    for n in range(pieces):
        place = {"x": "5", "y": f"{top + n * (each + 2):.1f}", "width": "4", "height": f"{each:.1f}", "rx": "1.5"}
        looks = {"fill": "none", "stroke": colour} if box.kind in (EAGER, FAILS) else {"fill": colour}
        yield Xml.Element("rect", {"class": "piece"} | place | looks)


def _text(made: Xml.Element, text: str, room: int, y: int, kind: str, colour: str, size: str) -> None:
    cut = text if len(text) <= room else f"{text[: room - 1]}…"
    Xml.SubElement(made, "text", {"class": kind, "x": "15", "y": str(y), "fill": colour, "font-size": size}).text = cut


def svg(root: Box, links: Mapping[str, str], title: str) -> Xml.Element:
    """One root as a picture. links: where the boxes of functions lead to, by name; title: for those who do not see."""
    group, width, height = _Drawing(links).draw(root)
    top = _canvas(width, height)
    top.set("role", "group")
    top.set("aria-label", printable(title))
    group.set("transform", "translate(1 1)")
    top.append(group)
    return top


def _canvas(width: float, height: float) -> Xml.Element:
    size = {"width": f"{width + 2:g}", "height": f"{height + 2:g}", "viewBox": f"0 0 {width + 2:g} {height + 2:g}"}
    return Xml.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "class": "flame"} | size)


LEGEND = (
    (WHOLE, "traced whole: into its caller's graph, or one of its own"),
    (SPLIT, "split: each piece of the bar is a graph"),
    (EAGER, "runs eagerly, no graph is made of it"),
    (FAILS, "compiling raises an error"),
    (REST, "functions below which nothing breaks"),
)


def sheet(roots: list[tuple[str, Box]], empty: str) -> Xml.Element:
    """Several roots below each other under their headings, with what colours mean and a style sheet: a picture that
    stands alone. empty: what to say without any."""
    parts: list[Xml.Element] = []
    widest, y = 640.0, 16.0
    for heading, box in roots:
        parts.append(_heading(heading, y + 14))
        group, width, height = _Drawing({}).draw(box)
        group.set("transform", f"translate(16 {y + 26:g})")
        parts.append(group)
        widest, y = max(widest, width), y + 26 + height + 30
    if not roots:
        parts.append(_heading(empty, y + 14))
        y += 40
    top = _canvas(widest + 32, y + 22)
    top.set("style", "color-scheme: light dark")
    Xml.SubElement(top, "style").text = style()
    Xml.SubElement(top, "rect", {"class": "page", "width": "100%", "height": "100%", "fill": "#ffffff"})
    top.extend(parts)
    x = 16.0
    for kind, text in LEGEND:
        place = {"x": f"{x:g}", "y": f"{y - 9:g}", "width": "11", "height": "11", "rx": "2"}
        swatch = Xml.SubElement(top, "g", {"class": f"box {kind}"})
        Xml.SubElement(swatch, "rect", {"class": "frame", "fill": _FILLS[kind], "stroke": _STRONG[kind]} | place)
        words = {"class": "note", "x": f"{x + 17:g}", "y": f"{y:g}", "fill": _PALE, "font-size": "10.5"}
        Xml.SubElement(top, "text", words).text = text
        x += 40 + len(text) * 5.4
    top.set("width", f"{max(widest + 32, x):g}")
    top.set("viewBox", f"0 0 {max(widest + 32, x):g} {y + 22:g}")
    return top


def _heading(text: str, y: float) -> Xml.Element:
    looks = {"class": "heading", "x": "16", "y": f"{y:g}", "fill": _INK, "font-size": "13", "font-weight": "600"}
    made = Xml.Element("text", looks)
    made.text = printable(text)
    return made


@cache
def style() -> str:
    """The style sheet of the picture."""
    return (files("gblint.report") / "data/flame.css").read_text("utf-8")


def as_text(element: Xml.Element) -> str:
    """A picture as XML; characters that XML or a file cannot hold are replaced."""
    for part in element.iter():
        part.text = part.text and _valid(part.text)
        for key, value in part.attrib.items():
            part.attrib[key] = _valid(value)
    return Xml.tostring(element, "unicode")


def _valid(text: str) -> str:
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)
