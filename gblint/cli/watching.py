"""`gblint check --watch`: a new report whenever a file of the project changes."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click

from gblint.cli.main import colour_of, fail, print_out
from gblint.config import DEFAULT_EXCLUDE
from gblint.discovery import SUFFIXES, absolute, project_root
from gblint.errors import GblintError
from gblint.report.style import plural, shown

_SETTINGS = ("pyproject.toml", "gblint.toml", ".gitignore")
_CLEAR = "\x1b[2J\x1b[3J\x1b[H"
_STEP_MS, _GROUP_MS, _WAKE_MS = 50, 300, 100  # quiet that ends a group of changes; the longest group; a look round


def watch(paths: Iterable[str], report: Callable[[], int]) -> int:
    """Report, and again after every change in the projects of some paths, until Ctrl-C.

    report: makes a report; a GblintError of it is said, and may be gone with the next change. What has not changed
    comes from the cache. Raises GblintError when there is nothing to watch with, or a path does not exist.
    """
    places = _places(paths)
    try:
        changes = _changes(places)
        next(changes)  # the watch stands before the first look at the files
        _report(report, places)
        for changed in changes:
            if changed:
                _report(report, places)
    except KeyboardInterrupt:
        pass
    return 0


def _changes(places: list[Path]) -> Iterator[object]:
    """Sets of changes, empty ones in between."""
    try:
        from watchfiles import Change
        from watchfiles import watch as changes_in
    except ImportError:
        raise GblintError("--watch needs watchfiles, which is not installed", "pip install 'gblint[watch]'") from None

    def matters(change: Change, path: str) -> bool:
        return concerns(Path(path), places)

    return changes_in(
        *places, watch_filter=matters, step=_STEP_MS, debounce=_GROUP_MS, rust_timeout=_WAKE_MS, yield_on_timeout=True,
        ignore_permission_denied=True,
    )  # fmt: skip


def concerns(path: Path, places: Iterable[Path]) -> bool:
    """Whether a change of a file can change a report: source and settings, but not in folders that nobody reads."""
    if path.suffix not in SUFFIXES and path.name not in _SETTINGS:
        return False
    inside = next((path.relative_to(place) for place in places if path.is_relative_to(place)), path)
    return not set(DEFAULT_EXCLUDE).intersection(inside.parts[:-1])


def _places(paths: Iterable[str]) -> list[Path]:
    """The folders of the projects that paths belong to."""
    found: dict[Path, None] = {}
    for text in paths:
        path = absolute(text)
        if not path.exists():
            raise GblintError(f"no such file or directory: {text}", "check the spelling, and the folder you are in")
        folder = path if path.is_dir() else path.parent
        found[project_root(folder) or folder] = None
    return list(found)


def _report(report: Callable[[], int], places: list[Path]) -> None:
    if sys.stdout.isatty():
        print_out(_CLEAR)
    try:
        report()
    except GblintError as error:
        fail(error.message, error.hint)
    finally:
        gc.enable()  # a single report does without the collector
    sys.stdout.flush()
    where = shown(str(places[0])) if len(places) == 1 else plural(len(places), "project")
    text = click.style(f"gblint: watching {where}; Ctrl-C ends", dim=True)
    click.echo(text, err=True, color=colour_of(sys.stderr))
