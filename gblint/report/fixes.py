"""What repairs did or would do: the difference to the files, and a summary."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping

from gblint.findings.finding import Finding
from gblint.fixing.plan import Choice, Step, wanted
from gblint.fixing.session import Repaired
from gblint.notebook import Cells, is_notebook
from gblint.report.style import Style, plural, printable, shown
from gblint.source import decode

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def difference(repaired: Repaired, style: Style) -> str:
    """A unified diff of all changed files."""
    return "".join(
        line for path in sorted(repaired.new) for line in _diff(path, repaired.old[path], repaired.new[path], style)
    )


def _diff(path: str, old: bytes, new: bytes, style: Style) -> Iterator[str]:
    name = shown(path)
    before, after = (decode(data).text.splitlines(keepends=True) for data in (old, new))
    for line in difflib.unified_diff(before, after, f"a/{name}", f"b/{name}"):
        colour = _COLOURS.get(line[0]) if not line.startswith(("+++", "---")) else None
        text = style.paint(line.rstrip("\r\n"), fg=colour) if colour else line.rstrip("\r\n")
        yield f"{text}\n"
        if not line.endswith(("\n", "\r")):
            yield "\\ No newline at end of file\n"


def left(repaired: Repaired, choice: Choice) -> list[Finding]:
    """The findings asked for that are still there."""
    return [f for f in repaired.after.findings if wanted(f, choice)]


def summary(repaired: Repaired, choice: Choice, dry: bool, listed: bool, style: Style) -> str:
    """Each repair in a line if `listed`, those taken back with the reason, and the counts."""
    steps = zip(repaired.made, repaired.origins, strict=True) if listed else ()
    lines = [made(step, style, repaired.old, row) for step, (row, _) in steps]
    for dropped in repaired.dropped if listed else ():
        f = dropped.step.finding
        what = f"{f.code} {f.name}: not repaired by {dropped.step.fix.codemod}: {printable(dropped.reason)}"
        lines.append(f"{place(f, repaired.old)} {what}")
    verb = "Would fix" if dry else "Fixed"
    count = len(repaired.made)
    files = f" in {plural(len(repaired.new), 'file')}" if count else ""
    lines.append(style.paint(f"{verb} {plural(count, 'graph break')}{files}.", bold=True))
    rest = left(repaired, choice)
    if rest:
        lines.append(f"{plural(len(rest), 'graph break')} left{_offers(rest, choice)}.")
    return "".join(f"{line}\n" for line in lines)


def made(step: Step, style: Style, old: Mapping[str, bytes] | None = None, row: int = 0) -> str:
    """A repair that was made, in a line; see `place`."""
    finding, fix = step.finding, step.fix
    what = f"{finding.code} {finding.name}: {printable(fix.message)}"
    where = place(finding, old, row if is_notebook(finding.filename) else 0)
    return f"{where} {what} [{fix.codemod}, {style.paint(fix.applicability, fg='cyan')}]"


def place(finding: Finding, old: Mapping[str, bytes] | None = None, row: int = 0) -> str:
    """Where a finding is, as lines begin. old: contents by file, for the cells of notebooks; row: the one in those
    contents, if it is not the finding's own."""
    row = row or finding.row
    if is_notebook(finding.filename) and old and finding.filename in old:
        cell, row = Cells(old[finding.filename]).place(row)
        return f"{shown(finding.filename)}:cell {cell}:{row}:"
    return f"{shown(finding.filename)}:{row}:"


def _offers(findings: list[Finding], choice: Choice) -> str:
    """How many of them have a repair that was not asked for."""
    counts = Counter(f.fix.applicability for f in findings if f.fix is not None)
    parts = []
    if counts["unsafe"] and not choice.unsafe:
        parts.append(f"{counts['unsafe']:,} can be fixed with --unsafe-fixes")
    if counts["placeholder"]:
        parts.append(f"{counts['placeholder']:,} have a draft that a person has to finish (gblint check shows them)")
    return f": {', '.join(parts)}" if parts else ""
