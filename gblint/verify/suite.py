"""The breaks that a run of tests has met, held against a baseline.

The file has the form of that of `gblint check --baseline`. An entry says in how many rows of a function a graph breaks
with one id; that a function is compiled again is an entry of its own. How often does not count: it depends on how many
tests get there.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from gblint.errors import GblintError
from gblint.findings.choice import beyond
from gblint.gate.baseline import Baseline
from gblint.gate.keys import Key, relative
from gblint.report.excerpt import Sources, excerpt
from gblint.report.style import Style, plural, printable, shown
from gblint.verify.environment import PRECOMPILED, switched_off
from gblint.verify.log_report import cut, site_lines, times
from gblint.verify.matching import real
from gblint.verify.rows import rows_of
from gblint.verify.said import Collector, Recompile, Said
from gblint.verify.sites import Site, is_yours, sites
from gblint.verify.trace import is_trace, read_trace

TRACE = "TORCH_TRACE"
RECOMPILE, BREAK = "recompile", "graph-break"


class Met(msgspec.Struct, frozen=True):
    """One row where a graph broke, or a function that was compiled again, with how often and the guards that failed."""

    key: Key
    filename: str
    row: int
    site: Site | None = None
    guards: tuple[str, ...] = ()
    count: int = 1


class Gate:
    """A baseline and where torch writes to while the tests run; afterwards what was met, and what of it is new."""

    def __init__(self, baseline: Baseline, update: bool, accept_new: bool, trace: Path, off: str) -> None:
        self._baseline = baseline
        self._update = update
        self._accept_new = accept_new
        self._trace = trace
        self._off = off
        self._old = frozenset(os.listdir(trace)) if trace.is_dir() else frozenset[str]()
        self._new: list[Met] = []
        self._notes: list[str] = []

    @classmethod
    def open(cls, file: str, update: bool, accept_new: bool, scratch: str, env: Mapping[str, str]) -> Gate:
        """Read the baseline. scratch: a folder for the trace, if the environment names none. Raises GblintError for a
        file that is not there (unless it is to be written) or is no baseline."""
        path = Path(os.path.abspath(file))
        if not path.parent.is_dir():
            raise GblintError(f"the folder of {path} does not exist")
        baseline = Baseline.read(path, missing_ok=update)
        trace = Path(os.path.abspath(env.get(TRACE) or os.path.join(scratch, "trace")))
        return cls(baseline, update, accept_new, trace, switched_off(env))

    @property
    def environment(self) -> dict[str, str]:
        """What torch has to find set when it is imported."""
        return {TRACE: str(self._trace), PRECOMPILED: "0"}

    def finish(self, partly: str) -> bool:
        """Read what torch has written, write the baseline if that is wanted, and say whether there is something new.

        partly: why the run does not tell what is gone, "" if it does.
        """
        said = self._read()
        found = list(met(said, self._baseline.path.parent))
        seen = Counter(item.key for item in found)
        known = self._baseline.counts
        self._new = beyond(found, known, lambda item: item.key)
        gone = sum(seen[key] < count for key, count in known.items())
        if self._update:
            self._write(found, seen, partly)
        elif gone and not partly:
            them = "it" if gone == 1 else "them"
            self._notes.append(
                f"{plural(gone, 'entry of the baseline is', 'entries of the baseline are')} no longer needed: "
                f"--gblint-update-baseline drops {them}."
            )
        self._look_round(said, found)
        return bool(self._new)

    def _read(self) -> Said:
        collector = Collector()
        for file in sorted(self._trace.iterdir()) if self._trace.is_dir() else ():
            if file.name not in self._old and file.is_file() and is_trace(file):
                read_trace(file, collector)
        return collector.done()

    def _write(self, found: list[Met], seen: Counter[Key], partly: str) -> None:
        known = self._baseline.counts
        counts = Counter(known) if partly else known & seen
        dropped = sum(known.values()) - sum(counts.values())
        accepted = self._accept_new or self._baseline.data is None
        if accepted:
            counts.update(item.key for item in self._new)
        added = len(self._new) if accepted else 0
        try:
            self._baseline.write(counts)
        except GblintError as error:
            self._notes.append(f"The baseline was not written: {error.message}.")
            return
        name = shown(str(self._baseline.path))
        self._notes.append(f"{name} records {sum(counts.values()):,} now: {added:,} added, {dropped:,} dropped.")
        if partly:
            self._notes.append(f"Nothing was dropped, since {partly}.")
        if accepted:
            self._new = []

    def _look_round(self, said: Said, found: list[Met]) -> None:
        foreign = [site for site in sites(said) if site.owner != "yours"]
        if foreign:
            self._notes.append(f"Besides, {plural(len(foreign), 'break')} in code that no row of yours led to.")
        if said.empty:
            off = f"{self._off} is set, which turns torch.compile off"
            why = off if self._off else "no test called what torch.compile returns"
            self._notes.append(f"Nothing was compiled in this run, so nothing was held against the baseline: {why}.")
        elif not self._new:
            breaks = sum(item.site is not None for item in found)
            what = f"{plural(breaks, 'graph break')} and {plural(len(found) - breaks, 'recompiled function')}"
            state = "" if self._update else ", none of them new"
            self._notes.insert(0, f"{what} met{state}." if found else "No graph broke.")

    @property
    def title(self) -> tuple[str, bool]:
        """The heading of the report, and whether it is one of a failure."""
        return ("new graph breaks (gblint)", True) if self._new else ("graph breaks (gblint)", False)

    def report(self, style: Style) -> Iterator[str]:
        """What is new, each with its own row in the source, and what there is to know besides; line by line."""
        sources = Sources({})
        for item in self._new:
            yield from site_lines(item.site, sources, style) if item.site else _again(item, sources, style)
            yield ""
        if self._new:
            name = shown(str(self._baseline.path))
            count = plural(len(self._new), "break is", "breaks are")
            yield f"{count} not in {name}. To record them: --gblint-update-baseline --gblint-accept-new."
        yield from self._notes


def _again(item: Met, sources: Sources, style: Style) -> Iterator[str]:
    """A function that was compiled again, with its first row and the guards that failed."""
    place = style.paint(f"{shown(item.filename)}:{item.row}", bold=True)
    how_often = style.paint(f"[{times(item.count)}]", fg="yellow")
    yield f"{place} {style.paint(RECOMPILE, fg='red', bold=True)} {printable(item.key.function)} {how_often}"
    lines = sources.lines(item.filename)
    text = lines[item.row - 1] if 0 < item.row <= len(lines) else ""
    span = (item.row, len(text) - len(text.lstrip()) + 1, item.row, len(text.rstrip()) + 1)
    yield from (f"  {line}" for line in excerpt(lines, span, style))
    for guard in item.guards:
        yield f"  {style.paint('failed guard:', fg='cyan')} {cut(guard)}"


def met(said: Said, folder: Path) -> Iterator[Met]:
    """What a run has met in code of the user's, by file and row. folder: what files are told relative to."""
    yield from sorted([*_breaks(said, folder), *_recompiles(said, folder)], key=lambda m: (m.filename, m.row, m.key))


def _breaks(said: Said, folder: Path) -> Iterator[Met]:
    for site in sites(said):
        if site.owner == "yours":
            name = BREAK if site.code else site.name
            key = _key(site.filename, site.row, site.shown_code, name, folder)
            yield Met(key, site.filename, site.row, _without_pytest(site))


def _without_pytest(site: Site) -> Site:
    """A place with the rows of the user's own that led there, and no others."""
    own = tuple(frame for frame in site.stack if is_yours(frame.filename))
    return msgspec.structs.replace(site, stack=own)


def _recompiles(said: Said, folder: Path) -> Iterator[Met]:
    found: dict[Key, Met] = {}
    for event, count in _by_row(said.recompiles):
        key = _key(event.filename, event.row, RECOMPILE, RECOMPILE, folder)
        known = found.get(key, Met(key, event.filename, event.row, count=0))
        guards = tuple(dict.fromkeys([*known.guards, event.reason]))
        found[key] = msgspec.structs.replace(known, guards=guards, count=known.count + count)
    yield from found.values()


def _by_row(recompiles: Mapping[Recompile, int]) -> Iterable[tuple[Recompile, int]]:
    mine = [item for item in recompiles.items() if is_yours(item[0].filename)]
    return sorted(mine, key=lambda item: (item[0].filename, item[0].row, item[0].reason))


def _key(filename: str, row: int, code: str, name: str, folder: Path) -> Key:
    return Key(relative(real(filename), Path(real(str(folder)))), rows_of(filename).name(row), code, name)
