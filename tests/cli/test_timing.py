"""`gblint check --timing` says where the time went."""

from __future__ import annotations

import re
import time

import pytest

from gblint.timing import Clock
from tests.conftest import spawn

MODEL = "import torch\n\n\n@torch.compile\ndef f(x):\n    print(x)\n    return x\n"


def seconds(text: str) -> dict[str, float]:
    """The lines of a report: what it is about → seconds."""
    return {name: float(number) for number, name in re.findall(r"^ +([\d.]+) s  (.*)$", text, re.MULTILINE)}


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_stages_and_files_add_up(jobs, project) -> None:
    root = project({f"model_{n}.py": MODEL for n in range(12)} | {"pyproject.toml": ""})
    result = spawn("check", "--timing", "-j", jobs, "--output-format", "concise", cwd=root)
    assert result.code == 1
    assert result.out.count("GB0059") == 12, "standard output has the report alone"
    total = float(re.search(r"^time: ([\d.]+) s", result.err, re.MULTILINE)[1])  # type: ignore[index]
    lines = seconds(result.err)
    files = {name: spent for name, spent in lines.items() if name.startswith("model_")}
    stages = {name: spent for name, spent in lines.items() if name not in files and name != "2 more"}
    assert {"index the project", "follow calls from roots", "the rest"} <= set(stages)
    assert sum(stages.values()) == pytest.approx(total, abs=0.02)
    assert len(files) == 10
    assert list(files.values()) == sorted(files.values(), reverse=True)
    assert all(spent <= total for spent in files.values())
    assert "12 files with roots analysed, 0 from the cache" in result.err

    warm = spawn("check", "--timing", "-j", jobs, cwd=root).err
    assert "0 files with roots analysed, 12 from the cache\n" in warm
    assert "model_" not in warm


def test_without_the_option_there_is_nothing_of_it(project) -> None:
    root = project({"model.py": MODEL})
    assert "time:" not in spawn("check", cwd=root).err


@pytest.mark.parametrize("beside", ["--fix", "--diff", "--compare-torch=2.14", "--verify=true"])
def test_it_goes_with_a_plain_check(beside, project, gblint) -> None:
    project({"model.py": MODEL})
    result = gblint("check", "--timing", beside)
    assert result.code == 2
    assert "--timing goes with a plain check" in result.err


def test_a_stage_within_another_is_taken_out_of_it() -> None:
    clock = Clock()
    clock.on = True
    with clock.stage("outer"):
        time.sleep(0.01)
        with clock.stage("inner"):
            time.sleep(0.05)
        with clock.stage("inner"):
            time.sleep(0.05)
    assert clock.stages["inner"] >= 0.1
    assert 0.01 <= clock.stages["outer"] < 0.09


def test_a_clock_that_is_off_counts_nothing() -> None:
    clock = Clock()
    with clock.stage("outer"):
        pass
    assert not clock.stages
