"""Every breaking program of the corpus, repaired: Dynamo says what became of it, and the results are the same."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
import tomli

from gblint.devtools.dynamo import DynamoRunner
from gblint.devtools.programs import labels_of, missing_packages
from gblint.devtools.repairs import CORPUS, Trial, breaking, settled, trials
from gblint.fixing.plan import Choice

PROGRAMS = [p for p in breaking([CORPUS]) if not missing_packages(labels_of(p))]
FLOORS = tomli.loads((CORPUS.parent / "repairs.toml").read_text("utf8"))
WRONG = ("WRONG", "worse")

Trials = dict[tuple[Path, bool], Trial]


def name_of(program: Path) -> str:
    return f"{program.parent.name}/{program.name}"


@pytest.fixture(scope="module")
def tried(request: pytest.FixtureRequest) -> Trials:
    """What became of the programs that the selected tests ask for, with safe repairs alone and with all."""
    selected = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    wanted = {params["repaired"] for params in selected if "repaired" in params}
    programs = [p for p in PROGRAMS if p in wanted]
    with DynamoRunner() as runner:
        return {
            (trial.path, unsafe): trial
            for unsafe in (False, True)
            for trial in trials(programs, Choice(unsafe=unsafe), runner)
        }


@pytest.mark.parametrize("repaired", PROGRAMS, ids=name_of)
def test_a_safe_repair_changes_no_result(repaired: Path, tried: Trials) -> None:
    trial = tried[repaired, False]
    assert trial.before.breaks
    assert trial.verdict not in WRONG


@pytest.mark.parametrize("repaired", PROGRAMS, ids=name_of)
def test_all_repairs_together_keep_the_result_and_settle(repaired: Path, tried: Trials) -> None:
    trial = tried[repaired, True]
    assert trial.verdict not in WRONG
    assert settled(trial, Choice(unsafe=True))


def test_enough_programs_end_without_a_break(tried: Trials) -> None:
    if len(tried) < 2 * len(PROGRAMS):
        pytest.skip("not all programs were selected")
    shares: dict[str, dict[str, float]] = defaultdict(dict)
    for unsafe, key in ((False, "safe"), (True, "clean")):
        for folder in FLOORS:
            verdicts = [t.verdict for (p, u), t in tried.items() if u is unsafe and p.parent.name == folder]
            shares[folder][key] = verdicts.count("clean") / len(verdicts)
    assert {f: {k: v for k, v in floors.items() if shares[f][k] < v} for f, floors in FLOORS.items()} == {
        folder: {} for folder in FLOORS
    }, dict(shares)
