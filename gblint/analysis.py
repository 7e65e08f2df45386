"""The contract between the command line and the analyzer: what to look at goes in, findings and counts come out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from gblint.findings.finding import Finding
from gblint.index.model import Suppression
from gblint.knowledge.declared import Declared
from gblint.reach import Cause, Key


class Settings(msgspec.Struct, frozen=True):
    """What changes the answer of the analyzer (and so is part of every cache key).

    roots: names "pkg.model:Model.forward" that are compiled in any case.
    roots_mode: "auto", "explicit", "modules" or "all".
    target_torch: torch minor release such as "2.13".
    search_paths: directories that imports resolve in, after the project itself (site-packages of the environment).
    python: minor version of the user's Python, such as "3.11".
    functions: what is said of single functions, by dotted name (`[tool.gblint.functions]` and plugins).
    fixing: how repairs are wanted (`[tool.gblint.fix]`), as pairs of key and value.
    jobs: worker processes, 1 for none.
    """

    roots: tuple[str, ...] = ()
    roots_mode: str = "auto"
    target_torch: str = "2.13"
    search_paths: tuple[str, ...] = ()
    python: str = "3.11"
    functions: tuple[tuple[str, Declared], ...] = ()
    fixing: tuple[tuple[str, str], ...] = ()
    jobs: int = 1

    def fix_option(self, key: str) -> str:
        """One of the settings for repairs, "" if it is not given."""
        return dict(self.fixing).get(key, "")

    @property
    def repaired_from(self) -> float:
        """The least confidence of findings that codemods are asked about."""
        return float(self.fix_option("from") or 0)


class Stats(msgspec.Struct):
    """Counts for the summary line.

    cut: roots or functions that ran out of budget; internal: internal errors turned into diagnostics
        (message with file and function); unresolved: distinct names of calls whose target stayed unknown;
        unfound: packages that files import in any case and that are nowhere;
        twins: files whose classes were not taken for roots since others that are imported hold the same.
    """

    files: int = 0
    functions: int = 0
    roots: int = 0
    explicit_roots: int = 0
    assumed_roots: int = 0
    unresolved: int = 0
    cut: int = 0
    twins: int = 0
    internal: list[str] = []
    unfound: list[str] = []


class Diagnostic(msgspec.Struct, frozen=True):
    """A file that could not be analysed (syntax error, encoding, size): reported beside findings."""

    filename: str
    row: int
    column: int
    kind: str  # "invalid-syntax", "unreadable", "too-large", "bad-encoding", "invalid-notebook", "internal-error"
    message: str


class Analysis(msgspec.Struct):
    """All findings (unfiltered by confidence, selection or suppression), sorted by file and row.

    calls: the calls reached from the roots, packed (see `gblint.callgraph`), one part for each unit of the analysis.
    suppressions: the silencing comments by file, of the files whose findings were wanted and that have any.
    twins: the wanted files that others stand for (see `gblint.twins`). notes: what a reader has to know, a line each.
    causes: the root causes of all findings of the project, also in files that are not wanted (see `gblint.reach`).
    """

    findings: list[Finding]
    diagnostics: list[Diagnostic]
    stats: Stats
    calls: list[bytes] = []
    suppressions: dict[str, list[Suppression]] = {}
    twins: frozenset[str] = frozenset()
    causes: dict[Key, Cause] = {}
    notes: list[str] = []


class Interrupted(BaseException):
    """An analysis was told to end, from another thread: what it would say is of no use any more."""


Progress = Callable[[int, int, str], None]


def analyze(
    report_files: list[Path],
    project_files: list[Path],
    settings: Settings,
    cache_dir: Path | None = None,
    progress: Progress | None = None,
    overlay: Mapping[Path, bytes | None] | None = None,
) -> Analysis:
    """Find where Dynamo would break the graph in `report_files`, seen in the context of `project_files`.

    report_files: files whose findings are wanted (already discovered and filtered).
    project_files: every file of the project, so that roots in other files are seen; includes report_files.
    cache_dir: where index and results live between runs; None for no cache.
    progress: called with (units done, units in all, current file).
    overlay: contents that stand in for files on disk (an editor's buffer, standard input); None for a file that is
        taken as not there.
    Nothing is imported or executed; a file that cannot be read or parsed becomes a Diagnostic.
    """
    from gblint.engine import run

    return run(report_files, project_files, settings, cache_dir, progress, overlay)
