"""Recorded scores of the analyzer: corpus/scores.json, which `python -m gblint.devtools.measure` writes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from gblint.devtools.accuracy import Tally
from gblint.devtools.sources import SETS

FILE = "scores.json"
Figures = dict[str, float | None]


class Held(msgspec.Struct, frozen=True):
    """How findings of any confidence did against confidences from a fit that had not seen their library.

    findings: how many on measured rows. hits: the share that broke; mean: what the fit gave them on average.
    error: the calibration error, None for too few findings.
    """

    findings: int
    hits: float
    mean: float
    error: float | None


class Row(msgspec.Struct, frozen=True):
    """A library or an id: counts and figures at the default confidence, average precision over all findings, and how
    confidences held."""

    tally: Tally
    figures: Figures
    held: Held | None


class Measured(msgspec.Struct, frozen=True):
    """What the analyzer scored on one set of libraries. versions: "name version" of each. held: how confidences did."""

    date: str
    versions: list[str]
    figures: Figures
    held: Held | None
    libraries: dict[str, Row]
    rules: dict[str, Row]


class Scores(msgspec.Struct):
    """The file: figures of programs by collection and release, what was measured on truth by set, calibration errors on
    all of truth by what was left out, and a digest of the truth that all this is about."""

    programs: dict[str, Figures] = {}
    truth: dict[str, Measured] = {}
    calibration: dict[str, float] = {}
    digest: str = ""


ENOUGH = 30  # findings from which on a calibration error says something


def load_scores(corpus: Path) -> Scores:
    """The recorded scores; empty ones if there are none. Raises msgspec.ValidationError for another shape."""
    file = corpus / FILE
    return msgspec.json.decode(file.read_bytes(), type=Scores) if file.is_file() else Scores()


def truth_digest(corpus: Path) -> str:
    """A short digest of all recorded truth."""
    told = hashlib.blake2b(digest_size=8)
    for name in SETS:
        told.update((corpus / "truth" / f"{name}.jsonl").read_bytes())
    return told.hexdigest()


def drops(recorded: Mapping[str, float | None], found: Mapping[str, float | None]) -> list[str]:
    """In words, each recorded figure that is no longer reached."""
    return [
        f"{name} is {found.get(name)}, and was {figure}"
        for name, figure in recorded.items()
        if figure is not None and (found.get(name) or 0.0) < figure
    ]
