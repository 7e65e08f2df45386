"""Reports: one file per output format. A report is a function from an outcome and a style to text."""

# A format is imported when it is written: starting gblint would take a third longer with all of them.

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from gblint.checking import Outcome
from gblint.comparing import Comparison
from gblint.report.style import Style

__all__ = ["COMPARISONS", "FORMATS", "STATISTICS", "Report", "Style"]

Report = Callable[[Outcome, Style], str]


def _written(module: str, function: str = "render") -> Callable[[Any, Style], str]:
    """What a function of a module here writes."""

    def write(what: Any, style: Style) -> str:
        text: str = getattr(import_module(f"gblint.report.{module}"), function)(what, style)
        return text

    return write


def _told(report: Report, convert: str) -> Report:
    def write(outcome: Outcome, style: Style) -> str:
        from gblint.report import cells

        return report(getattr(cells, convert)(outcome), style)

    return write


# People, and programs of their own, have to do with the cells of a notebook; services only with files.
FORMATS: dict[str, Report] = {
    "full": _told(_written("full"), "by_cells"),
    "concise": _told(_written("concise"), "by_cells"),
    "json": _told(_written("json"), "by_cells"),
    "json-lines": _told(_written("json", "render_lines"), "by_cells"),
    "sarif": _told(_written("sarif"), "by_files"),
    "github": _told(_written("github"), "by_files"),
    "gitlab": _told(_written("gitlab"), "by_files"),
    "junit": _told(_written("junit"), "by_files"),
    "markdown": _told(_written("markdown"), "by_cells"),
    "html": _told(_written("html"), "by_cells"),
}
STATISTICS: dict[str, Report] = {
    "full": _written("statistics"),
    "concise": _written("statistics"),
    "json": _written("statistics", "render_json"),
}
COMPARISONS: dict[str, Callable[[Comparison, Style], str]] = {
    "full": _written("compared"),
    "concise": _written("compared"),
    "json": _written("compared", "render_json"),
}
