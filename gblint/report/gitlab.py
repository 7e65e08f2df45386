"""The code quality report of GitLab, which shows in merge requests what a branch adds and what it removes."""

from __future__ import annotations

from typing import Any

from gblint.checking import Outcome, Problem
from gblint.findings.finding import Finding
from gblint.report.json import dump
from gblint.report.order import fingerprint, numbered
from gblint.report.style import Style, in_checkout, printable

_SEVERITIES = {"error": "major", "warning": "minor", "info": "info"}


def render(outcome: Outcome, style: Style) -> str:
    """An array with an issue for each finding and problem by file and row."""
    return dump([_issue(item, fingerprint(key, number)) for item, key, number in numbered(outcome)])


def _issue(item: Finding | Problem, identity: str) -> dict[str, Any]:
    lines = {"begin": max(1, item.row)}
    if isinstance(item, Finding):
        lines["end"] = max(lines["begin"], item.end_row)
    return {
        "description": printable(f"{item.code} {item.name}: {item.message}"),
        "check_name": printable(f"{item.code}/{item.name}"),
        "fingerprint": identity,
        "severity": _SEVERITIES.get(item.severity, "minor"),
        "location": {"path": in_checkout(item.filename), "lines": lines},
    }
