"""Reports: one file per output format. A report is a function from an outcome and a style to text."""

from __future__ import annotations

from collections.abc import Callable

from gblint.checking import Outcome
from gblint.comparing import Comparison
from gblint.report import compared, concise, full, github, gitlab, html, json, junit, markdown, sarif, statistics
from gblint.report.cells import by_cells, by_files
from gblint.report.style import Style

__all__ = ["COMPARISONS", "FORMATS", "STATISTICS", "Report", "Style"]

Report = Callable[[Outcome, Style], str]


def _told(report: Report, convert: Callable[[Outcome], Outcome]) -> Report:
    return lambda outcome, style: report(convert(outcome), style)


# People, and programs of their own, have to do with the cells of a notebook; services only with files.
FORMATS: dict[str, Report] = {
    "full": _told(full.render, by_cells),
    "concise": _told(concise.render, by_cells),
    "json": _told(json.render, by_cells),
    "json-lines": _told(json.render_lines, by_cells),
    "sarif": _told(sarif.render, by_files),
    "github": _told(github.render, by_files),
    "gitlab": _told(gitlab.render, by_files),
    "junit": _told(junit.render, by_files),
    "markdown": _told(markdown.render, by_cells),
    "html": _told(html.render, by_cells),
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
