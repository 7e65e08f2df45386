"""The call graph: how often and how surely a function runs, seen from a root, and how it is drawn."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from gblint.callgraph import HOTTEST, TRIPS, CallGraph, Calls, Site, calls_of, merged, unpack
from tests.conftest import Result, Write


def graph(*sites: tuple[str, str] | tuple[str, str, int] | tuple[str, str, int, int], roots: str = "root") -> CallGraph:
    """The graph of (caller, callee, loops, guards) with the last two left out where they are 0."""
    full = [Site(*(*site, 0, 0)[:4]) for site in sites]
    return CallGraph(calls_of(dict.fromkeys(roots.split(), "explicit"), full, {}))


def test_loops_on_the_way_multiply() -> None:
    g = graph(("root", "block", 1), ("block", "attention"), ("attention", "head", 2))
    assert g.heat("root", "root") == 1
    assert g.heat("root", "block") == TRIPS
    assert g.heat("root", "attention") == TRIPS
    assert g.heat("root", "head") == TRIPS**3


def test_calls_from_several_places_add_up() -> None:
    g = graph(("root", "norm"), ("root", "norm"), ("root", "block", 1), ("block", "norm"), ("block", "norm"))
    assert g.heat("root", "norm") == 2 + 2 * TRIPS


def test_calls_behind_conditions_are_alternatives() -> None:
    g = graph(("root", "f", 0, 1), ("root", "f", 1, 1), ("root", "g", 0, 1), ("root", "g"))
    assert g.heat("root", "f") == TRIPS
    assert g.heat("root", "g") == 2


def test_what_runs_at_every_call_is_hot() -> None:
    rare = [("root", "sometimes", 0, 1), ("sometimes", "below"), ("below", "both")]
    g = graph(("root", "always"), ("always", "both"), *rare)
    assert {name for name in g.graph if g.is_hot("root", name)} == {"root", "always", "both"}


def test_heat_is_per_call_of_one_root() -> None:
    g = graph(("first", "f"), ("second", "f", 1), roots="first second")
    assert (g.heat("first", "f"), g.heat("second", "f"), g.hottest("f")) == (1, TRIPS, TRIPS)


def test_recursion_counts_once() -> None:
    g = graph(("root", "walk"), ("walk", "walk", 1), ("walk", "visit"), ("visit", "walk"), ("visit", "leaf"))
    assert g.heat("root", "walk") == 1
    assert g.heat("root", "visit") == 1
    assert g.heat("root", "leaf") == 1


def test_heat_has_an_end() -> None:
    sites = [(f"f{n}", f"f{n + 1}", 3) for n in range(50)]
    assert graph(*sites, roots="f0").heat("f0", "f50") == HOTTEST


def test_what_is_not_reached_is_cold() -> None:
    g = graph(("root", "f"), ("other", "g"))
    assert g.heat("root", "g") == g.heat("nowhere", "f") == g.hottest("g") == 0
    assert not g.is_hot("root", "g")
    assert g.distances("nowhere") == {}


NAMES = st.sampled_from("abcdef")
SITES = st.builds(Site, NAMES, NAMES, st.integers(0, 2), st.integers(0, 2))


@settings(max_examples=150, deadline=None)
@given(st.lists(SITES, max_size=16))
def test_every_function_that_is_reached_runs_and_heat_only_grows_with_calls(sites: list[Site]) -> None:
    g = CallGraph(calls_of({"a": "explicit"}, sites, {}))
    more = CallGraph(calls_of({"a": "explicit"}, [*sites, Site("a", "new", 0, 0)], {}))
    for name in g.distances("a"):
        assert 1 <= g.heat("a", name) <= HOTTEST
        assert more.heat("a", name) == g.heat("a", name)
    assert more.is_hot("a", "new")


@given(st.lists(SITES, max_size=8))
def test_packing_loses_nothing(sites: list[Site]) -> None:
    calls = calls_of({"a": "assumed"}, sites, {"a": ("a.py", 3)})
    assert unpack(calls.pack()) == calls
    assert merged([calls, calls]) == calls


def test_units_are_merged_by_the_surer_root_and_the_less_guarded_call() -> None:
    one = calls_of({"f": "assumed"}, [Site("f", "g", 0, 1)], {})
    two = calls_of({"f": "explicit"}, [Site("f", "g", 1, 0)], {})
    both = merged([one, two])
    assert both.roots == {"f": "explicit"}
    assert [(e.times, e.guarded) for e in both.edges] == [(TRIPS, False)]
    assert merged([]) == Calls()


def test_networkx_is_imported_only_for_a_graph() -> None:
    code = "import gblint.callgraph, gblint.findings.build, gblint.cli.main, sys; print('networkx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_warm_run_needs_neither_graph_nor_interpreter(project: Write) -> None:
    project({"pyproject.toml": "", "model.py": MODEL})
    code = (
        "import sys; from gblint.cli.main import run; assert run(['check', '-q']) == 1;"
        "print([n for n in ('networkx', 'libcst', 'gblint.interpreter', 'gblint.rule_api') if n in sys.modules])"
    )
    ends = []
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        ends.append(done.stdout.splitlines()[-1])
    assert ends == ["['networkx', 'libcst', 'gblint.interpreter', 'gblint.rule_api']", "[]"]


# ------------------------------------------------------------------------------------------------ from real source

MODEL = """
    import torch
    from torch import nn

    def helper(x):
        return -x if x.sum() > 0 else x

    class Block(nn.Module):
        def forward(self, x, flag):
            if flag > 1:
                x = self.rare(x)
            return helper(helper(x))

        def rare(self, x):
            return x + 1

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([Block() for _ in range(3)])

        def forward(self, x, flag: int):
            for block in self.blocks:
                x = block(x, flag)
            return self.walk(x, 3)

        def walk(self, x, depth: int):
            return self.walk(x, depth - 1) if depth else x

    net = torch.compile(Net())
"""


def test_findings_are_as_hot_as_their_function(project: Write, gblint: Callable[..., Result]) -> None:
    project({"pyproject.toml": "", "model.py": MODEL})
    found = json.loads(gblint("check", "--output-format", "json").out)
    (helper,) = [f for f in found if f["function"] == "model.helper"]
    assert (helper["heat"], helper["hot"]) == (2 * TRIPS, True)


def test_the_graph_is_drawn_as_a_tree(project: Write, gblint: Callable[..., Result]) -> None:
    project({"pyproject.toml": "", "model.py": MODEL})
    assert gblint("graph").out == (
        "model.Net.forward  model.py:22  compiled\n"
        "├─ Block.forward  ×4\n"
        "│  ├─ Block.rare  ×4  not at every call\n"
        "│  └─ helper  ×8  1 graph break\n"
        "└─ Net.walk\n"
        "   └─ Net.walk …\n"
    )


def test_the_graph_as_json_and_dot(project: Write, gblint: Callable[..., Result]) -> None:
    folder = project({"pyproject.toml": "", "model.py": MODEL})
    data = json.loads(gblint("graph", "--output-format", "json").out)
    assert data["roots"] == [{"name": "model.Net.forward", "kind": "explicit"}]
    (helper,) = [f for f in data["functions"] if f["name"] == "model.helper"]
    place = {"filename": str(folder / "model.py"), "row": 5}
    assert helper == place | {"name": "model.helper", "heat": 8, "hot": True, "breaks": 1}
    assert {(c["caller"], c["callee"]): c["guarded"] for c in data["calls"]}["model.Block.forward", "model.Block.rare"]
    dot = gblint("graph", "--output-format", "dot").out
    assert '  "model.Block.forward" -> "model.helper" [label="×2"];' in dot
    assert '  "model.Block.forward" -> "model.Block.rare" [style=dashed];' in dot


def test_only_roots_that_lead_into_the_named_files_are_drawn(project: Write, gblint: Callable[..., Result]) -> None:
    other = "import torch\n\n@torch.compile\ndef other(x):\n    return x\n"
    project({"pyproject.toml": "", "model.py": MODEL, "other.py": other})
    assert "Net.forward" not in gblint("graph", "other.py").out
    assert gblint("graph", "other.py").out == "other.other  other.py:3  compiled\n"
    project({"empty/none.py": "x = 1\n"})
    assert gblint("graph", "empty").out == "No compiled root leads here.\n"
