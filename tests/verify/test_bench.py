"""Figures of runs, with how sure they are."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable

import pytest

from gblint.cli.bench import table
from gblint.verify.bench import Sample, differ, interval
from tests.conftest import Write
from tests.verify.forks import Forks

LOOP = """\
import torch

@torch.compile(backend="eager")
def f(x):
    x = x.sin()
    print("step")
    return x.cos()

f(torch.ones(2))
"""


def test_intervals() -> None:
    found = interval([1.0, 2.0, 3.0])
    assert (found.mean, found.half) == (2.0, pytest.approx(4.30 / 3**0.5))
    assert interval([5.0]).half is None
    assert interval([1.0] * 30).half == 0
    assert differ([1.0, 1.1, 0.9], [3.0, 3.1, 2.9])
    assert not differ([1.0, 2.0, 3.0], [2.0, 3.0, 4.0])
    assert not differ([1.0], [3.0])


def test_the_table_says_what_it_knows() -> None:
    one = [Sample(2, 2, 1, 0, t, 5.0 + t) for t in (0.5, 0.6, 0.55)]
    other = [Sample(1, 1, 0, 0, t, 5.0 + 3 * t) for t in (0.1, 0.12, 0.11)]
    lines = list(table({"command": one, "against": other}))
    assert lines[1].split() == ["graphs", "2", "1", "-50%"]
    assert lines[4].split() == ["recompiles", "0", "0"]
    assert lines[5].endswith("-80%")
    assert "±" in lines[5]
    assert lines[-1] == "mean of 3 runs ± 95 % confidence interval"
    assert list(table({"command": one[:1]}))[-1] == "one run: how much it varies is not known"


def test_a_repaired_program_is_compared(project: Write, gblint: Callable) -> None:
    pytest.importorskip("torch")
    folder = project({"broken.py": LOOP, "repaired.py": LOOP.replace('    print("step")\n', "")})
    with Forks() as forks:
        words = forks.words(folder / "broken.py")
        other = shlex.join(forks.words(folder / "repaired.py"))
        result = gblint("bench", "--repeat", "2", "--against", other, "--output-format", "json", "--", *words)
        failing = project({"failing.py": LOOP + "raise SystemExit(4)\n"})
        failed = gblint("bench", "--", *forks.words(failing / "failing.py"))
    data = json.loads(result.out)
    assert [(s["graphs"], s["breaks"], s["recompiles"]) for s in data["command"]] == [(2, 1, 0)] * 2
    assert [(s["graphs"], s["breaks"], s["recompiles"]) for s in data["against"]] == [(1, 0, 0)] * 2
    assert min(s["compile_seconds"] for s in data["command"]) > 0
    assert failed.code == 2
    assert "exit code 4" in failed.err


def test_what_cannot_be_measured_is_said(gblint: Callable) -> None:
    assert "no command to run" in gblint("bench").err
    assert "it is empty" in gblint("bench", "--against", "", "--", "true").err
    assert "never imported torch" in gblint("bench", "--", "true").err


TARGET = """\
import os
import torch

def make():
    def f(x, *, plus):
        y = x.sin()
        {0}
        return y.cos() + plus
    print(os.environ["TORCHINDUCTOR_CACHE_DIR"])
    return f, torch.ones(2), {{"plus": 1}}

def nothing():
    return 3
"""


def test_targets_are_measured_by_the_call(project: Write, gblint: Callable) -> None:
    pytest.importorskip("torch")
    folder = project({"one.py": TARGET.format("print(1)"), "pkg/__init__.py": "", "pkg/two.py": TARGET.format("pass")})
    options = ("--repeat", "1", "--calls", "5", "--backend", "eager", "--cold")
    result = gblint("bench", folder / "one.py:make", "--against", "pkg.two:make", *options, "--output-format", "json")
    assert "(target) 1 times" in result.err
    data = json.loads(result.out)
    (one,), (two,) = data["target"], data["against"]
    assert (one["graphs"], one["breaks"], two["graphs"], two["breaks"]) == (2, 1, 1, 0)
    for sample in (one, two):
        assert 0 < sample["call_seconds"] < sample["first_seconds"] < sample["seconds"]
        assert sample["peak_memory"] > 50


def test_targets_that_are_none(project: Write, gblint: Callable) -> None:
    project({"one.py": "import torch\ndef make():\n    raise KeyError('mine')\n"})
    assert "is no target" in gblint("bench", "one.py").err
    assert "exclude each other" in gblint("bench", "one:make", "--", "true").err
    assert "KeyError: 'mine'" in gblint("bench", "one:make").err
