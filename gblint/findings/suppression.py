"""Comments that silence findings, applied; and those that silence nothing, reported."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple

from gblint.findings.finding import Finding
from gblint.findings.selection import strength
from gblint.index.model import Suppression


class Unused(NamedTuple):
    """A code in a comment that silenced nothing, "" for a comment that names none."""

    filename: str
    row: int
    code: str
    form: str


class Outcome(NamedTuple):
    """kept: findings no comment silences; silenced: the others; unused: codes that silenced nothing."""

    kept: list[Finding]
    silenced: list[Finding]
    unused: list[Unused]


def apply(
    findings: Iterable[Finding],
    suppressions: dict[str, list[Suppression]],
    reportable: Callable[[str, str], bool] = lambda filename, code: True,
) -> Outcome:
    """Split findings by the comments of their files.

    suppressions: file name → its comments. reportable(filename, code): whether an unused mention of that code in that
    file is worth a word; it is not when the rules it names are switched off. In a `# noqa` only codes of gblint (GB…)
    are ever called unused: the bare comment and other linters' codes are none of gblint's business.
    """
    used: dict[str, set[tuple[int, str, str]]] = defaultdict(set)
    kept: list[Finding] = []
    silenced: list[Finding] = []
    for finding in findings:
        hits = [
            (s.row, s.form, code)
            for s in suppressions.get(finding.filename, ())
            if _covers(s, finding)
            for code in _matching(s, finding)
        ]
        used[finding.filename].update(hits)
        (silenced if hits else kept).append(finding)
    unused = [
        Unused(filename, s.row, code, s.form)
        for filename in sorted(suppressions)
        for s in suppressions[filename]
        for code in s.codes or ("",)
        if _ours(code, s.form) and (s.row, s.form, code) not in used[filename] and reportable(filename, code)
    ]
    return Outcome(kept, silenced, unused)


def _covers(suppression: Suppression, finding: Finding) -> bool:
    rows = {finding.row, finding.noqa_row or finding.row}
    return any(suppression.first <= row <= suppression.last for row in rows)


def _matching(suppression: Suppression, finding: Finding) -> list[str]:
    """The codes of a comment that name the finding, [""] for a comment that silences everything."""
    if not suppression.codes:
        return [""]
    return [c for c in suppression.codes if strength((c,), finding.code, finding.name)]


def _ours(code: str, form: str) -> bool:
    if not code:
        return form == "ignore"
    return code.upper().startswith("GB") or form != "noqa"
