"""Small generated programs and their repair: a slice of what is run at length, and how results are compared."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from gblint.devtools.generated.repairable import repairable
from gblint.devtools.generated.starts import CHOICE, PART, STARTS, written
from gblint.registry import load_codemods

pairs = pytest.importorskip("gblint.devtools.generated.pairs", exc_type=ImportError)


def test_a_seed_gives_one_program() -> None:
    programs = {repairable(seed) for seed in range(100)}
    assert len(programs) > 95
    for text in programs:
        compile(text, "program.py", "exec")
    assert repairable(7) == repairable(7)


def test_starts_are_written_out() -> None:
    for start in STARTS:
        text = written(start, random.Random(1))
        assert not CHOICE.search(text)
        assert not PART.search(text)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gblint.devtools.generated.repairing", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_safe_repairs_change_no_result(tmp_path: Path) -> None:
    log = tmp_path / "log"
    done = run("--seeds", "0:40", "--log", str(log))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "CHANGED: 0, " in done.stdout
    assert "new break: 0, " in done.stdout
    rows = [pairs.msgspec.json.decode(line, type=pairs.Judged) for line in log.read_bytes().splitlines()]
    assert [row.seed for row in rows] == list(range(40))
    fixed = [row for row in rows if row.verdict in ("same", "no error")]
    assert len(fixed) > 10
    assert {name for row in fixed for name in row.codemods} <= {codemod.meta.name for codemod in load_codemods()}


# -- comparing ---------------------------------------------------------------------------------------------------------


def ran(*results: str, breaks: tuple[tuple[str, int], ...] = ()) -> object:
    return pairs.Ran(list(results), breaks=list(breaks))


def test_a_result_is_noted_in_full() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.tensor([[1.5, float("nan")]], requires_grad=True)
    assert pairs.noted({"a": [tensor, None], "b": 2.0}) == "{'a': list<float32(1, 2)(1,)g [1.5, nan], None>, 'b': 2}"
    assert pairs.noted(torch.ones(3, 2).t()) == "float32(2, 3)(1, 2)- [1, 1, 1, 1, 1, 1]"


@pytest.mark.parametrize(
    ("one", "other", "unsafe", "differs"),
    [
        ("float32(1,)()- [1.00001]", "float32(1,)()- [1]", False, False),
        ("float32(1,)()- [1.01]", "float32(1,)()- [1]", False, True),
        ("float32(1,)()- [1]", "float64(1,)()- [1]", False, True),
        ("float32(2, 2)(2, 1)- [1]", "float32(2, 2)(1, 2)- [1]", False, True),
        ("float32(1,)()- [1]", "float32(1,)()g [1]", False, True),
        ("2", "int64()()- [2]", False, True),
        ("2", "int64()()- [2]", True, False),
        ("list<2>", "tuple<2>", True, True),
        ("2", "raises ValueError: no", False, True),
        ("raises ValueError: no", "raises TypeError: no", False, False),
        ("raises ValueError: no", "2", False, False),
    ],
)
def test_results_are_compared(one: str, other: str, unsafe: bool, differs: bool) -> None:
    assert bool(pairs.difference(ran(one), ran(other), unsafe)) is differs


@pytest.mark.parametrize(
    ("one", "other", "said", "differs"),
    [
        ("list<0, tuple<'a'>, 2>", "list<0, 1>", "effects", False),  # numbered by the length of the list
        ("list<tuple<'a'>, 1>", "list<>", "effects", False),
        ("list<0>", "list<0, 1>", "effects", True),  # none of them may be new
        ("list<tuple<'a'>, tuple<'b'>>", "list<tuple<'b'>, tuple<'a'>>", "effects", True),
        ("float32(1,)()- [1]", "float32(1,)()- [2]", "effects", True),
        ("float32(1,)()- [0.5]", "float32(1,)()- [0.7]", "draws", False),
        ("float32(1,)()- [0.5]", "float64(1,)()- [0.7]", "draws", True),
        ("2", "raises IndexError: no", "errors", False),
        ("2", "raises TypeError: no", "errors", True),  # no value does that, but what was written
        ("2", "3", "errors", True),
    ],
)
def test_what_a_repair_says_of_itself_is_left_out(one: str, other: str, said: str, differs: bool) -> None:
    assert pairs.difference(ran(one), ran(other), unsafe=True)
    assert bool(pairs.difference(ran(one), ran(other), unsafe=True, said={said})) is differs


HEAD = """
import logging
import os
import random

import torch

logger = logging.getLogger("model")
"""


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (
            """
seen = []
logging.Logger.noted = lambda self, text: seen.append(text)

@torch.compile
def f(x):
    logger.warning("%s", seen.append(1))
    return x * 2

f(torch.ones(2))
seen
""",
            "kept",  # the argument changes something
        ),
        (
            """
class Told(logging.Handler):
    def emit(self, record):
        seen.append(record.msg)

seen = []
logger.addHandler(Told())

@torch.compile
def f(x):
    logger.warning("always")
    return x * 2

f(torch.ones(2))
seen
""",
            "as said",
        ),
        (
            """
@torch.compile
def f(x):
    os.environ["SHIFT"] = "1"
    os.environ.update(SCALE="2")
    return x * 2

f(torch.ones(2))
os.environ["SCALE"]
""",
            "same",  # where the statements stand now is no result
        ),
        (
            """
random.seed()

@torch.compile
def f(x):
    logger.warning("always")
    return x * 2 + random.random()

f(torch.ones(2))
""",
            "invalid",  # another result each time
        ),
    ],
)
def test_a_program_is_judged(text: str, verdict: str) -> None:
    (one,) = pairs.judged([(0, HEAD + text)], unsafe=True)
    assert one.verdict == verdict, one


def test_a_break_is_new_where_the_repair_wrote_and_none_was() -> None:
    text, new = "a\nif x:\n    b\nc\nd\n", "a\nwhere(x)\nc\nd\n"
    before = ran(breaks=(("GB0170", 2),))
    assert pairs.arrived(text, new, before, ran(breaks=(("GB0170", 2),))) == ""
    assert pairs.arrived(text, new, before, ran(breaks=(("GB0059", 4),))) == ""
    assert pairs.arrived(text, new, ran(), ran(breaks=(("GB0059", 2),))) == "GB0059 @ 2"
