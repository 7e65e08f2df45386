"""Workflow commands of GitHub Actions, which become annotations in the diff of a pull request.

The worthiest come first: GitHub shows only the first ten of each level and step.
"""

from __future__ import annotations

from gblint.checking import Outcome, Problem
from gblint.findings.finding import Finding
from gblint.report.full import facts
from gblint.report.order import by_worth
from gblint.report.style import Style, in_checkout, printable

_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = _DATA | str.maketrans({":": "%3A", ",": "%2C"})


def render(outcome: Outcome, style: Style) -> str:
    """A line for each finding and problem."""
    commands = [*map(_command, by_worth(outcome.findings)), *map(_command, outcome.problems)]
    return "".join(f"{command}\n" for command in commands)


def _command(item: Finding | Problem) -> str:
    properties: dict[str, object] = {"file": printable(in_checkout(item.filename)), "line": item.row}
    lines = [item.message]
    if isinstance(item, Problem):
        properties["col"] = item.column
    else:
        lines += [f"{label}: {text}" for label, text in facts(item)]
        if item.row == item.end_row:
            properties |= {"col": item.column, "endColumn": item.end_column}
        else:  # GitHub takes columns only where there is one row
            properties["endLine"] = item.end_row
    properties["title"] = printable(f"{item.code} {item.name}")
    given = ",".join(f"{key}={str(value).translate(_PROPERTY)}" for key, value in properties.items())
    message = "\n".join(map(printable, lines))
    return f"::{_LEVELS.get(item.severity, 'warning')} {given}::{message.translate(_DATA)}"
