"""What changes from one torch release to another, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator

from gblint.comparing import Changed, Comparison
from gblint.findings.finding import Finding
from gblint.report.concise import line
from gblint.report.json import dump, finding_data
from gblint.report.style import Style


def render(comparison: Comparison, style: Style) -> str:
    """One line for each finding that comes, goes or changes, and how many stay."""
    return "".join(f"{text}\n" for text in _lines(comparison, style))


def _lines(comparison: Comparison, style: Style) -> Iterator[str]:
    before, after = f"torch {comparison.before}", f"torch {comparison.after}"
    for title, findings in (
        (f"No longer in {after}", comparison.gone),
        (f"New in {after}", comparison.new),
    ):
        yield from _section(title, [line(f, style) for f in findings], style)
    yield from _section(f"Reported otherwise in {after}", [_changed(c, style) for c in comparison.changed], style)
    if style.summary:
        counts = f"{len(comparison.gone)} gone, {len(comparison.new)} new, {len(comparison.changed)} reported otherwise"
        yield f"From {before} to {after}: {counts}, {comparison.same} the same."


def _section(title: str, lines: list[str], style: Style) -> Iterator[str]:
    if lines:
        yield style.paint(title, bold=True)
        yield from lines
        yield ""


def _changed(change: Changed, style: Style) -> str:
    old, new = change.before, change.after
    parts = [f"{old.code} before" if old.code != new.code else "", _cost(old) if _cost(old) != _cost(new) else ""]
    return f"{line(new, style)} ({', '.join(part for part in parts if part)})"


def _cost(finding: Finding) -> str:
    return f"{finding.consequence} before"


def render_json(comparison: Comparison, style: Style) -> str:
    """One object; findings in it are as in the JSON report."""
    return dump(
        {
            "before": comparison.before,
            "after": comparison.after,
            "gone": [finding_data(f) for f in comparison.gone],
            "new": [finding_data(f) for f in comparison.new],
            "changed": [{"before": finding_data(c.before), "after": finding_data(c.after)} for c in comparison.changed],
            "same": comparison.same,
        }
    )
