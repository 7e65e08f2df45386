"""What a proof of repairs has come to: what was kept and taken back, and the program before and after in a table."""

from __future__ import annotations

from collections.abc import Iterator

from gblint.fixing.plan import Choice
from gblint.fixing.proving import UNREACHED, Proved
from gblint.report import fixes
from gblint.report.style import Style, plural, printable, shown
from gblint.verify.prove import Observation
from gblint.verify.sites import Site


def summary(proved: Proved, choice: Choice, style: Style) -> str:
    """Each repair in a line, those taken back with the reason, the table, and the counts."""
    lines = [*_repairs(proved, style), "", *table(proved, style), ""]
    count = len(proved.repaired.made)
    files = f" in {plural(len(proved.repaired.new), 'file')}" if count else ""
    back = f" {plural(len(proved.rejected), 'repair')} not kept." if proved.rejected else ""
    lines.append(style.paint(f"Fixed {plural(count, 'graph break')}{files}.{back}", bold=True))
    open_ = proved.steps.count(UNREACHED)
    if open_:
        lines.append(f"Of {plural(open_, 'repair')} the run says nothing: it did not reach the break.")
    left = fixes.left(proved.repaired, choice)
    if left:
        lines.append(f"{plural(len(left), 'predicted graph break')} left.")
    return "".join(f"{line}\n" for line in lines)


def _repairs(proved: Proved, style: Style) -> Iterator[str]:
    for step, outcome in zip(proved.repaired.made, proved.steps, strict=True):
        colour = "yellow" if outcome == UNREACHED else "green"
        yield f"{fixes.made(step, style)} {style.paint(outcome, fg=colour)}"
    for rejected in proved.rejected:
        finding, codemod = rejected.step.finding, rejected.step.fix.codemod
        head = f"{fixes.place(finding)} {finding.code} {finding.name}: not repaired by {codemod}"
        yield f"{head}: {printable(rejected.reason)}"


def table(proved: Proved, style: Style) -> Iterator[str]:
    """The rows of `change` under a heading."""
    rows = list(change(proved))
    width = max(len(label) for label, _, _ in rows)
    yield style.paint(f"{'':<{width}}{'before':>10}{'after':>10}", bold=True)
    for label, one, other in rows:
        yield f"{label:<{width}}{one:>10}{other:>10}"


def change(proved: Proved) -> Iterator[tuple[str, str, str]]:
    """(What, before, after): breaks by site with how often, then graphs, recompiles and compile time."""
    before = proved.before.seen.observation
    after = proved.after.seen.observation if proved.after else before
    yield from _sites(proved)
    yield from _figures(before, after)


def _sites(proved: Proved) -> Iterator[tuple[str, str, str]]:
    old = proved.before.seen.observation.sites
    if proved.after is None:
        yield from ((_label(site), f"{site.count:,}", f"{site.count:,}") for site in old)
        return
    pairs = proved.after.pairs
    now = {id(before): after for before, after in pairs.same}
    for site in old:
        yield _label(site), f"{site.count:,}", f"{now[id(site)].count:,}" if id(site) in now else "gone"
    for site in pairs.fresh:
        yield f"{_label(site)} (was behind another)", "", f"{site.count:,}"


def _label(site: Site) -> str:
    return f"{shown(site.filename)}:{site.row} {site.shown_code} {printable(site.name)}"


def _figures(before: Observation, after: Observation) -> Iterator[tuple[str, str, str]]:
    yield "graph breaks, sites", f"{len(before.sites):,}", f"{len(after.sites):,}"
    yield "graphs", f"{before.graphs:,}", f"{after.graphs:,}"
    yield "recompiles", f"{before.recompile_count:,}", f"{after.recompile_count:,}"
    yield "compile time, s", f"{before.compile_seconds:.2f}", f"{after.compile_seconds:.2f}"
