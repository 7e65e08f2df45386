"""Predictions held against what Dynamo said."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import msgspec

from gblint.findings.finding import Finding, Step
from gblint.verify.rows import rows_of
from gblint.verify.said import RAISES, RESUMES
from gblint.verify.sites import Site

CONFIRMED, REFUTED, UNREACHED, MASKED, MISSED = "confirmed", "refuted", "not-reached", "masked", "missed"
_CONSEQUENCES = {RESUMES: "splits-graph", RAISES: "raises"}
VERDICTS = (CONFIRMED, MISSED, MASKED, UNREACHED, REFUTED)


class Judged(msgspec.Struct):
    """A finding with its verdict. site: the break that confirms it, masks it, or was missed; note: what is to be said
    of it; low: below the minimum confidence."""

    finding: Finding
    verdict: str
    site: Site | None = None
    note: str = ""
    low: bool = False

    @property
    def rule(self) -> str:
        return f"{self.finding.code} {self.finding.name}"


@lru_cache(maxsize=65_536)
def real(filename: str) -> str:
    """The one name of a file that Dynamo and gblint may call by different ones."""
    return os.path.realpath(filename)


def judge(findings: Sequence[Finding], found: Sequence[Site], traced: Mapping[str, Iterable[int]]) -> list[Judged]:
    """The verdict on each finding that is a graph break, and each break that none of them foretold.

    found: the places in the user's code where the graph broke. traced: rows that Dynamo traced, by file.
    Confirmed: the graph breaks in the rows of the finding, or elsewhere in the statement with the id that was foretold.
    Masked: Dynamo gave the function up before it got there. Refuted: it traced the rows, and no break came.
    """
    breaks = [finding for finding in findings if finding.is_break]
    return _Match(breaks, found, traced).judged()


class _Match:
    def __init__(self, findings: Sequence[Finding], found: Sequence[Site], traced: Mapping[str, Iterable[int]]) -> None:
        self._findings = findings
        self._found = found
        self._sites: dict[str, list[Site]] = {}
        for site in found:
            self._sites.setdefault(real(site.filename), []).append(site)
        self._traced: dict[str, set[int]] = {}
        for filename, rows in traced.items():
            self._traced.setdefault(real(filename), set()).update(rows)
        self._taken: set[int] = set()

    def judged(self) -> list[Judged]:
        results: dict[int, Judged] = {}
        for test in (self._same, self._same_statement, self._other_id):
            for index, finding in enumerate(self._findings):
                if index not in results and (site := test(finding)):
                    results[index] = _confirmed(finding, site)
                    self._taken.add(id(site))
        for index, finding in enumerate(self._findings):
            if index not in results:
                results[index] = self._unmatched(finding)
        missed = [Judged(as_finding(site), MISSED, site) for site in self._found if id(site) not in self._taken]
        return [results[index] for index in range(len(self._findings))] + missed

    def _of(self, finding: Finding) -> list[Site]:
        return self._sites.get(real(finding.filename), [])

    def _same(self, finding: Finding) -> Site | None:
        return next((s for s in self._of(finding) if _covers(finding, s) and _answers(finding, s)), None)

    def _same_statement(self, finding: Finding) -> Site | None:
        rows = rows_of(finding.filename)
        own = rows.statement(finding.row)
        return next((s for s in self._of(finding) if _answers(finding, s) and rows.statement(s.row) == own), None)

    def _other_id(self, finding: Finding) -> Site | None:
        """A break that nothing foretold by its id, in the rows of the finding."""
        return next((s for s in self._of(finding) if _covers(finding, s) and id(s) not in self._taken), None)

    def _unmatched(self, finding: Finding) -> Judged:
        rows = rows_of(finding.filename)
        lost = [s for s in self._of(finding) if s.effect != RESUMES]
        same = [s for s in lost if rows.statement(s.row) == rows.statement(finding.row)]
        if same:
            return _masked(finding, same[0])
        traced = self._traced.get(real(finding.filename), set())
        if any(row in traced for row in range(finding.row, max(finding.row, finding.end_row) + 1)):
            here = [s for s in self._of(finding) if _covers(finding, s)]
            note = f"the graph does break there, but as {here[0].shown_code}" if here else ""
            return Judged(finding, REFUTED, here[0] if here else None, note)
        own = rows.function(finding.row)
        given_up = [s for s in lost if own[0] <= s.row <= own[1]]
        return _masked(finding, given_up[0]) if given_up else Judged(finding, UNREACHED)


def _covers(finding: Finding, site: Site) -> bool:
    return finding.row <= site.row <= max(finding.row, finding.end_row)


def _answers(finding: Finding, site: Site) -> bool:
    return finding.code == site.code or finding.code in site.wraps


def _confirmed(finding: Finding, site: Site) -> Judged:
    note = "" if _answers(finding, site) else f"Dynamo calls it {site.shown_code}"
    return Judged(finding, CONFIRMED, site, note)


def _masked(finding: Finding, site: Site) -> Judged:
    return Judged(finding, MASKED, site, f"Dynamo gives the function up at row {site.row} ({site.shown_code})")


def as_finding(site: Site) -> Finding:
    """A break that nothing foretold, as a finding: with Dynamo's reason, and a probability of 1."""
    rows = rows_of(site.filename)
    column, end_column = rows.columns(site.row)
    return Finding(
        code=site.shown_code,
        name=site.name,
        message=site.reason,
        filename=site.filename,
        row=site.row,
        column=column,
        end_row=site.row,
        end_column=end_column,
        consequence=_CONSEQUENCES.get(site.effect, "frame-falls-back"),
        hot=True,
        category=site.category or "fundamental",
        function=site.function,
        root=next((f.function for f in site.stack if f.filename == site.filename), site.function),
        path=[Step(f.function, f.filename, f.row) for f in site.stack[:-1]],
        library=Step(site.library.function, site.library.filename, site.library.row) if site.library else None,
        url=_url(site.code),
        noqa_row=rows.statement(site.row)[1],
        event="observed",
    )


def _url(code: str) -> str:
    return f"https://meta-pytorch.org/compile-graph-break-site/gb/{code.lower()}.html" if code else ""
