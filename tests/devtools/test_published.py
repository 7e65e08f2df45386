"""The page about accuracy says what is recorded, and what has no rule."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gblint.devtools.programs import LABELLED
from gblint.devtools.published import live_ids, page, predicted_ids, unpredicted
from gblint.devtools.scores import load_scores

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "corpus"


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return page(ROOT).splitlines()


def test_every_library_and_collection_has_a_line(lines: list[str]) -> None:
    scores = load_scores(CORPUS)
    first = {line.split("|")[1].strip() for line in lines if line.startswith("| ")}
    assert first.issuperset(library for measured in scores.truth.values() for library in measured.libraries)
    assert first.issuperset(code for measured in scores.truth.values() for code in measured.rules)
    assert first.issuperset(part.removeprefix("torch-") for part in scores.programs if part.startswith("torch-"))


def test_figures_are_those_of_the_file(lines: list[str]) -> None:
    figures = load_scores(CORPUS).truth["modeling"].figures
    line = next(line for line in lines if line.startswith("| **models of"))
    shown = [cell.strip() for cell in line.split("|")[3:-1]]
    wanted = (figures["recall_lines"], figures["recall_lines_id"], figures["precision"], figures["precision_id"])
    assert [shown[0], shown[1], shown[3], shown[4]] == [f"{figure:.3f}" for figure in wanted]


def test_every_id_has_a_rule_or_a_reason(lines: list[str]) -> None:
    live, known = live_ids(LABELLED), predicted_ids(ROOT / "rules")
    start = lines.index("## What is not predicted")
    linked = set(re.findall(r"\[(GB\d{4})\]", "\n".join(lines[start:])))
    assert linked == set(live) - known


def test_what_has_no_rule_on_purpose_has_none() -> None:
    """A reason for an id that has a rule, or that no release has, would be a lie."""
    live, known = live_ids(LABELLED), predicted_ids(ROOT / "rules")
    codes = [code for reason in unpredicted(CORPUS).values() for code in reason.ids]
    assert len(codes) == len(set(codes))
    assert set(codes) <= set(live) - known
