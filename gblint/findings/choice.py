"""Which of several findings count: one for each break, or those beyond what was expected.

A warm run needs this, and not the interpreter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from gblint.findings.finding import Finding

K = TypeVar("K")
T = TypeVar("T")


def likeliest(findings: Iterable[Finding], rank: Callable[[Finding], Any]) -> list[Finding]:
    """The highest ranking finding of each place and kind of event, and of each place and code; in order of place."""
    kept: dict[tuple[object, ...], Finding] = {}
    for finding in sorted(findings, key=rank):
        kept[(*_place(finding), finding.event)] = finding
    best = {(*_place(f), f.code): f for f in sorted(kept.values(), key=rank)}
    return sorted(best.values(), key=lambda f: (f.filename, f.row, f.column, f.code))


def beyond(findings: Iterable[T], expected: Mapping[K, int], key: Callable[[T], K]) -> list[T]:
    """The findings, or others counted like them, beyond what is expected of their key: the last ones, as given."""
    seen: Counter[K] = Counter()
    surplus = []
    for finding in findings:
        kind = key(finding)
        seen[kind] += 1
        if seen[kind] > expected.get(kind, 0):
            surplus.append(finding)
    return surplus


def _place(finding: Finding) -> tuple[object, ...]:
    return finding.filename, finding.row, finding.column, finding.end_row, finding.end_column
