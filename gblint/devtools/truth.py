"""Recorded truth: where Dynamo broke the graph in published libraries. Format: `corpus/truth/README.md`."""

from __future__ import annotations

from collections.abc import Container, Iterable
from functools import cached_property
from pathlib import Path

import msgspec

Key = tuple[str, int]  # file, row


class Site(msgspec.Struct, frozen=True):
    """A line at which at least one break was reported; fields as in the truth's README."""

    row: int
    function: str
    ids: tuple[str, ...]
    types: tuple[str, ...]
    wraps: tuple[str, ...] = ()
    statement: tuple[int, int] | None = None
    text: str = ""
    secondary: bool = False
    effects: tuple[str, ...] = ()
    models: tuple[str, ...] = ()

    def answers_to(self, code: str) -> bool:
        """Whether a finding with this code names the break or one that was reported around it."""
        return code in self.ids or code in self.wraps


class FileTruth(msgspec.Struct, frozen=True):
    """What was measured in one file; rows are packed as "3,7-9"."""

    file: str
    traced: str = ""
    executed: str = ""
    frames: str = ""
    neutral: str = ""
    sites: tuple[Site, ...] = ()


class Truth:
    """The truth of a set of libraries, ready to be asked.

    sites: breaks that count, by file and row; the secondary ones are neither asked for nor held against a finding.
    traced, executed, frames: rows by file, sorted.
    """

    def __init__(self, files: Iterable[FileTruth]) -> None:
        self.sites: dict[Key, Site] = {}
        self.traced: dict[str, list[int]] = {}
        self.executed: dict[str, list[int]] = {}
        self.frames: dict[str, list[int]] = {}
        for record in files:
            self._add(record)

    def _add(self, record: FileTruth) -> None:
        breaks = {site.row for site in record.sites if not site.secondary}
        quiet = ({site.row for site in record.sites} | rows_of(record.neutral)) - breaks
        traced = (rows_of(record.traced) - quiet) | breaks
        self.sites |= {(record.file, site.row): site for site in record.sites if not site.secondary}
        self.traced[record.file] = sorted(traced)
        self.executed[record.file] = sorted((rows_of(record.executed) - quiet) | traced)
        self.frames[record.file] = sorted(rows_of(record.frames))

    def part(self, keys: Container[Key]) -> Truth:
        """The truth of some of the sites; what was traced stays."""
        part = Truth(())
        part.sites = {key: site for key, site in self.sites.items() if key in keys}
        part.traced, part.executed, part.frames = self.traced, self.executed, self.frames
        return part

    @cached_property
    def rows(self) -> dict[str, list[int]]:
        """Rows of sites by file."""
        rows: dict[str, list[int]] = {}
        for file, row in self.sites:
            rows.setdefault(file, []).append(row)
        return rows

    @cached_property
    def patterns(self) -> list[list[Key]]:
        """Sites grouped by what is copied between files: the ids, the function's name and the text of the line."""
        groups: dict[tuple[tuple[str, ...], str, str], list[Key]] = {}
        for key, site in self.sites.items():
            groups.setdefault((site.ids, site.function, site.text), []).append(key)
        return list(groups.values())

    def place(self, filename: str) -> str:
        """The name a file has in the truth: relative to site-packages, or the longest tail that was measured."""
        path = filename.replace("\\", "/")
        if "/site-packages/" in path:
            return path.rpartition("/site-packages/")[2]
        parts = path.split("/")
        tails = ("/".join(parts[start:]) for start in range(len(parts)))
        return next((tail for tail in tails if tail in self.traced), path)


def rows_of(packed: str) -> set[int]:
    """The rows of "3,7-9": 3, 7, 8 and 9."""
    rows: set[int] = set()
    for part in filter(None, packed.split(",")):
        first, _, last = part.partition("-")
        rows.update(range(int(first), int(last or first) + 1))
    return rows


def load_truth(path: Path) -> Truth:
    """Read a truth file: JSON, one measured file a line. Raises OSError, msgspec.DecodeError."""
    with path.open("rb") as lines:
        return Truth(msgspec.json.decode(line, type=FileTruth) for line in lines)


def library_of(file: str) -> str:
    """The top folder of a file's name in the truth."""
    return file.partition("/")[0]
