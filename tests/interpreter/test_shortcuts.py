"""What saves work must not change answers: positions, decorators told from their text, constructors summed up."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

import gblint.interpreter.positions
import gblint.interpreter.statements
from gblint.analysis import Settings, analyze
from gblint.index.project import Project
from gblint.interpreter.globals import class_value
from gblint.interpreter.passing import hands_back
from gblint.interpreter.positions import Positions
from gblint.interpreter.source import Forest
from gblint.interpreter.values import Function
from gblint.interpreter.walk import children, walk
from gblint.units import Worker
from tests.conftest import Write

SHAPES = '''
@decorated(
    by=something,
)
# a comment between
def f(a, b: int = (1 +
        2), *c, **d) -> "é":
    """é"""
    if a: b = "é"; return call(a,
    b)
    elif (b and
          c): pass
    elif d:
        x = [i for i in a
             if i]
    else:
        with open(a) as g, h(
            b
        ): y = """
  text""" + call(b)
    for i in call(
        a): print(i); continue
    else:
        assert a, (
            b)
    while not \\
            a: a -= 1
    try:
        del a
    except (ValueError, b) as e:
        raise e from None
    finally:
        lambda z: (yield z)
    match a:
        case [1, {"x": y}] if b > 2:
            call(y)
    class K(Base, metaclass=call(a)):
        z: int = 1
    async def inner(): await call(a)
'''


def texts() -> list[str]:
    modules = (gblint.interpreter.positions, gblint.interpreter.statements)
    functions = [f for m in modules for _, f in inspect.getmembers(m, inspect.isfunction)]
    indented = "if True:\n" + "\n".join("\t" + line for line in "x = (1,\n  2)\nif x: y = [x,\nx]".splitlines())
    return [SHAPES, indented, *(inspect.getsource(f) for f in functions)]


@pytest.mark.parametrize("text", texts(), ids=lambda t: t.strip().splitlines()[0])
def test_positions_are_those_of_libcst(text: str) -> None:
    module = cst.parse_module(text)
    expected = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
    wanted = cst.BaseExpression | cst.BaseSmallStatement | cst.Arg
    for node in walk(module):
        if isinstance(node, wanted):
            # Each node is asked for on its own, so that no other has made the way for it.
            assert Positions(module, text).get(node) == expected[node], cst.Module([]).code_for_node(node)


def test_positions_of_nodes_from_elsewhere_are_unknown() -> None:
    assert Positions(cst.parse_module("x = 1\n"), "x = 1\n").get(cst.Name("_")) is None


def test_walk_visits_all_that_has_meaning() -> None:
    module = cst.parse_module(SHAPES)
    seen = {n.value for n in walk(module) if isinstance(n, cst.Name)}
    names = {n.id for n in ast.walk(ast.parse(SHAPES)) if isinstance(n, ast.Name)}
    assert names <= seen
    assert not any(isinstance(n, cst.SimpleWhitespace | cst.Comma | cst.LeftParen) for n in walk(module))
    assert children(cst.Name("x")) == []


def test_trees_are_shared_by_text_and_checked_again_after() -> None:
    forest = Forest()
    info = Project([], []).info("/nowhere.py")
    first, second = forest.chunk(info, 1, "x = 1\n"), forest.chunk(info, 9, "x = 1\n")
    assert first.tree is second.tree
    assert forest.parsed == 1
    with pytest.raises(cst.CSTValidationError):
        cst.Name("")  # what is built by hand is still validated


DECORATORS = """
import functools

REGISTRY = {}

def bare(f):
    REGISTRY[f.__name__] = f
    return f

def maker(name=None):
    def inner(f):
        f.__doc__ = name
        return f
    return inner

def either(f=None, *, doc=""):
    def inner(f):
        return document(f, doc)
    if f is not None:
        return inner(f)
    return inner

def document(f, doc):
    f.__doc__ = doc
    return f

def later(name):
    return lambda f: f

def wraps(f):
    @functools.wraps(f)
    def inner(*args):
        return f(*args)
    return inner

def rebinds(f):
    f = wraps(f)
    return f

def sometimes(f):
    if f.__name__ == "x":
        return wraps(f)
    return f

def unpacked(f):
    g, f = f, wraps(f)
    return f

def generates(f):
    yield f
    return f

def recurses(f):
    return recurses(f)
"""


@pytest.fixture
def decorator(project: Write):
    path = project({"decorators.py": DECORATORS}) / "decorators.py"
    worker = Worker(Project([path], []), Settings())
    machine, info = worker.machine(), worker.project.info(path)

    def judge(name: str, called: bool) -> bool:
        function = machine.load_global(info, name)
        assert isinstance(function, Function)
        return hands_back(machine, function, called)

    return judge


@pytest.mark.parametrize(
    ("name", "bare", "called"),
    [
        ("bare", True, False),
        ("maker", False, True),
        ("either", True, True),
        ("later", False, True),
        ("wraps", False, False),
        ("rebinds", False, False),
        ("sometimes", False, False),
        ("unpacked", False, False),
        ("generates", False, False),
        ("recurses", False, False),
    ],
)
def test_decorators_that_hand_back_are_told(decorator, name: str, bare: bool, called: bool) -> None:
    assert decorator(name, False) is bare
    assert decorator(name, True) is called


FRAMEWORK = """
from torch import nn

class Config:
    def __init__(self, source):
        self.source = source
        self.mode = "fast"

class Base(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.mode = self.pick()
        self.made = Config(config)

    def pick(self):
        return "base"
"""
DERIVED = """
import torch
from framework.base import Base

class Inherits(Base):
    def forward(self, x):
        if self.mode == "base" and self.made.mode == "fast":
            print(x)
        return x

class Overrides(Base):
    def pick(self):
        return "own"

    def forward(self, x):
        if self.mode == "base":
            print(x)
        return x
"""

DERIVING = {
    "framework/__init__.py": "",
    "framework/base.py": FRAMEWORK,
    "models/__init__.py": "",
    "models/m.py": DERIVED,
}


def test_a_summary_holds_unless_its_methods_are_overridden(project: Write) -> None:
    root = project(DERIVING)
    files = sorted(root.rglob("*.py"))
    found = analyze(files, files, Settings()).findings
    assert [(Path(f.filename).name, f.row, f.code) for f in found] == [("m.py", 8, "GB0059")]


def test_objects_of_a_summary_are_not_shared(project: Write) -> None:
    root = project(DERIVING)
    worker = Worker(Project(sorted(root.rglob("*.py")), []), Settings())
    info = worker.project.info(root / "models/m.py")
    machine = worker.machine()
    machine.home = str(root / "models")

    from gblint.interpreter.frame import Frame
    from gblint.interpreter.modules import example
    from gblint.interpreter.source import Chunk, Tree

    frame = Frame(info, Chunk(info, 1, Tree(cst.Module([]), 0, "")), machine.global_env(info))
    made = []
    for _ in range(2):
        machine.instances.clear()
        cls = class_value(machine, info, "Inherits")
        assert cls is not None
        made.append(example(machine, cls, frame).attrs["made"])
    assert made[0] is not made[1]
    assert made[0].attrs["mode"].value == made[1].attrs["mode"].value == "fast"
