"""One line for each finding, the form that editors and `grep` know."""

from __future__ import annotations

from gblint.checking import Outcome, Problem
from gblint.findings.finding import Finding
from gblint.report import summary
from gblint.report.order import by_worth
from gblint.report.style import Style, percent, printable, shown


def render(outcome: Outcome, style: Style) -> str:
    """The whole report, in the order of the full one."""
    lines = [line(f, style) for f in by_worth(outcome.findings)]
    lines += [_problem(p, style) for p in outcome.problems]
    text = "".join(f"{line}\n" for line in lines)
    return text + (summary.render(outcome, style) if style.summary else "")


def line(finding: Finding, style: Style) -> str:
    """One finding."""
    marks = [percent(finding.confidence), "hot" if finding.hot else "", _mask(finding)]
    tail = " ".join(mark for mark in marks if mark)
    place = _place(finding, style)
    return f"{place} {style.paint(finding.code, fg='red')} {finding.name} {printable(finding.message)} [{tail}]"


def _mask(finding: Finding) -> str:
    return "masked" if finding.consequence == "masked" else ""


def _problem(problem: Problem, style: Style) -> str:
    code = style.paint(problem.code, fg="magenta")
    return f"{_place(problem, style)} {code} {problem.name} {printable(problem.message)}"


def _place(item: Finding | Problem, style: Style) -> str:
    return style.paint(f"{shown(item.filename)}:{item.row}:{item.column}:", bold=True)
