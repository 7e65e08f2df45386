"""Which code is compiled: by name, as the forward of a module, or every function."""

from __future__ import annotations

from pathlib import Path

import pytest

from gblint.analysis import Settings, analyze
from gblint.interpreter.values import Instance
from tests.interpreter.programs import Analyst

PROGRAM = """
    def function(x):
        graph_break()

    class Net(nn.Module):
        def forward(self, x):
            return self.helper(x)

        def helper(self, x):
            graph_break()

        def apart(self, x):
            graph_break()
"""


def functions(analyst: Analyst, source: str, mode: str, settings: Settings = Settings()) -> set[tuple[str, str]]:
    """(function, kind of root) of all findings."""
    result = analyst.run(source, mode, settings=settings)
    return {(f.function.removeprefix("program."), f.root_kind) for f in result.findings}


@pytest.mark.parametrize(
    ("mode", "found"),
    [
        ("explicit", set()),
        ("modules", {("Net.helper", "assumed")}),
        ("all", {("Net.helper", "assumed"), ("function", "guessed"), ("Net.apart", "guessed")}),
    ],
)
def test_each_mode_takes_more_code_for_compiled(analyst: Analyst, mode: str, found: set[tuple[str, str]]) -> None:
    assert functions(analyst, PROGRAM, mode) == found


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("program:Net", {("Net.helper", "explicit")}),
        ("program:Net.forward", {("Net.helper", "explicit")}),
        ("program:Net.apart", {("Net.apart", "explicit")}),
        ("program:function", {("function", "explicit")}),
        ("program:absent", set()),
        ("other:function", set()),
    ],
)
def test_roots_given_by_name(analyst: Analyst, name: str, found: set[tuple[str, str]]) -> None:
    assert functions(analyst, PROGRAM, "explicit", Settings(roots=(name,))) == found


@pytest.mark.parametrize(
    "compiled",
    [
        "net = torch.compile(Net())\nnet(torch.rand(3))",
        "net = torch.compile(Net())",
        "net = Net()\nnet.compile()\nnet(torch.rand(3))",
        "net = Net()\nnet.forward = torch.compile(net.forward)\nnet(torch.rand(3))",
        "net = Net()\nnet = torch.compile(net, mode='reduce-overhead') if len(sys.argv) else net\nnet(torch.rand(3))",
        "step = torch.compile(lambda x: Net()(x))\nstep(torch.rand(3))",
        "import torch as th\nnet = th.compile(Net())",
        "from torch import compile as speed_up\nnet = speed_up(Net())",
        "def build():\n    return torch.compile(Net())\nbuild()(torch.rand(3))",
        "def train(net):\n    net = torch.compile(net)\n    return net(torch.rand(3))\ntrain(Net())",
        "nets = [torch.compile(Net()) for _ in range(2)]",
        "run = torch.compile(dynamic=True)(Net().forward)\nrun(torch.rand(3))",
        "decorate = functools.partial(torch.compile, dynamic=True)\nnet = decorate(Net())",
    ],
)
def test_ways_to_compile(analyst: Analyst, compiled: str) -> None:
    program = """
class Net(nn.Module):
    def forward(self, x):
        graph_break()
        return x

"""
    assert functions(analyst, program + compiled, "explicit") == {("Net.forward", "explicit")}


def test_decorated_methods_are_roots(analyst: Analyst) -> None:
    result = analyst.check("""
        class Trainer:
            def __init__(self, net):
                self.net = net

            @torch.compile(fullgraph=False)
            def step(self, x):
                graph_break()  # splits
                return x

            def other(self, x):
                graph_break()
    """)
    assert result.roots == {"explicit": 1, "assumed": 0, "guessed": 0}


def test_a_script_that_compiles_something_known_decides_for_its_project(analyst: Analyst) -> None:
    assert analyst.run("net = torch.compile(nn.Linear(3, 3))").by_script
    assert not analyst.run("net = torch.compile(unheard_of())").by_script
    assert not analyst.run("class Net(nn.Module):\n    def forward(self, x):\n        return x\n", "modules").by_script


OWN = """
class Net(nn.Module):
    def forward(self, x):
        return x

if __name__ == "__main__":
    net = torch.compile(Net())
"""


def test_a_module_of_a_package_that_tries_itself_out_says_nothing_of_the_others(analyst: Analyst) -> None:
    assert analyst.run(OWN).by_script
    assert not analyst.run(OWN, files={"__init__.py": ""}).by_script
    other = OWN.replace("Net()", "Other()").replace("class Net", "from .other import Other\nclass Net")
    files = {"__init__.py": "", "other.py": OWN.replace("Net", "Other")}
    assert analyst.run(other, files=files).by_script
    assert analyst.run(OWN.replace("Net()", "nn.Sequential(Net())"), files={"__init__.py": ""}).by_script


def test_a_compiled_thing_that_cannot_be_told_is_counted(analyst: Analyst) -> None:
    result = analyst.run("net = torch.compile(unheard_of())")
    assert result.unresolved_roots == 1
    assert result.roots["explicit"] == 0


def test_a_forward_reached_from_another_is_not_a_root_of_its_own(analyst: Analyst) -> None:
    result = analyst.check(
        """
        class Part(nn.Module):
            def forward(self, x, scale):
                if scale > 0:
                    return x
                return x + 1

        class Whole(nn.Module):
            def __init__(self):
                super().__init__()
                self.part = Part()

            def forward(self, x):
                return self.part(x, 3)
        """,
        mode="modules",
    )
    assert result.roots["assumed"] == 1


def test_a_root_called_with_arguments_is_run_with_them(analyst: Analyst) -> None:
    analyst.check("""
        @torch.compile
        def f(x, flag):
            if flag:
                graph_break()
            return x

        @torch.compile
        def g(x, flag):
            if flag:
                graph_break()  # splits
            return x

        f(torch.rand(3), False)
        g(torch.rand(3), True)
    """)


def test_generator_functions_are_no_guessed_roots(analyst: Analyst) -> None:
    result = analyst.run("def stream(x):\n    graph_break()\n    yield x\n", "all")
    assert (result.roots["guessed"], result.findings) == (0, [])


BASE = """
import torch
from torch import nn

class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor):
        return self.extra(x)

    def extra(self, x):
        return self.inner(x)
"""
DERIVED = """
import torch
from torch import nn
from base import Base

class Made(Base):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 3)

class Changed(Base):
    def extra(self, x):
        print("extra")
        return x
"""


def test_a_class_that_only_constructs_anew_is_run_where_its_forward_stands(tmp_path: Path) -> None:
    (tmp_path / "base.py").write_text(BASE)
    (tmp_path / "derived.py").write_text(DERIVED)
    files = sorted(tmp_path.rglob("*.py"))
    found = analyze(files, files, Settings())
    assert found.stats.assumed_roots == 2  # Base and Changed
    assert [(Path(f.filename).name, f.row) for f in found.findings] == [("derived.py", 13)]


WHOLE = """
import torch
from torch import nn

def weigh(x, mask):
    total = x.sum().item()
    return x * total + x[mask].sum()

class Pool(nn.Module):
    def forward(self, x, mask):
        return weigh(x, mask)

@torch.compile(fullgraph=True)
def whole(x, mask):
    return weigh(x, mask)

def later(x, mask):
    return weigh(x, mask) + x.nonzero().sum()

x, mask = torch.rand(4), torch.rand(4) > 0.5
pool = torch.compile(Pool(), fullgraph=True)
padded = torch.compile(later, fullgraph=True)
pool(x, mask), whole(x, mask), padded(x, mask)
"""


def test_fullgraph_captures_scalars_and_shapes_that_depend_on_data(tmp_path: Path) -> None:
    file = tmp_path / "main.py"
    file.write_text(WHOLE)
    assert analyze([file], [file], Settings()).findings == []
    file.write_text(WHOLE + "torch.compile(weigh)(x, mask)\n")
    assert {(f.code, f.row) for f in analyze([file], [file], Settings()).findings} == {("GB0124", 6), ("GB0036", 7)}


RAISING = """
import torch

def odd(x):
    torch._dynamo.graph_break()
    return x + 1

@torch.compile(fullgraph=True)
def whole(x):
    return odd(x) * 2

@torch.compile
def parts(x):
    for _ in range(2):
        torch._dynamo.graph_break()
    return x

parts(torch.rand(2))
"""


@pytest.mark.parametrize("also", ["", "torch.compile(odd)(torch.rand(2))\n"])
def test_a_break_where_fullgraph_allows_none_is_an_error_of_the_program(tmp_path: Path, also: str) -> None:
    file = tmp_path / "main.py"
    file.write_text(RAISING + also + "whole(torch.rand(2))\n")
    found = {f.row: f.consequence for f in analyze([file], [file], Settings()).findings}
    assert found == {5: "raises", 15: "frame-falls-back"}


def test_dynamo_raises_there(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    file = tmp_path / "main.py"
    file.write_text(RAISING)
    scope = {"__name__": "raising"}
    exec(compile(RAISING, str(file), "exec"), scope)
    with pytest.raises(torch._dynamo.exc.Unsupported):
        scope["whole"](torch.rand(2))  # type: ignore[operator]


def test_a_class_that_only_names_its_parts_is_a_root_of_its_own(analyst: Analyst) -> None:
    base = """
        class Base(nn.Module):
            cell = None

            def __init__(self):
                super().__init__()
                self.rnn = self.cell(3, 3)

            def forward(self, x):
                probe.see(self.rnn)
                return x
    """
    (first,) = analyst.seen(f"{base}\n        class Other(Base):\n            name = 'other'\n", mode="modules")
    values = analyst.seen(f"{base}\n        class Long(Base):\n            cell = nn.LSTM\n", mode="modules")
    assert not isinstance(first, Instance)
    assert [value.base for value in values if isinstance(value, Instance)] == ["torch.nn.LSTM"]
