"""What is worth fixing first, what comes first in the file, and which finding is the same as one of an earlier run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from hashlib import sha256
from itertools import groupby

from gblint.checking import Outcome, Problem
from gblint.findings.finding import Finding
from gblint.report.cells import place_order
from gblint.report.style import in_checkout

_COST = {"raises": -1, "frame-falls-back": 0, "splits-graph": 1, "masked": 2}
_LAST = {"fails": -1, "recompiles": 1, "ignored": 2, "needless": 3, "masked": 4}


def rank(finding: Finding) -> tuple[object, ...]:
    """Sorts findings by worth: on a hot path, surely, in many roots, costly, often run; then what is no break, and
    those hidden behind another one last."""
    return (
        _LAST.get(finding.consequence, 0),
        not finding.hot,
        -min(9, int(10 * finding.confidence)),  # a few percent do not outweigh the cost
        -finding.reach.bit_length(),  # 2 or 3 roots before one, 4 to 7 before these; what it costs decides among them
        _COST.get(finding.consequence, 1),
        -finding.heat,
        -finding.confidence,
        place_order(finding.filename),
        finding.row,
        finding.column,
        finding.code,
    )


def by_worth(findings: Iterable[Finding]) -> list[Finding]:
    """Findings by worth, those of one file together: the file with the worthiest one first.

    Hot ones come before the others, what is no break after them, and masked ones last, whatever file they are in.
    """
    ranked = sorted(findings, key=rank)
    ordered: list[Finding] = []
    for _, part in groupby(ranked, key=lambda f: (_LAST.get(f.consequence, 0), f.hot)):
        files: dict[str, list[Finding]] = {}
        for finding in part:
            files.setdefault(place_order(finding.filename)[0], []).append(finding)
        ordered += [finding for group in files.values() for finding in group]
    return ordered


def by_place(outcome: Outcome) -> list[Finding | Problem]:
    """All there is to report by file and row."""
    items: list[Finding | Problem] = [*outcome.findings, *outcome.problems]
    return sorted(items, key=lambda item: (place_order(item.filename), item.row, item.column, item.code))


def numbered(outcome: Outcome) -> list[tuple[Finding | Problem, str, int]]:
    """All there is to report by file and row, each with what identifies it between runs, and its number among those
    that this identifies.

    Neither depends on rows: lines that come or go above a finding do not make it a new one.
    """
    seen: Counter[str] = Counter()
    items: list[tuple[Finding | Problem, str, int]] = []
    for item in by_place(outcome):
        where = item.function if isinstance(item, Finding) else item.message
        key = "\0".join((in_checkout(item.filename), item.code, item.name, where))
        seen[key] += 1
        items.append((item, key, seen[key]))
    return items


def fingerprint(key: str, number: int) -> str:
    """A short text that stands for one of `numbered`."""
    return sha256(f"{key}\0{number}".encode("utf-8", "backslashreplace")).hexdigest()[:32]
