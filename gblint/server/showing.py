"""Findings as an editor shows them: diagnostics, and the text that appears over one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lsprotocol import types

from gblint.checking import BROKEN_FILE, Outcome, Problem
from gblint.findings.finding import Finding
from gblint.report.full import facts, heat
from gblint.report.markdown import text_of
from gblint.report.style import percent, short
from gblint.server.texts import Text

# A break makes code slower, not wrong: nothing of it is an editor's error.
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Warning,
    "warning": types.DiagnosticSeverity.Information,
    "info": types.DiagnosticSeverity.Hint,
}


def diagnostics(outcome: Outcome, path: Path, text: Text) -> list[types.Diagnostic]:
    """What there is to show in a file."""
    own = [f for f in outcome.findings if f.filename == str(path)]
    return [
        *(_finding(f, text) for f in own),
        *(_problem(p, text) for p in outcome.problems if p.filename == str(path)),
    ]


def range_of(finding: Finding, text: Text) -> types.Range:
    """Where a finding is; that of a call into a library is all of its row."""
    if (finding.row, finding.column) == (finding.end_row, finding.end_column):
        return text.line(finding.row)
    return text.range(finding.row, finding.column, finding.end_row, finding.end_column)


def _finding(finding: Finding, text: Text) -> types.Diagnostic:
    return types.Diagnostic(
        range=range_of(finding, text),
        message=finding.message,
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        code_description=types.CodeDescription(href=finding.url) if finding.url else None,
        source="gblint",
        related_information=[*_related(finding)] or None,
        data={"name": finding.name},
    )


def _related(finding: Finding) -> Iterator[types.DiagnosticRelatedInformation]:
    """Where a value is what it is, and the calls that lead here."""
    for reason in finding.why:
        if reason.row:
            yield _link(reason.filename or finding.filename, reason.row, reason.text)
    for step in finding.path[:-1]:
        yield _link(step.filename, step.row, f"called in {short(step.function)}")
    if finding.library:
        yield _link(finding.library.filename, finding.library.row, f"it happens in {short(finding.library.function)}")


def _link(filename: str, row: int, message: str) -> types.DiagnosticRelatedInformation:
    start = types.Position(max(row, 1) - 1, 0)
    place = types.Location(Path(filename).as_uri(), types.Range(start, start))
    return types.DiagnosticRelatedInformation(place, message)


def _problem(problem: Problem, text: Text) -> types.Diagnostic:
    broken = problem.code == BROKEN_FILE
    start = text.position(problem.row, problem.column)
    end = text.position(problem.row, 1 << 30)
    whole = start == end or not broken
    return types.Diagnostic(
        range=text.line(problem.row) if whole else types.Range(start, end),
        message=problem.message,
        severity=types.DiagnosticSeverity.Error if problem.severity == "error" else types.DiagnosticSeverity.Warning,
        code=problem.code,
        source="gblint",
        tags=None if broken else [types.DiagnosticTag.Unnecessary],
    )


def hover(finding: Finding) -> str:
    """Why gblint believes it, what it costs, and what to do: Markdown."""
    marks = [percent(finding.confidence), heat(finding).strip("[]") if finding.hot else "not at every call"]
    head = f"**{finding.code} {text_of(finding.name)}** · {' · '.join(map(text_of, marks))}"
    lines = [f"- *{label}*: {text_of(what)}" for label, what in facts(finding) if label != "see"]
    link = f"\n\n[About {finding.code}]({finding.url})" if finding.url else ""
    return f"{head}\n\n{text_of(finding.message)}\n\n" + "\n".join(lines) + link
