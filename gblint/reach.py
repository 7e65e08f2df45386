"""Root causes and their reach: how many compiled roots a break breaks, and how many would be clean if it were gone.

A helper that a hundred models call is one root cause. In code of the project a cause is a place; inside a library it is
the place and id there, whichever calls of the project lead to it. Roots that reach it all count, also those in files
that nothing is reported of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeAlias

import msgspec

from gblint.findings.finding import Finding

Key: TypeAlias = tuple[object, ...]
Root: TypeAlias = tuple[int, int]  # number of the unit, number of the root in it


class Cause(msgspec.Struct):
    """One root cause: where findings about it are reported, the rule and confidence of the surest, and the roots.
    optional: that rule is off until it is selected."""

    filename: str
    code: str
    name: str
    confidence: float
    optional: bool
    roots: set[Root]


def key_of(finding: Finding) -> Key:
    """What findings of one root cause have in common."""
    if finding.library is not None:
        return finding.library.filename, finding.library.row, finding.code
    return finding.filename, finding.row, finding.column, finding.end_row, finding.end_column


def causes_of(units: Iterable[Iterable[Finding]]) -> dict[Key, Cause]:
    """The root causes of graph breaks, given by unit."""
    causes: dict[Key, Cause] = {}
    for number, findings in enumerate(units):
        for finding in findings:
            if not finding.is_break:
                continue
            key = key_of(finding)
            cause = causes.get(key)
            if cause is None:
                cause = causes[key] = Cause(finding.filename, *_rule_of(finding), set())
            elif finding.confidence > cause.confidence:
                cause.code, cause.name, cause.confidence, cause.optional = _rule_of(finding)
            cause.roots.update((number, root) for root in finding.roots)
    return causes


def _rule_of(finding: Finding) -> tuple[str, str, float, bool]:
    return finding.code, finding.name, finding.confidence, finding.optional


class Reach:
    """Counts the roots of findings. believed: the causes that count when it is asked whether a root is clean."""

    def __init__(self, causes: Mapping[Key, Cause], believed: Iterable[Key]) -> None:
        self._causes = causes
        self._believed = set(believed)
        self._breaks = Counter(root for key in self._believed if key in causes for root in causes[key].roots)

    def roots(self, finding: Finding) -> set[Root]:
        """The roots that the cause of a finding breaks."""
        cause = self._causes.get(key_of(finding))
        return cause.roots if cause is not None else set()

    def counted(self, finding: Finding) -> Finding:
        """The finding with its reach."""
        roots = self.roots(finding)
        alone = sum(self._breaks[root] == 1 for root in roots) if key_of(finding) in self._believed else 0
        return msgspec.structs.replace(finding, roots=(), reach=len(roots), frees=alone)
