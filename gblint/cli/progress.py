"""A progress bar on standard error, for runs that take long and are watched."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gblint.analysis import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

_PATIENCE_SECONDS = 1.0


@contextmanager
def progress_bar() -> Iterator[Progress | None]:
    """Give a function to report progress to, None when nobody watches: the bar shows up after a second of work."""
    if not sys.stderr or not sys.stderr.isatty():
        yield None
        return
    shown = _Shown()
    try:
        yield shown.update
    finally:
        shown.stop()


class _Shown:
    def __init__(self) -> None:
        self._start = time.monotonic()
        self._bar: Bar | None = None

    def update(self, done: int, total: int, current: str) -> None:
        if self._bar is None:
            if time.monotonic() - self._start < _PATIENCE_SECONDS:
                return
            self._bar = _bar()
            self._task = self._bar.add_task("gblint", total=total)
            self._bar.start()
        self._bar.update(self._task, completed=done, total=total)

    def stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()


def _bar() -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
