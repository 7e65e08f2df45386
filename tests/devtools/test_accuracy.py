"""Scores are what their definitions say, on cases small enough to count by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from gblint.devtools.accuracy import Predicted, Score, from_finding, from_json, score_programs, score_truth
from gblint.devtools.truth import FileTruth, Site, Truth, load_truth, rows_of
from gblint.findings.finding import Finding

CORPUS = Path(__file__).parents[2] / "corpus"


def predicted(row: int, code: str, confidence: float = 1.0, file: str = "lib/a.py", end: int = 0) -> Predicted:
    return Predicted(file, row, end or row, code, confidence)


def test_findings_become_predictions() -> None:
    finding = Finding("GB0059", "n", "m", "/a.py", 3, 1, 5, 2, confidence=0.5, consequence="masked")
    assert from_finding(finding) == Predicted("/a.py", 3, 5, "GB0059", 0.5, masked=True, name="n")
    report = {"code": "GB0059", "filename": "/a.py", "location": {"row": 3}}
    assert from_json(report) == Predicted("/a.py", 3, 3, "GB0059")
    assert from_json(report | {"end_location": {"row": 5}, "consequence": "masked by 2"}).masked


# -------------------------------------------------------------------------------------------------------- programs


@pytest.fixture
def programs(tmp_path: Path) -> list[Path]:
    (tmp_path / "one.py").write_text("# expect: GB0059 @ 10\n# also: GB7000 @ 10\n# silent: GB0003 @ 12\n")
    (tmp_path / "two.py").write_text("# expect: none\n")
    (tmp_path / "three").mkdir()
    (tmp_path / "three" / "main.py").write_text("# expect: GB0124 @ part.py:2\n")
    (tmp_path / "three" / "part.py").write_text("\n\n")
    return [tmp_path / "one.py", tmp_path / "two.py", tmp_path / "three"]


def figures(score: Score) -> list[float | None]:
    return [score.figures[name] for name in ("recall", "recall_id", "precision", "precision_id", "exact")]


def test_everything_right(programs: list[Path]) -> None:
    one, _, three = programs
    findings = [
        predicted(9, "GB0059", file=str(one), end=10),
        predicted(2, "GB0124", file=str(three / "part.py")),
        predicted(12, "GB0003", file=str(one)),
    ]
    score = score_programs(findings, programs)
    assert figures(score) == [1, 1, 1, 1, 1]
    assert (score.missed, score.noisy) == ([], [])


def test_wrong_id_and_noise_and_miss(programs: list[Path]) -> None:
    one, two, _ = programs
    findings = [predicted(10, "GB0124", file=str(one)), predicted(4, "GB0170", file=str(two))]
    score = score_programs(findings, programs)
    assert figures(score) == [0.5, 0, 0.5, 0, 0]
    assert score.missed == ["one.py: GB0059 at one.py:10 (under another id)", "three: GB0124 at part.py:2"]
    assert score.noisy == ["two.py: GB0170 at two.py:4"]
    assert score.rules["GB0170"].findings == 1


def test_masked_findings_are_left_out_and_silent_lines_need_the_right_id(programs: list[Path]) -> None:
    one, two, _ = programs
    masked = Predicted(str(two), 4, 4, "GB0170", masked=True)
    score = score_programs([masked, predicted(12, "GB0059", file=str(one))], programs)
    assert score.noisy == []
    assert score.figures["exact"] == round(1 / 3, 4)


# ------------------------------------------------------------------------------------------------------- libraries


@pytest.fixture
def truth() -> Truth:
    return Truth(
        [
            FileTruth(
                "lib/a.py",
                traced="1-9,20",
                executed="1-30",
                frames="3-5",
                neutral="9",
                sites=(
                    Site(5, "f", ("GB0059",), ("print",), wraps=("GB7000",), text="x"),
                    Site(7, "f", ("GB0124",), ("item",), text="y"),
                    Site(8, "f", ("GB0039",), ("limit",), secondary=True),
                ),
            ),
            FileTruth("lib/b.py", traced="1-3", sites=(Site(2, "f", ("GB0124",), ("item",), text="y"),)),
        ]
    )


def test_rows() -> None:
    assert rows_of("3,7-9") == {3, 7, 8, 9}
    assert rows_of("") == set()


def test_judging(truth: Truth) -> None:
    findings = [
        predicted(5, "GB7000", 0.9),
        predicted(7, "GB0059", 0.8),
        predicted(6, "GB0059", 0.1),
        predicted(8, "GB0039"),  # secondary: neither asked for nor held against
        predicted(9, "GB0039"),  # neutral
        predicted(25, "GB0039"),  # executed, not traced
        predicted(5, "GB0059", file="lib/unknown.py"),
    ]
    score = score_truth(findings, truth, min_confidence=0.5)
    assert score.figures["judged"] == 2
    assert score.figures["recall"] == round(2 / 3, 4)
    assert score.figures["recall_lines"] == 0.75  # of two lines, one with one of its two copies
    assert score.figures["precision"] == 1
    assert score.figures["recall_id"] == round(1 / 3, 4)
    assert score.figures["precision_id"] == 0.5
    assert score.figures["executed_judged"] == 3
    assert score.figures["average_precision"] == round(2 / 3, 4)
    assert score.figures["average_precision_id"] == round(1 / 3, 4)
    assert score.groups["lib"].breaks == 3
    assert (score.rules["GB0124"].breaks, score.rules["GB0124"].found, score.rules["GB0124"].found_id) == (2, 1, 0)
    assert score.missed == ["GB0124 at lib/b.py:2 in f ()"]


def test_average_precision_takes_equal_confidences_as_one_step(truth: Truth) -> None:
    findings = [predicted(6, "GB0059", 0.5), predicted(5, "GB0059", 0.5), predicted(7, "GB0124", 0.2)]
    # first step: one site at precision 1/2; second: one more at 2/3
    assert score_truth(findings, truth).figures["average_precision"] == round((1 / 2 + 2 / 3) / 3, 4)


def test_long_findings_count_for_their_first_rows_only(truth: Truth) -> None:
    assert score_truth([predicted(1, "GB0059", end=400)], truth).figures["recall"] == round(2 / 3, 4)
    far = Truth([FileTruth("lib/a.py", traced="1,40", sites=(Site(40, "f", ("GB0059",), ("print",)),))])
    assert score_truth([predicted(1, "GB0059", end=400)], far).figures["recall"] == 0


@pytest.mark.parametrize("filename", ["/env/site-packages/lib/a.py", "/src/lib/a.py", "C:\\src\\lib\\a.py", "lib/a.py"])
def test_places(truth: Truth, filename: str) -> None:
    assert truth.place(filename) == "lib/a.py"


@pytest.mark.parametrize(("name", "sites", "lines"), [("modeling", 140, 72), ("libraries", 328, 319)])
def test_recorded_truth_is_complete(name: str, sites: int, lines: int) -> None:
    truth = load_truth(CORPUS / "truth" / f"{name}.jsonl")
    assert len(truth.sites) == sites
    assert len(truth.patterns) == lines
    assert all(row in truth.traced[file] for file, row in truth.sites)
