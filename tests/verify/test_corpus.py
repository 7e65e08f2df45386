"""On every labelled program, verification lists exactly the breaks of its label, as confirmed or missed.

All are run through the same runner, by a server that has torch imported; some are copied elsewhere and run as a user
would, from the command line.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from gblint.checking import Options, Outcome
from gblint.devtools.labels import Labels
from gblint.devtools.programs import corpus_programs, files_of, labels_of, main_file, missing_packages
from gblint.verify.running import Command, Ran, run
from gblint.verify.sites import Site
from gblint.verify.verifying import Verified, compare, predict
from tests.conftest import spawn
from tests.verify.forks import Forks

pytest.importorskip("torch")

CORPUS = Path(__file__).parents[2] / "corpus"
PROGRAMS = [program for program in corpus_programs(CORPUS) if not missing_packages(labels_of(program))]
# With this backend no compiler has to run; every so many of them.
EAGER = [program for program in PROGRAMS if 'backend="eager"' in main_file(program).read_text("utf-8")]
SAMPLE = EAGER[:: max(1, len(EAGER) // 10)]


def name_of(program: Path) -> str:
    return f"{program.parent.name}/{program.name}"


@pytest.fixture(scope="module")
def predicted(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """All findings in the corpus at once; a program's do not depend on the others."""
    cache = tmp_path_factory.mktemp("cache")
    return predict(Options(paths=(str(CORPUS / "programs"), str(CORPUS / "models")), isolated=True, cache_dir=cache))


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest) -> Iterator[dict[Path, Ran]]:
    """What came of each program that the selected tests ask for, two at a time."""
    items = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    wanted = {params["program"] for params in items if "program" in params}
    programs = [program for program in PROGRAMS if program in wanted]
    with Forks() as forks, ThreadPoolExecutor(2) as pool:
        commands = [Command(forks.words(main_file(program)), timeout=120) for program in programs]
        yield dict(zip(programs, pool.map(run, commands), strict=True))


def verified(program: Path, predicted: Outcome, ran: Ran) -> Verified:
    files = {str(file) for file in files_of(program)}
    mine = msgspec.structs.replace(
        predicted, findings=[f for f in predicted.findings if f.filename in files], notes=[], problems=[]
    )
    return compare(Options(paths=(str(program),), isolated=True), mine, ran)


def places(program: Path, found: list[Site], silent: bool) -> set[tuple[str, int, str]]:
    top = main_file(program)
    names = {
        s.filename: "" if Path(s.filename) == top else Path(s.filename).relative_to(top.parent).as_posix()
        for s in found
    }
    return {(names[s.filename], s.row, s.code) for s in found if s.silent is silent}


def labelled(labels: Labels, silent: bool) -> set[tuple[str, int, str]]:
    return {(place.file, place.row, place.code) for place in (labels.silent if silent else labels.expect)}


@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_exactly_the_labelled_breaks(program: Path, predicted: Outcome, runs: dict[Path, Ran]) -> None:
    result = verified(program, predicted, runs[program])
    found = [judged.site for judged in result.breaks if judged.site]
    assert len(found) == len(result.breaks)
    labels = labels_of(program)
    assert places(program, found, silent=False) == labelled(labels, silent=False)
    assert places(program, found, silent=True) == labelled(labels, silent=True)
    wraps = {(*place, code) for s in found for place in places(program, [s], s.silent) for code in s.wraps}
    also = {(p.file, p.row, p.code) for p in labels.also}
    assert {(file, row, code) for file, row, _, code in wraps} - labelled(labels, silent=False) == also
    assert result.elsewhere == []
    assert result.foreign == []
    assert result.outcome.notes == []


def test_verdicts_add_up(predicted: Outcome, runs: dict[Path, Ran]) -> None:
    """Nearly all programs are made to reach what they are about, so few predictions stay open."""
    verdicts = [j.verdict for program, ran in runs.items() for j in verified(program, predicted, ran).judged]
    if len(runs) == len(PROGRAMS):
        assert verdicts.count("confirmed") > 0.9 * len([v for v in verdicts if v in ("confirmed", "refuted")])
        assert verdicts.count("not-reached") < 0.05 * len(verdicts)


@pytest.mark.parametrize("program", SAMPLE, ids=name_of)
def test_from_the_command_line(program: Path, tmp_path: Path) -> None:
    place = tmp_path / program.name
    (shutil.copytree if program.is_dir() else shutil.copy)(program, place)
    file = main_file(place)
    options = ("--output-format", "json", "-n", "--isolated")
    result = spawn("verify", place, *options, "--", sys.executable, file.name, cwd=file.parent)
    assert f"gblint: running `{sys.executable} {file.name}` to verify" in result.err
    report = json.loads(result.out)
    breaks = [f for f in report["findings"] if f["verdict"] in ("confirmed", "missed")]
    observed = [f["observed"] for f in breaks]
    found = {(Path(o["filename"]).name, o["row"], o["code"]) for o in observed if not o["silent"]}
    labels = labels_of(program)
    assert found == {(p.file or file.name, p.row, p.code) for p in labels.expect}
    assert result.code == int(bool(report["findings"]))
    assert report["run"]["exit_code"] == 0
