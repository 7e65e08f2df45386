"""The figures that docs/accuracy.md gives for small libraries are still reached.

`python -m gblint.devtools.sources small` fetches their sources, as continuous integration does.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gblint.config import MIN_CONFIDENCE
from gblint.devtools.accuracy import Tally, score_truth
from gblint.devtools.scores import drops, load_scores
from gblint.devtools.score import ROOTS, Runner
from gblint.devtools.sources import CACHE, PIN, SMALL, find_sources, requirements
from gblint.devtools.truth import load_truth

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "corpus"
SET = "libraries"
PACKAGES = [name.replace("-", "_") for name, _ in PIN.findall(requirements(CORPUS, SMALL).read_text("utf8"))]


def test_small_libraries_are_those_of_the_set() -> None:
    small, whole = (set(PIN.findall(requirements(CORPUS, name).read_text("utf8"))) for name in (SMALL, SET))
    assert small < whole


@pytest.fixture(scope="module")
def tallies() -> dict[str, Tally]:
    """What is found in each library now."""
    sources = find_sources([ROOT / CACHE / SET, ROOT / CACHE / SMALL], requirements(CORPUS, SMALL))
    if sources is None:
        pytest.skip("the sources are not there: python -m gblint.devtools.sources small")
    findings = Runner((), jobs=2).findings([sources / package for package in PACKAGES], ROOTS[SET])
    return score_truth(findings, load_truth(CORPUS / "truth" / f"{SET}.jsonl"), MIN_CONFIDENCE).groups


@pytest.mark.parametrize("package", PACKAGES)
def test_no_library_has_dropped(package: str, tallies: dict[str, Tally]) -> None:
    recorded = load_scores(CORPUS).truth[SET].libraries[package].tally
    assert drops(recorded.figures(), tallies[package].figures()) == [], "python -m gblint.devtools.measure tells more"
