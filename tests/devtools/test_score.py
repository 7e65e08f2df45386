"""The score command: parts, reports, floors, what it says when something is missing."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gblint.devtools import score, sources
from gblint.devtools.programs import collections_in
from gblint.devtools.score import below_floors

TRUTH_LINE = '{"file":"lib/a.py","traced":"1-9","sites":[{"row":5,"function":"f","ids":["GB0059"],"types":["t"]}]}\n'


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    programs = folder / "programs" / "small"
    programs.mkdir(parents=True)
    (programs / "breaks.py").write_text("# expect: GB0059 @ 3\nimport torch\nprint(1)\n")
    (folder / "truth").mkdir()
    (folder / "truth" / "modeling.jsonl").write_text(TRUTH_LINE)
    (folder / "truth" / "modeling-requirements.txt").write_text("my-lib==1.0\n")
    (folder / "truth" / "libraries-requirements.txt").write_text("other==2.0\n")
    (folder / "floors.toml").write_text("[small]\nrecall_id = 0.5\n[modeling]\nrecall = 0.9\n")
    return folder


@pytest.fixture
def site_packages(tmp_path: Path) -> Path:
    folder = tmp_path / "env" / "site-packages"
    (folder / "lib").mkdir(parents=True)
    (folder / "My_Lib-1.0.dist-info").mkdir()
    return folder


def run(corpus: Path, *arguments: str) -> Result:
    return CliRunner().invoke(score.main, ["--corpus", str(corpus), *arguments])


def report(tmp_path: Path, *findings: tuple[str, int, str]) -> str:
    shaped = [{"filename": file, "location": {"row": row}, "code": code} for file, row, code in findings]
    path = tmp_path / "report.json"
    path.write_text(json.dumps(shaped))
    return str(path)


def test_report_of_programs(corpus: Path, tmp_path: Path) -> None:
    program = str(corpus / "programs" / "small" / "breaks.py")
    good = run(corpus, "small", "--findings", report(tmp_path, (program, 3, "GB0059")), "--json", "--check")
    assert good.exit_code == 0, good.output
    assert json.loads(good.stdout)["small"] == dict.fromkeys(score.FIGURES_OF_PROGRAMS, 1.0)
    bad = run(corpus, "small", "--findings", report(tmp_path, (program, 2, "GB0124")), "--check", "--show")
    assert bad.exit_code == 1
    assert "small: recall_id is 0.0, below 0.5" in bad.output
    assert "missed  breaks.py: GB0059 at breaks.py:3" in bad.output
    assert "noisy   breaks.py: GB0124 at breaks.py:2" in bad.output


def test_report_of_libraries(corpus: Path, site_packages: Path, tmp_path: Path) -> None:
    findings = report(tmp_path, (str(site_packages / "lib" / "a.py"), 5, "GB0124"))
    result = run(corpus, "modeling", "--sources", str(site_packages), "--findings", findings, "--json")
    figures = json.loads(result.stdout)["modeling"]
    assert (figures["recall"], figures["recall_id"], figures["precision"]) == (1, 0, 1)


def test_missing_sources_are_said_and_not_counted_as_a_drop(corpus: Path, tmp_path: Path) -> None:
    result = run(corpus, "modeling", "--sources", str(tmp_path), "--check")
    assert result.exit_code == 0
    assert "modeling: skipped" in " ".join(result.output.split())


def test_unknown_part(corpus: Path) -> None:
    result = run(corpus, "smal")
    assert result.exit_code == 2
    assert "no smal in" in result.output
    assert "there: small, torch-2.13, modeling, libraries" in result.output


def test_a_figure_that_is_absent_is_below_its_floor() -> None:
    floors = {"a": {"recall": 0.5, "precision": 0.5, "exact": 0.5}, "b": {"recall": 1.0}}
    assert below_floors({"a": {"recall": 0.5, "precision": None}}, floors) == [
        "a: precision is None, below 0.5",
        "a: exact is None, below 0.5",
    ]


def test_the_floors_name_parts_and_figures_that_exist() -> None:
    corpus = Path(__file__).parents[2] / "corpus"
    programs = {*collections_in(corpus), *score.scored_releases(corpus)}
    for part, floors in score.load_floors(corpus / "floors.toml").items():
        names = score.FIGURES_OF_PROGRAMS if part in programs else score.FIGURES_OF_TRUTH
        assert part in {*programs, *sources.SETS}
        assert floors.keys() <= set(names)


def test_versions_are_compared_by_normalised_name(site_packages: Path, tmp_path: Path) -> None:
    pins = tmp_path / "pins.txt"
    pins.write_text("my.lib==1.0\nMy-Lib==1.1\n")
    assert sources.missing_versions(site_packages, pins) == ["My-Lib==1.1"]
    pins.write_text("my.lib==1.0\n")
    assert sources.find_sources([tmp_path / "absent", site_packages], pins) == site_packages


def test_fetching(corpus: Path, site_packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    commands: list[list[str]] = []

    def fake_pip(command: list[str], check: bool) -> None:
        commands.append(command)
        if "other" in Path(command[-1]).read_text():
            raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(subprocess, "run", fake_pip)
    fetched = CliRunner().invoke(sources.main, ["modeling", "--corpus", str(corpus)])
    assert fetched.output == ".cache/sources/modeling: fetched\n"
    assert "--no-deps" in commands[0]
    folder = tmp_path / ".cache" / "sources" / "modeling"
    assert [file.name for file in folder.iterdir()] == [sources.MARKER]
    (folder / sources.MARKER).unlink()
    site_packages.rename(folder)
    assert "there already" in CliRunner().invoke(sources.main, ["modeling", "--corpus", str(corpus)]).output
    failed = CliRunner().invoke(sources.main, ["libraries", "--corpus", str(corpus)])
    assert failed.exit_code == 1
    assert "pip could not fetch the sources of libraries" in failed.output
