"""Reports: one file per output format. A report is a function from an outcome and a style to text."""

from __future__ import annotations

from collections.abc import Callable

from gblint.checking import Outcome
from gblint.comparing import Comparison
from gblint.report import compared, concise, full, github, gitlab, html, json, junit, markdown, sarif, statistics
from gblint.report.style import Style

__all__ = ["COMPARISONS", "FORMATS", "STATISTICS", "Report", "Style"]

Report = Callable[[Outcome, Style], str]

FORMATS: dict[str, Report] = {
    "full": full.render,
    "concise": concise.render,
    "json": json.render,
    "json-lines": json.render_lines,
    "sarif": sarif.render,
    "github": github.render,
    "gitlab": gitlab.render,
    "junit": junit.render,
    "markdown": markdown.render,
    "html": html.render,
}
STATISTICS: dict[str, Report] = {
    "full": statistics.render,
    "concise": statistics.render,
    "json": statistics.render_json,
}
COMPARISONS: dict[str, Callable[[Comparison, Style], str]] = {
    "full": compared.render,
    "concise": compared.render,
    "json": compared.render_json,
}
