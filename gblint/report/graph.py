"""The call graph for people (an indented tree, a picture, a page, or the text of one for Graphviz or Mermaid) and for
programs (JSON)."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator

import msgspec

from gblint.callgraph import ROOT_KINDS, CallGraph, Calls
from gblint.checking import Outcome
from gblint.report import flame, html, json
from gblint.report.frames import EAGER, FAILS, SPLIT, WHOLE, Fate, Views, fates
from gblint.report.style import Style, plural, printable, readable, short, shown

_DEEPEST = 60


class View(msgspec.Struct):
    """What is drawn: calls, the graph of them, roots to start from, the findings, and how many each function has."""

    calls: Calls
    graph: CallGraph
    roots: list[str]
    outcome: Outcome
    breaks: Counter[str]


def view(calls: Calls, outcome: Outcome, wanted: Callable[[str], bool]) -> View:
    """The roots that lead to a function of a wanted file, surest kinds first.

    A root that is only assumed and that a surer or larger one reaches is drawn there and not once more.
    """
    graph = CallGraph(calls)
    inside = {name for name, (path, _) in calls.places.items() if wanted(path)}
    reach = {name: graph.distances(name) for name in calls.roots}
    kinds = {name: ROOT_KINDS.index(kind) for name, kind in calls.roots.items()}
    roots: list[str] = []
    drawn: set[str] = set()
    for name in sorted(reach, key=lambda name: (kinds[name], -len(reach[name]), name)):
        if not inside.isdisjoint(reach[name]) and not (kinds[name] and name in drawn):
            roots.append(name)
            drawn.update(reach[name])
    breaks = Counter(finding.function for finding in outcome.findings)
    return View(calls, graph, sorted(roots, key=lambda name: (kinds[name], name)), outcome, breaks)


_KIND_TEXTS = {"explicit": "compiled", "assumed": "assumed to be compiled", "guessed": "a guess"}


# ------------------------------------------------------------------------------------------------------------- text


def render(v: View, style: Style) -> str:
    """A tree for each root. A function that was drawn already is not unfolded again."""
    blocks = ["\n".join(_tree(v, root, style)) for root in v.roots]
    return "\n\n".join(blocks) + "\n" if blocks else "No compiled root leads here.\n"


def _tree(v: View, root: str, style: Style) -> Iterator[str]:
    kind = _KIND_TEXTS[v.calls.roots[root]]
    yield f"{style.paint(printable(root), bold=True)}  {_place(v, root)}  {kind}{_marks(v, root, root, style)}"
    yield from _branches(v, root, root, "", {root}, style)


def _branches(v: View, root: str, caller: str, indent: str, drawn: set[str], style: Style) -> Iterator[str]:
    callees = list(v.graph.graph[caller])
    for callee in callees:
        last = callee == callees[-1]
        again = callee in drawn or len(indent) > 3 * _DEEPEST
        folded = " …" if again and v.graph.graph[callee] else ""
        yield f"{indent}{'└─ ' if last else '├─ '}{_name(v, caller, callee)}{_marks(v, root, callee, style)}{folded}"
        if not again:
            drawn.add(callee)
            yield from _branches(v, root, callee, indent + ("   " if last else "│  "), drawn, style)


def _name(v: View, caller: str, callee: str) -> str:
    """The short name; with its place when it is in another file than the caller."""
    here, there = v.calls.places[caller][0], v.calls.places[callee][0]
    name = printable(short(callee))
    return name if here == there else f"{name}  {_place(v, callee)}"


def _marks(v: View, root: str, function: str, style: Style) -> str:
    times = round(v.graph.heat(root, function))
    hot = "" if v.graph.is_hot(root, function) else "  not at every call"
    breaks = v.breaks[function]
    found = f"  {style.paint(plural(breaks, 'graph break'), fg='red')}" if breaks else ""
    return (f"  ×{times:,}" if times > 1 else "") + hot + found


def _place(v: View, function: str) -> str:
    path, row = v.calls.places[function]
    return f"{shown(path)}:{row}"


# ------------------------------------------------------------------------------------------------------ DOT and JSON


def render_dot(v: View, style: Style) -> str:
    """Graphviz: functions with breaks in red, roots with a double border, calls that may not happen dashed."""
    lines = ["digraph calls {", "  rankdir=LR;", '  node [shape=box, fontname="sans-serif"];']
    functions = _functions(v)
    lines += [f'  "{_quoted(name)}" [{_node(v, name)}];' for name in functions]
    for edge in v.calls.edges:
        if edge.caller in functions:
            times = f'label="×{round(edge.times):,}"' if edge.times > 1 else ""
            looks = [times, "style=dashed" if edge.guarded else ""]
            lines.append(f'  "{_quoted(edge.caller)}" -> "{_quoted(edge.callee)}" [{", ".join(filter(None, looks))}];')
    return "\n".join([*lines, "}"]) + "\n"


def _node(v: View, name: str) -> str:
    times, breaks = round(v.graph.hottest(name)), v.breaks[name]
    rows = [_quoted(short(name)), f"×{times:,}" if times > 1 else "", plural(breaks, "graph break") if breaks else ""]
    label = "\\n".join(filter(None, rows))
    looks = [f'label="{label}"', "color=red" if breaks else "", "peripheries=2" if name in v.calls.roots else ""]
    return ", ".join(filter(None, looks))


def _quoted(text: str) -> str:
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')


def render_json(v: View, style: Style) -> str:
    """{"roots": [{name, kind}], "functions": [{name, filename, row, heat, breaks}], "calls": [{caller, callee, …}]}."""
    functions = _functions(v)
    return json.dump(
        {
            "roots": [{"name": name, "kind": v.calls.roots[name]} for name in v.roots],
            "functions": [_function(v, name) for name in functions],
            "calls": [msgspec.structs.asdict(e) for e in v.calls.edges if e.caller in functions],
        }
    )


def _function(v: View, name: str) -> dict[str, object]:
    path, row = v.calls.places[name]
    return {
        "name": name,
        "filename": readable(os.path.abspath(path)),
        "row": row,
        "heat": v.graph.hottest(name),
        "hot": any(v.graph.is_hot(root, name) for root in v.roots),
        "breaks": v.breaks[name],
    }


def _functions(v: View) -> dict[str, None]:
    """Every function drawn, in order."""
    reached = {name for root in v.roots for name in v.graph.distances(root)}
    return dict.fromkeys(sorted(reached))


# ------------------------------------------------------------------------------------------------- pictures and pages


def render_mermaid(v: View, style: Style) -> str:
    """Mermaid: as DOT has it, in the colours of the picture; roots in stadiums."""
    functions = _functions(v)
    ids = {name: f"f{n}" for n, name in enumerate(functions)}
    known = _worst_fates(v)
    lines = ["flowchart LR"]
    for name, node in ids.items():
        opening, closing = ("([", "])") if name in v.calls.roots else ("[", "]")
        fate = known.get(name, Fate())
        lines.append(f'  {node}{opening}"{_label(v, name, fate)}"{closing}:::{fate.kind}')
    for edge in v.calls.edges:
        if edge.caller in ids:
            arrow = "-.->" if edge.guarded else "-->"
            times = f'|"×{round(edge.times):,}"|' if edge.times > 1 else ""
            lines.append(f"  {ids[edge.caller]} {arrow}{times} {ids[edge.callee]}")
    lines += [f"  classDef {kind} {looks}" for kind, looks in _MERMAID_LOOKS.items()]
    return "\n".join(lines) + "\n"


_MERMAID_LOOKS = {
    WHOLE: "fill:#e6f0fa,stroke:#4a80b8,color:#23262b",
    SPLIT: "fill:#fdf1d6,stroke:#b97a00,color:#23262b",
    EAGER: "fill:#fbe3e1,stroke:#c2403a,color:#23262b",
    FAILS: "fill:#fbe3e1,stroke:#c2403a,color:#23262b,stroke-width:3px",
}


def _worst_fates(v: View) -> dict[str, Fate]:
    """The fate of each function from the root from which it is worst."""
    views = Views(v.calls, v.outcome.findings)
    found: dict[str, Fate] = {}
    for root in v.roots:
        for name, fate in fates(views.of(root), v.outcome.findings).items():
            known = found.get(name, fate)
            found[name] = max(known, fate, key=lambda f: (f.kind == FAILS, f.kind == EAGER, f.graphs))
    return found


def _label(v: View, name: str, fate: Fate) -> str:
    times, breaks = round(v.graph.hottest(name)), v.breaks[name]
    fact = {SPLIT: f"≈ {plural(fate.graphs, 'graph')}", EAGER: "runs eagerly", FAILS: "raises an error"}.get(
        fate.kind, ""
    )
    rows = [short(name), f"×{times:,}" if times > 1 else "", fact, plural(breaks, "graph break") if breaks else ""]
    return "<br/>".join(_entities(printable(row)) for row in rows if row)


def _entities(text: str) -> str:
    """Text in which nothing is markup of Mermaid's or HTML's: its entities have a number sign and no ampersand."""
    return re.sub(r"[^\w\s.,:×≈()\[\]+*/=-]", lambda sign: f"#{ord(sign[0])};", text)


def render_svg(v: View, style: Style) -> str:
    """A picture of each root, below each other."""
    views = Views(v.calls, v.outcome.findings)
    roots: list[tuple[str, flame.Box]] = []
    for name in v.roots:
        graph = views.of(name)
        drawn = flame.tree(v.calls.places, graph, fates(graph, v.outcome.findings), name, fold=False)
        roots.append((f"{name}  {_place(v, name)}  {_KIND_TEXTS[v.calls.roots[name]]}", drawn.root))
    return flame.as_text(flame.sheet(roots, "No compiled root leads here.")) + "\n"


def render_html(v: View, style: Style) -> str:
    """A page with the pictures of all roots, and the findings as `check` shows them."""
    return html.page(html.Subject(v.outcome, roots=tuple(v.roots), title="Call graph"), style)


FORMATS: dict[str, Callable[[View, Style], str]] = {
    "text": render,
    "dot": render_dot,
    "mermaid": render_mermaid,
    "svg": render_svg,
    "html": render_html,
    "json": render_json,
}
