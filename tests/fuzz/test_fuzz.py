"""A slice of the fuzzing with a fixed seed, and what the long runs have found.

`python -m tests.fuzz` runs more.
"""

from __future__ import annotations

import ast
import json
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.conftest import Result, Write
from tests.fuzz.mutate import SOURCE, mutated
from tests.fuzz.runner import fuzz
from tests.fuzz.targets import TARGETS, programs

SLICE = {"sources": 240, "fixes": 20, "caches": 10} | dict.fromkeys(("logs", "traces", "pages"), 20)


@pytest.mark.parametrize("target", TARGETS)
def test_no_input_is_too_much(target: str) -> None:
    done = fuzz(target, SLICE.get(target, 12), seed=1)
    assert [failure.reason for failure in done.failures] == []
    assert done.inputs >= 10


def test_a_seed_makes_the_same_inputs_and_many_are_python() -> None:
    seeds = programs(())
    first, again = ([mutated(random, seeds, SOURCE, 60_000) for _ in range(60)] for random in (Random(4), Random(4)))
    assert first == again
    assert sum(_is_python(data) for data in first) > 20
    assert len(set(first) - set(seeds)) > 50


def _is_python(data: bytes) -> bool:
    try:
        ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def test_a_failure_is_found_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def crashes(folder: Path, inputs: list[bytes]) -> object:
        if any(len(data) > 100 for data in inputs):
            raise RuntimeError("too long")
        return []

    monkeypatch.setitem(TARGETS, "sources", TARGETS["sources"]._replace(run=crashes))  # type: ignore[arg-type]
    done = fuzz("sources", 4, seed=1)
    assert len(done.failures) >= 3
    assert all("too long" in failure.reason and len(failure.data) > 100 for failure in done.failures)


# ---------------------------------------------------------------------------------------------------- what was found


@pytest.mark.parametrize("pattern", ["[z-a]", "!", "a\\"])
def test_a_pattern_that_is_none(project: Write, gblint: Callable[..., Result], pattern: str) -> None:
    project({"a.py": "x = 1\n", "gen.py": "x = 1\n", ".git/HEAD": "", ".gitignore": f"gen.py\n{pattern}\n"})
    shown = gblint("check", "--show-files")
    assert (shown.code, "a.py" in shown.out, "gen.py" in shown.out) == (0, True, False)
    project({"pyproject.toml": f"[tool.gblint]\nexclude = [{json.dumps(pattern)}]\n"})
    refused = gblint("check")
    assert refused.code == 2
    assert "is not a valid pattern" in refused.err


CHAINS = {"x()()…": ("x", "()"), "x and x…": ("x", " and x"), "x < x…": ("x", " < x"), "x.x…": ("x", ".x")}


@pytest.mark.parametrize("chain", CHAINS)
def test_long_chains_do_not_take_the_square_of_their_length(
    project: Write, gblint: Callable[..., Result], chain: str
) -> None:
    start, link = CHAINS[chain]
    model = "from torch import nn\n\nclass N(nn.Module):\n    def forward(self, x):\n        return " + start
    project({"m.py": model + 1500 * link + "\n"})
    begin = time.process_time()
    assert gblint("check", "-n", "-j1", "--min-confidence", "0").code in (0, 1)
    assert time.process_time() - begin < 10


def test_a_suite_on_the_line_of_its_head(project: Write, gblint: Callable[..., Result]) -> None:
    model = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def forward(self, x):
            y = x + 1
            with torch.no_grad(): x = x.item()
            return y * x
    """
    project({"m.py": model})
    result = gblint("check", "-n", "-j1", "--roots", "all", "--min-confidence", "0")
    assert "internal error" not in result.out


def test_nested_too_deeply_to_be_json(project: Write, gblint: Callable[..., Result]) -> None:
    deep = "[" * 100_000
    place = "out/-_0_0_0"
    folder = project({f"{place}/recompile_reasons_1.json": deep, f"{place}/dynamo_graph_break_reason_0.txt": "x"})
    assert gblint("logs", folder / "out").code in (0, 1)
    project({"nb.ipynb": '{"cells": [], "n": ' + "1" * 5000 + "}"})
    assert "not a notebook" in gblint("check", "-n", "nb.ipynb").out


def test_a_call_that_lacks_its_argument(project: Write, gblint: Callable[..., Result]) -> None:
    model = """
    import torch

    @torch.compile
    def f(x: torch.Tensor):
        if x.sum() > 0:
            return x * 2
        return torch.zeros_like()
    """
    project({"m.py": model})
    result = gblint("check", "-n", "-j1", "--min-confidence", "0")
    assert result.code == 1
    assert "internal error" not in result.out + result.err
