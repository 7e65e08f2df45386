"""`gblint override`: a library's breaks repaired in subclasses of one's own, and what Dynamo says of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gblint.devtools.dynamo import DynamoRunner

LIBRARY = {
    "site-packages/lib/__init__.py": "",
    "site-packages/lib/ops.py": """
        from typing import TYPE_CHECKING

        if TYPE_CHECKING:
            import torch

        SCALE = 2.0
        _OFFSET = 1.0

        def announce(x):
            print("in", x.shape)
            return x * SCALE

        def shift(x):
            return announce(x) + _OFFSET
        """,
    "site-packages/lib/layers.py": """
        import torch
        from torch import nn
        from .ops import shift

        SCALE = 3.0

        class Base(nn.Module):
            def forward(self, x):
                return torch.relu(x)

            def tell(self, x):
                print("told")
                return x

        class Layer(Base):
            __secret = 0.5

            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 3)
                self.__bias = 2.0

            def forward(self, x):
                x = super().forward(self.fc(x))
                print("layer", SCALE)
                return x * SCALE + self.__bias

        class Quiet(Base):
            def forward(self, x):
                return self.tell(x) - 1
        """,
    "site-packages/lib/model.py": """
        from torch import nn
        from lib.layers import Layer, Quiet
        from lib.ops import shift

        class Registry(dict):
            def pick(self, name):
                print("pick")
                return self[name]

        PICKS = Registry(double=2.0)

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([Layer(), Layer(), Quiet()])

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return self.head(x)

            def head(self, x):
                return shift(x)

        class Other(nn.Module):
            def forward(self, x):
                return x * PICKS.pick("double")
        """,
}
USE = """
import copy
import sys

sys.path.insert(0, {site!r})
import torch
from lib.model import Net

torch.manual_seed(0)
net = Net()
expected = net(torch.ones(2, 3))
from compile_ready_net import compile_ready

weights = [p.data_ptr() for p in net.parameters()]
ready = compile_ready(net)
assert ready is net and [p.data_ptr() for p in net.parameters()] == weights
assert compile_ready(ready).layers[0].__class__ is ready.layers[0].__class__
assert isinstance(ready, Net) and type(ready.layers[0]).__name__ == "Layer"
got = torch.compile(ready, fullgraph=True)(torch.ones(2, 3))
assert torch.equal(got, expected), (got, expected)
print("checksum", got.sum().item())
"""


@pytest.fixture
def library(project) -> Path:
    root = project(LIBRARY)
    before = {p: p.read_bytes() for p in root.rglob("*.py")}
    yield root
    assert {p: p.read_bytes() for p in before} == before, "the library was edited"


def test_the_written_module_compiles_without_breaks_and_gives_the_same(library: Path, gblint) -> None:
    result = gblint("override", "lib.model:Net", "--python", "site-packages")
    assert result.code == 0, result.err
    assert "guard-logging" in result.err
    written = (library / "compile_ready_net.py").read_text()
    assert "super(LibraryLayer, self).forward(" in written
    assert "def shift" in written, "who calls a repaired function has to call the new one"
    (library / "main.py").write_text(USE.format(site=str(library / "site-packages")))
    with DynamoRunner() as runner:
        seen = runner.observe(library)
    assert seen.error == ""
    assert seen.breaks == ()
    assert "checksum" in seen.output


def test_what_cannot_be_overridden_is_said(library: Path, gblint) -> None:
    result = gblint("override", "lib.model:Other", "--python", "site-packages", "-o", "-")
    assert result.code == 1
    assert "lib.model.Registry.pick: only nn.Modules can be given another class" in result.err
    assert result.out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("lib.model",), "does not name a class"),
        (("lib.model:Gone", "--python", "site-packages"), "lib.model has no class Gone"),
        (("lib.gone:Net", "--python", "site-packages"), "no module lib.gone"),
        (("other.model:Net", "--python", "site-packages"), "no package other"),
    ],
)
def test_a_wrong_name_is_explained(library: Path, gblint, arguments: tuple[str, ...], message: str) -> None:
    result = gblint("override", *arguments)
    assert result.code == 2
    assert message in result.err


def test_an_earlier_module_is_not_overwritten_unasked(library: Path, gblint) -> None:
    (library / "compile_ready_net.py").write_text("mine")
    result = gblint("override", "lib.model:Net", "--python", "site-packages")
    assert result.code == 2
    assert (library / "compile_ready_net.py").read_text() == "mine"
