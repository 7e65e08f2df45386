"""The analyzer's figures on the labelled programs are those that are published, or better, and above their floors."""

from __future__ import annotations

from pathlib import Path

import pytest

from gblint.devtools.accuracy import Score
from gblint.devtools.scores import drops, load_scores
from gblint.devtools.programs import collections_in
from gblint.devtools.score import Runner, below_floors, load_floors, programs_score, release_score, scored_releases

CORPUS = Path(__file__).parents[2] / "corpus"
RECORDED = load_scores(CORPUS).programs
FLOORS = load_floors(CORPUS / "floors.toml")
COLLECTIONS = {name: folder for name, folder in collections_in(CORPUS).items() if name in FLOORS}


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_programs(collection: str) -> None:
    score = programs_score(COLLECTIONS[collection], Runner((), jobs=1))
    _holds(collection, score)


@pytest.mark.parametrize(("part", "minor"), scored_releases(CORPUS).items())
def test_programs_of_each_release(part: str, minor: str) -> None:
    score = release_score(CORPUS, minor, jobs=1)
    _holds(part, score)


def _holds(part: str, score: Score) -> None:
    """Where it does not for a good reason, `python -m gblint.devtools.measure programs` records what is."""
    fallen = below_floors({part: score.figures}, {part: FLOORS[part]}) + drops(RECORDED[part], score.figures)
    assert not fallen, "\n".join([*fallen, *score.missed, *score.noisy])
