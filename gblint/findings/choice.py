"""Which finding stands for a break that several were found for. A warm run needs this, and not the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gblint.findings.finding import Finding


def likeliest(findings: Iterable[Finding], rank: Callable[[Finding], Any]) -> list[Finding]:
    """The highest ranking finding of each place and kind of event, and of each place and code; in order of place."""
    kept: dict[tuple[object, ...], Finding] = {}
    for finding in sorted(findings, key=rank):
        kept[(*_place(finding), finding.event)] = finding
    best = {(*_place(f), f.code): f for f in sorted(kept.values(), key=rank)}
    return sorted(best.values(), key=lambda f: (f.filename, f.row, f.column, f.code))


def _place(finding: Finding) -> tuple[object, ...]:
    return finding.filename, finding.row, finding.column, finding.end_row, finding.end_column
