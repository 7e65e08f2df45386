"""Every labelled program, run under the installed torch, does what its header says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gblint.devtools.dynamo import DynamoRunner, Observed
from gblint.devtools.labels import program_problems
from gblint.devtools.programs import corpus_programs, labels_of, main_file, missing_packages

CORPUS = Path(__file__).parents[2] / "corpus"
PROGRAMS = corpus_programs(CORPUS)
TWINS = [program for program in PROGRAMS if program.name.endswith(".fixed.py")]


def name_of(program: Path) -> str:
    return f"{program.parent.name}/{program.name}"


def broken_twin(fixed: Path) -> Path:
    return fixed.with_name(fixed.name.removesuffix(".fixed.py") + ".py")


@pytest.fixture(scope="module")
def observed(request: pytest.FixtureRequest) -> dict[Path, Observed]:
    """What Dynamo did with each program that the selected tests ask for; all run first, two at a time."""
    selected = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    wanted = {params["program"] for params in selected if "program" in params}
    for fixed in [params["fixed"] for params in selected if "fixed" in params]:
        wanted |= {fixed, broken_twin(fixed)}
    programs = [program for program in PROGRAMS if program in wanted and not missing_packages(labels_of(program))]
    with DynamoRunner() as runner:
        return dict(zip(programs, runner.observe_all(programs), strict=True))


@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_labels_are_true(program: Path, observed: dict[Path, Observed]) -> None:
    labels = labels_of(program)
    if missing := missing_packages(labels):
        pytest.skip(f"needs {', '.join(missing)}")
    assert program_problems(labels, observed[program]) == []


@pytest.mark.parametrize("fixed", TWINS, ids=name_of)
def test_fixed_twin_is_clean_and_computes_the_same(fixed: Path, observed: dict[Path, Observed]) -> None:
    original = broken_twin(fixed)
    assert labels_of(original).expect
    assert not labels_of(fixed).expect
    assert f"# fixes: {original.name}\n" in main_file(fixed).read_text(encoding="utf8")
    if original not in observed:
        pytest.skip("needs a package that is missing")
    sums = re.findall(r"^checksum .*$", observed[original].output, re.MULTILINE)
    assert len(sums) == 1
    assert re.findall(r"^checksum .*$", observed[fixed].output, re.MULTILINE) == sums
