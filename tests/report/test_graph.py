"""The pictures of the call graph: what becomes of each frame, as SVG and as Mermaid."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from gblint.callgraph import CallGraph, Calls, Edge, merged, unpack
from gblint.checking import Options, Outcome, check
from gblint.findings.finding import Finding, Step
from gblint.report import flame
from gblint.report.flame import REST, Box
from gblint.report.frames import EAGER, FAILS, SPLIT, WHOLE, Fate, Views, fates
from gblint.report.graph import FORMATS, view
from gblint.report.style import Style
from tests.conftest import Result, Write, finding

SVG = "{http://www.w3.org/2000/svg}"


def calls(*edges: str, **looped: int) -> Calls:
    """Calls "a b": one from a to b; "a b*": in a loop; "a b?": not at every call. The first caller is the root."""
    made = []
    for edge in edges:
        caller, callee = edge.split()
        name, loops, guarded = callee.rstrip("*?"), int(callee.endswith("*")), callee.endswith("?")
        made.append(Edge(f"m.{caller}", f"m.{name}", 4.0**loops, loops, guarded))
    names = dict.fromkeys(name for edge in made for name in (edge.caller, edge.callee))
    return Calls({made[0].caller: "explicit"}, made, {name: ("m.py", n) for n, name in enumerate(names, 1)})


def broken(function: str, row: int = 1, **fields: Any) -> Finding:
    return finding("m.py", row, function=f"m.{function}", root="m.root", **fields)


def fate(of: Calls, *findings: Finding) -> dict[str, Fate]:
    return {name.removeprefix("m."): fate for name, fate in fates(CallGraph(of), findings).items()}


def test_a_break_splits_its_function_and_every_caller() -> None:
    found = fate(calls("root mid", "mid leaf", "root other"), broken("leaf", 3), broken("leaf", 5))
    assert found == {"leaf": Fate(SPLIT, 3, 2), "mid": Fate(SPLIT, 2, 0), "root": Fate(SPLIT, 2, 0)}


def test_a_caller_that_calls_from_a_loop_runs_eagerly() -> None:
    path = [Step("m.root", "m.py", 1), Step("m.mid", "m.py", 2), Step("m.leaf", "m.py", 3)]
    lost = broken("leaf", path=path, consequence="frame-falls-back", heat=4.0)
    found = fate(calls("root mid", "mid leaf*"), lost)
    assert found == {"leaf": Fate(SPLIT, 2, 1), "mid": Fate(EAGER, 0, 0), "root": Fate(SPLIT, 2, 0)}


def test_a_break_in_a_loop_of_its_own_loses_its_function() -> None:
    lost = broken("leaf", consequence="frame-falls-back", heat=4.0)
    assert fate(calls("root leaf"), lost)["leaf"] == Fate(EAGER, 0, 1)
    path = [Step("m.root", "m.py", 1), Step("m.leaf", "m.py", 3)]
    both = broken("leaf", path=path, consequence="frame-falls-back", heat=16.0)
    assert fate(calls("root leaf*"), both) == {"leaf": Fate(EAGER, 0, 1), "root": Fate(EAGER, 0, 0)}


def test_where_fullgraph_allows_no_break_nothing_on_the_way_is_compiled() -> None:
    path = [Step("m.root", "m.py", 1), Step("m.mid", "m.py", 2), Step("m.leaf", "m.py", 3)]
    found = fate(calls("root mid", "mid leaf", "other mid"), broken("leaf", path=path, consequence="raises"))
    assert found.pop("other") == Fate(SPLIT, 2, 0)
    assert found == {"leaf": Fate(FAILS, 0, 1), "mid": Fate(FAILS, 0, 0), "root": Fate(FAILS, 0, 0)}


def test_a_wrapper_of_everything_leads_a_root_only_to_what_is_its_own() -> None:
    many = [f"wrapper model{n}" for n in range(40)]
    of = calls("root wrapper", *many, "root shared")
    path = [Step(f"m.{name}", "m.py", 1) for name in ("root", "wrapper", "model7")]
    mine = broken("model7", path=path)
    others = [finding("m.py", function=f"m.model{n}", root="m.other") for n in range(40) if n != 7]
    shared = finding("m.py", function="m.shared", root="m.other")
    graph = Views(of, [mine, *others, shared]).of("m.root")
    found = fates(graph, [mine, *others, shared])
    assert {name.removeprefix("m.") for name in found} == {"root", "wrapper", "model7", "shared"}
    assert found["m.wrapper"] == Fate(SPLIT, 2, 0)


def test_masked_breaks_and_recursion_add_nothing() -> None:
    of = calls("root leaf", "leaf leaf")
    assert fate(of, broken("leaf", consequence="masked")) == {}
    assert fate(of, broken("leaf"))["leaf"] == Fate(SPLIT, 2, 1)


def test_graphs_are_as_many_as_dynamo_makes(project: Write) -> None:
    torch = pytest.importorskip("torch")
    counter = pytest.importorskip("torch._dynamo.testing").CompileCounter()
    source = """\
        import torch

        def leaf(x):
            x = x + 1
            torch._dynamo.graph_break()
            return x * 2

        def looped(x):
            for _ in range(3):
                x = leaf(x)
            return x

        def whole(x):
            return x - 1

        @torch.compile(backend=BACKEND)
        def root(x):
            x = looped(x.sin())
            print(whole(x))
            return leaf(x.cos()) + 1
        """
    folder = project({"model.py": source, "pyproject.toml": ""})
    found = check(Options(paths=(str(folder / "model.py"),), no_cache=True))
    v = view(calls_in(found), found, lambda _: True)
    (root,) = v.roots
    drawn = flame.tree(v.calls.places, v.graph, fates(v.graph, found.findings), root, fold=False)
    space: dict[str, Any] = {"BACKEND": counter}
    torch._dynamo.reset()
    exec(compile((folder / "model.py").read_text("utf-8"), str(folder / "model.py"), "exec"), space)
    space["root"](torch.ones(3))
    assert drawn.graphs == counter.frame_count


def calls_in(found: Outcome) -> Calls:
    return merged(map(unpack, found.calls))


# ---------------------------------------------------------------------------------------------------------- the boxes


def boxes(box: Box) -> dict[str, Box]:
    found = {box.label: box}
    for inner in box.inside:
        found |= boxes(inner)
    return found


def tree(of: Calls, *findings: Finding, fold: bool = True) -> dict[str, Box]:
    graph = CallGraph(of)
    return boxes(flame.tree(of.places, graph, fates(graph, findings), "m.root", fold=fold).root)


def test_functions_without_breaks_are_put_together() -> None:
    of = calls("root bad", "root a", "root b", "bad c?", "root bad2*", "bad2 bad")
    drawn = tree(of, broken("bad"))
    assert {label: box.kind for label, box in drawn.items()} == {
        "root": EAGER, "bad": SPLIT, "2 functions": REST, "bad2": SPLIT, "c": REST,
    }  # fmt: skip
    whole = tree(of, broken("bad"), fold=False)
    assert (whole["a"].kind, whole["a"].note) == (WHOLE, "1 graph")
    assert whole["c"].note == "in its caller's graph · ×5"
    assert not whole["c"].always
    assert drawn["bad"].note == "≈ 2 graphs · ×5 · drawn before"


def test_a_picture_does_not_grow_without_end() -> None:
    wide = calls(*(f"root f{n}" for n in range(100)), *(f"f{n} g{m}" for n in range(100) for m in range(20)))
    all_bad = [broken(f"g{m}") for m in range(20)]
    drawn = tree(wide, *all_bad, fold=False)
    assert len(drawn) == 1
    assert drawn["root"].note.endswith("more below")
    deep = calls(*(f"root f{n}" for n in range(30)), *(f"f{n} g{n}{m}" for n in range(30) for m in range(9)))
    assert 60 < len(tree(deep, *(broken(f"g{n}{m}") for n in range(30) for m in range(9)))) <= 80


# --------------------------------------------------------------------------------------------------- SVG and Mermaid


@pytest.fixture(scope="module")
def models() -> dict[str, str]:
    """The graph of the models of the corpus in each format."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(Path(__file__).parents[2])
        found = check(Options(paths=("corpus/models",), no_cache=True))
        v = view(calls_in(found), found, lambda path: "corpus/models" in path)
        return {form: render(v, Style()) for form, render in FORMATS.items()}


def test_the_svg_has_a_box_for_each_function_and_says_what_colours_mean(models: dict[str, str]) -> None:
    top = Xml.fromstring(models["svg"])
    texts = [text.text or "" for text in top.iter(f"{SVG}text")]
    assert top.tag == f"{SVG}svg"
    assert {"MoELayer.dispatch", "runs eagerly · ×4", "Detector.forward"} <= set(texts)
    assert [text for _, text in flame.LEGEND] == texts[-len(flame.LEGEND) :]
    assert not [tag for tag in ("script", "image", "foreignObject") if list(top.iter(f"{SVG}{tag}"))]
    assert "http" not in models["svg"].replace("http://www.w3.org/2000/svg", "")


def test_boxes_neither_overlap_nor_leave_the_picture(models: dict[str, str]) -> None:
    top = Xml.fromstring(models["svg"])
    width, height = float(top.attrib["width"]), float(top.attrib["height"])
    for group in [g for g in top.iter(f"{SVG}g") if g.get("transform", "").startswith("translate(16 ")]:
        base = float(group.attrib["transform"].split()[1].rstrip(")"))
        places = []
        for box in group:
            assert box.tag in (f"{SVG}g", f"{SVG}a")
            x, y = map(float, re.findall(r"[\d.]+", box.attrib["transform"]))
            frame = box.find(f"{SVG}rect")
            assert frame is not None
            w, h = float(frame.attrib["width"]), float(frame.attrib["height"])
            assert 16 + x + w <= width
            assert base + y + h <= height
            assert all(x >= a + c or a >= x + w or y >= b + d or b >= y + h for a, b, c, d in places)
            places.append((x, y, w, h))


NODE = re.compile(
    r'  f\d+(?:\["[^"<>&]*(?:<br/>[^"<>&]*)*"\]|\(\["[^"<>&]*(?:<br/>[^"<>&]*)*"\]\)):::(?:whole|split|eager|fails)'
)
EDGE = re.compile(r'  f\d+ -\.?->(?:\|"×[\d,]+"\|)? f\d+')
CLASS = re.compile(r"  classDef \w+ fill:#\w{6},stroke:#\w{6},color:#\w{6}(?:,stroke-width:3px)?")


def test_mermaid_is_well_formed_and_draws_what_dot_draws(models: dict[str, str]) -> None:
    head, *lines = models["mermaid"].splitlines()
    assert head == "flowchart LR"
    assert [line for line in lines if not any(kind.fullmatch(line) for kind in (NODE, EDGE, CLASS))] == []
    edges = [line for line in lines if EDGE.fullmatch(line)]
    assert len(edges) == models["dot"].count(" -> ")
    assert len([line for line in lines if NODE.fullmatch(line)]) == models["dot"].count('[label="') - models[
        "dot"
    ].count('" [label="×')
    assert sum("-.->" in line for line in edges) == models["dot"].count("style=dashed")


def test_names_cannot_break_out_of_a_picture(project: Write, gblint: Callable[..., Result]) -> None:
    name = '<b>"]; end\u202e--&amp;#x'
    of = Calls({f"m.{name}": "explicit"}, [], {f"m.{name}": ("m.py", 1)})
    v = view(of, Outcome(), lambda _: True)
    node = FORMATS["mermaid"](v, Style()).splitlines()[1]
    assert NODE.fullmatch(node)
    assert "#60;b#62;#34;]#59; end" in node
    top = Xml.fromstring(FORMATS["svg"](v, Style()))
    assert any('<b>"]; end' in (text.text or "") for text in top.iter(f"{SVG}text"))
    assert "\u202e" not in FORMATS["html"](v, Style())


def test_a_page_of_the_graph_has_every_root(models: dict[str, str]) -> None:
    assert models["html"].count('<section class="root"') == models["text"].count("\n\n") + 1
    assert (
        models["html"].count('<svg xmlns="http://www.w3.org/2000/svg" class="flame"')
        == models["text"].count("\n\n") + 1
    )


def test_no_root_is_said_in_every_format(project: Write, gblint: Callable[..., Result]) -> None:
    project({"none.py": "x = 1\n", "pyproject.toml": ""})
    for form in ("text", "svg"):
        assert "No compiled root leads here." in gblint("graph", "--output-format", form).out
    assert gblint("graph", "--output-format", "mermaid").out.startswith("flowchart LR\n  classDef")
    assert "Nothing was found because nothing was analysed." in gblint("graph", "--output-format", "html").out
