"""What is worth fixing first."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from gblint.findings.finding import Finding

_COST = {"frame-falls-back": 0, "splits-graph": 1, "masked": 2}


def rank(finding: Finding) -> tuple[object, ...]:
    """Sorts findings by worth: on a hot path, surely, costly, often run; those hidden behind another one last."""
    return (
        finding.consequence == "masked",
        not finding.hot,
        -min(9, int(10 * finding.confidence)),  # a few percent do not outweigh the cost
        _COST.get(finding.consequence, 1),
        -finding.heat,
        -finding.confidence,
        finding.filename,
        finding.row,
        finding.column,
        finding.code,
    )


def by_worth(findings: Iterable[Finding]) -> list[Finding]:
    """Findings by worth, those of one file together: the file with the worthiest one first.

    Hot ones come before the others and masked ones last, whatever file they are in.
    """
    ranked = sorted(findings, key=rank)
    ordered: list[Finding] = []
    for _, part in groupby(ranked, key=lambda f: (f.consequence == "masked", f.hot)):
        files: dict[str, list[Finding]] = {}
        for finding in part:
            files.setdefault(finding.filename, []).append(finding)
        ordered += [finding for group in files.values() for finding in group]
    return ordered
