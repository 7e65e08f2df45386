"""How many findings each rule has."""

from __future__ import annotations

from collections import Counter

from gblint.checking import GAP, Outcome
from gblint.gaps import gaps
from gblint.report import json, summary
from gblint.report.style import Style


def counts(outcome: Outcome) -> list[tuple[str, str, int]]:
    """(code, name, how many), most first."""
    counted = Counter((f.code, f.name) for f in outcome.findings)
    counted.update((p.code, p.name) for p in outcome.problems)
    return sorted(((code, name, n) for (code, name), n in counted.items()), key=lambda c: (-c[2], c[0], c[1]))


def render(outcome: Outcome, style: Style) -> str:
    """A line for each rule, then the summary."""
    rows = counts(outcome)
    width = len(f"{rows[0][2]:,}") if rows else 0
    text = "".join(f"{n:>{width},}  {style.paint(code, fg='red')}  {name}\n" for code, name, n in rows)
    return text + (summary.render(outcome, style) if style.summary else "")


def render_json(outcome: Outcome, style: Style) -> str:
    """An array of {"code", "name", "count"}; what could not be seen has the code GBL002."""
    rows = [row for row in counts(outcome) if row[0] != GAP] + [(GAP, gap.name, gap.amount) for gap in gaps(outcome)]
    return json.dump([{"code": code, "name": name, "count": n} for code, name, n in rows])
