"""The analyzer's figures on the labelled programs stay above their floors."""

from __future__ import annotations

from pathlib import Path

import pytest

from gblint.devtools.programs import collections_in
from gblint.devtools.score import Runner, below_floors, load_floors, programs_score, release_score, scored_releases

CORPUS = Path(__file__).parents[2] / "corpus"
FLOORS = load_floors(CORPUS / "floors.toml")
COLLECTIONS = {name: folder for name, folder in collections_in(CORPUS).items() if name in FLOORS}


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_programs(collection: str) -> None:
    score = programs_score(COLLECTIONS[collection], Runner((), jobs=1))
    drops = below_floors({collection: score.figures}, {collection: FLOORS[collection]})
    assert not drops, "\n".join([*drops, *score.missed, *score.noisy])


@pytest.mark.parametrize(("part", "minor"), scored_releases(CORPUS).items())
def test_programs_of_each_release(part: str, minor: str) -> None:
    score = release_score(CORPUS, minor, jobs=1)
    drops = below_floors({part: score.figures}, {part: FLOORS[part]})
    assert not drops, "\n".join([*drops, *score.missed, *score.noisy])
