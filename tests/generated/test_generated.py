"""A slice of the generated programs: gblint agrees with Dynamo, and repairs change no result."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gblint.devtools.dynamo import DynamoRunner
from gblint.devtools.generated.grammar import program
from gblint.devtools.generated.judging import LIMIT, observations, predictions, verdicts
from gblint.devtools.generated.mending import mended
from gblint.devtools.generated.shrinking import shrunk
from gblint.devtools.observed import Observed

SEEDS = range(300, 340)
WORST = 0.1  # share of findings and of breaks that may be wrong here; over many programs it is far less

Programs = dict[int, str]


@pytest.fixture(scope="module")
def programs() -> Programs:
    return {seed: program(seed) for seed in SEEDS}


@pytest.fixture(scope="module")
def runner() -> Iterator[DynamoRunner]:
    pytest.importorskip("torch")
    with DynamoRunner(limit=LIMIT) as host:
        yield host


@pytest.fixture(scope="module")
def observed(programs: Programs, runner: DynamoRunner) -> dict[int, Observed]:
    return dict(observations(programs, runner))


def test_a_seed_gives_one_program(programs: Programs) -> None:
    assert len(set(programs.values())) == len(programs)
    for seed, text in programs.items():
        compile(text, f"program_{seed}.py", "exec")
        assert program(seed) == text


def test_predictions_are_what_dynamo_does(programs: Programs, observed: dict[int, Observed]) -> None:
    found = [one for one in verdicts(programs, observed) if not one.invalid]
    breaks, findings = sum(len(v.breaks) for v in found), sum(len(v.findings) for v in found)
    missed, false = [(v.seed, v.missed) for v in found if v.missed], [(v.seed, v.false) for v in found if v.false]
    assert len(found) > 0.8 * len(programs)
    assert breaks > 10
    assert sum(len(places) for _, places in missed) <= WORST * breaks, missed
    assert sum(len(places) for _, places in false) <= WORST * findings, false


@pytest.mark.parametrize("unsafe", [False, True])
def test_repairs_change_no_result(
    programs: Programs, observed: dict[int, Observed], runner: DynamoRunner, unsafe: bool
) -> None:
    some = dict(list(programs.items())[:12])
    repaired = list(mended(some, observed, unsafe, runner))
    assert not unsafe or any(one.verdict == "clean" for one in repaired)
    assert [one for one in repaired if one.verdict in ("WRONG", "worse")] == []


def test_a_program_shrinks_to_what_matters() -> None:
    text = "import os\nimport sys\n\ndef f(x):\n    y = x + 1\n    if x:\n        print(x, y)\n    return y\n\nf(1)\n"
    assert shrunk(text, lambda smaller: "print(" in smaller) == "def f(x):\n    print(x, y)"


def test_predictions_leave_out_what_is_masked(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("programs")
    lines = (
        "import torch\n\n@torch.compile\ndef f(x):\n    for i in range(2):\n        print(i)\n"
        "        print(x.sum().item())\n    return x\n\nf(torch.ones(2))\n"
    )
    (folder / "program.py").write_text(lines, encoding="utf8")
    ((_, found),) = predictions(folder).items()
    assert [(one.row, one.code) for one in found] == [(6, "GB0059")]
