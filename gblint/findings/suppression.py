"""Comments that silence findings, applied; and those that silence nothing, reported."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple

from gblint.findings.finding import Finding
from gblint.findings.selection import strength
from gblint.index.model import Suppression
from gblint.source import SourceError, decode, read_bytes

_COMMENT = re.compile(rb"#[ \t]*(?:noqa|gblint:)", re.IGNORECASE)
_OURS = re.compile(rb"#[ \t]*(?:noqa\b.*\bgb|gblint:)", re.IGNORECASE)


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


def read_suppressions(filenames: Iterable[str], with_findings: set[str]) -> dict[str, list[Suppression]]:
    """The silencing comments of files that have any which matter.

    A file without findings matters only for unused codes, so one that does not name a gblint code is not parsed.
    Files that cannot be read or parsed have no comments.
    """
    found: dict[str, list[Suppression]] = {}
    for filename in filenames:
        comments = _read(filename, filename in with_findings)
        if comments:
            found[filename] = comments
    return found


def _read(filename: str, has_findings: bool) -> list[Suppression]:
    try:
        data = read_bytes(filename)
    except SourceError:
        return []
    if has_findings:
        worth_parsing = _COMMENT.search(data) is not None
    else:
        # The search for fixed bytes is a hundred times faster than the pattern.
        hint = b"noqa" in data or b"NOQA" in data or b"gblint:" in data
        worth_parsing = hint and _OURS.search(data) is not None
    return parse_suppressions(filename, data) if worth_parsing else []


def parse_suppressions(filename: str, data: bytes) -> list[Suppression]:
    """The silencing comments of a file's content, none if it cannot be parsed."""
    from gblint.index.build import build_index

    try:
        return build_index(decode(data).text, filename, "", "", "").suppressions
    except SourceError:
        return []
