"""Recorded scores are of the truth that is there, complete, and counted as they say."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gblint.devtools.accuracy import Predicted, Tally
from gblint.devtools.fit import Collected, Example
from gblint.devtools.measure import measure_truth, text
from gblint.devtools.programs import collections_in
from gblint.devtools.score import scored_releases
from gblint.devtools.scores import Scores, drops, load_scores, truth_digest
from gblint.devtools.sources import PIN, SETS, requirements
from gblint.devtools.truth import FileTruth, Site, Truth

CORPUS = Path(__file__).parents[2] / "corpus"


def test_drops() -> None:
    recorded = {"recall": 0.9, "precision": 0.5, "exact": None}
    assert drops(recorded, {"recall": 0.91, "precision": 0.5, "exact": 0.1}) == []
    assert drops(recorded, {"recall": 0.89, "precision": None}) == [
        "recall is 0.89, and was 0.9", "precision is None, and was 0.5",
    ]  # fmt: skip


def test_the_file_is_about_the_truth_that_is_there() -> None:
    scores = load_scores(CORPUS)
    assert scores.digest == truth_digest(CORPUS), "recorded truth has changed: python -m gblint.devtools.measure"
    assert set(scores.truth) == set(SETS)
    assert set(scores.programs) == {*collections_in(CORPUS), *scored_releases(CORPUS)}
    for name in SETS:
        pins = PIN.findall(requirements(CORPUS, name).read_text("utf8"))
        assert scores.truth[name].versions == [" ".join(pin) for pin in pins]


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    scores = Scores(programs={"field": {"recall": 0.5, "exact": None}}, calibration={"fitted": 0.1}, digest="x")
    (tmp_path / "scores.json").write_text(text(scores), encoding="utf8")
    assert load_scores(tmp_path) == scores


@pytest.fixture
def collected() -> Collected:
    """Two libraries: of `one` a break is found and one missed, of `two` there is a false finding."""
    truth = Truth(
        [
            FileTruth("one/a.py", traced="1-9", sites=(site(2, "GB0124"), site(5, "GB0170"))),
            FileTruth("two/b.py", traced="1-9", sites=(site(3, "GB0124"),)),
        ]
    )
    found = [("one/a.py", 2, True), ("two/b.py", 3, True), ("two/b.py", 7, False)]
    findings = [Predicted(file, row, row, "GB0124", 0.9, name="read") for file, row, _ in found]
    examples = [
        Example(finding, hit, "libraries", f"libraries {finding.file[:3]}", 0.9)
        for finding, (_, _, hit) in zip(findings, found, strict=True)
    ]
    random.Random(0).shuffle(examples)
    return Collected(examples, {"libraries": (findings, truth)})


def site(row: int, code: str) -> Site:
    return Site(row, "f", (code,), ("x",), text=f"{row}{code}")


def test_libraries_and_ids_have_their_own_figures(collected: Collected) -> None:
    measured = measure_truth(collected, CORPUS)["libraries"]
    one, two = measured.libraries["one"], measured.libraries["two"]
    assert one.tally == Tally(2, 1, 1, 1, 1, 1)
    assert (one.figures["recall_lines"], one.figures["precision"], one.figures["average_precision"]) == (0.5, 1, 0.5)
    assert (two.figures["recall_lines"], two.figures["precision"]) == (1, 0.5)
    read, branch = measured.rules["GB0124"], measured.rules["GB0170"]
    assert (read.figures["recall_lines"], read.figures["precision"]) == (1, round(2 / 3, 4))
    assert (branch.figures["recall_lines"], branch.figures["precision"], branch.held) == (0, None, None)


def test_confidences_are_held_against_what_broke(collected: Collected) -> None:
    measured = measure_truth(collected, CORPUS)["libraries"]
    held = measured.libraries["two"].held
    assert held is not None
    assert (held.findings, held.hits, held.error) == (2, 0.5, None)
    assert 0.5 < held.mean < 1
