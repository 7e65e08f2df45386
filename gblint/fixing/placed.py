"""Edited files that stand on disk while a command runs, and go back to what they were."""

from __future__ import annotations

import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType

from gblint.errors import GblintError
from gblint.fixing.rewrite import replace_file

ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Placed:
    """A context in which files can be given other contents; on leaving it they are as before, unless `keep` was called.

    Copies of the files as they were are in `folder` meanwhile, for the case that gblint itself is killed. Requests to
    end the process (SIGTERM, SIGHUP) end the context in order: they come as KeyboardInterrupt.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="gblint-originals-"))
        self._old: dict[str, bytes] = {}
        self._now: dict[str, bytes] = {}
        self._handlers: dict[signal.Signals, object] = {}

    def __enter__(self) -> Placed:
        if threading.current_thread() is threading.main_thread():
            self._handlers = {signum: signal.signal(signum, _end) for signum in ENDING}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            with uninterrupted():
                self._restore()
        finally:
            for signum, handler in self._handlers.items():
                signal.signal(signum, handler)  # type: ignore[arg-type]

    def put(self, old: Mapping[str, bytes], new: Mapping[str, bytes]) -> None:
        """Give the files of `new` these contents, and all others put before their old ones back. old: what the files
        of `new` were at first. Raises GblintError if one has changed meanwhile or cannot be written."""
        for path in new:
            if path not in self._old:
                self._remember(path, old[path])
        for path, data in self._old.items():
            self._set(path, new.get(path, data))

    def keep(self) -> None:
        """Leave the files as they are now."""
        self._old = {}

    def _remember(self, path: str, data: bytes) -> None:
        copy = self.folder / f"{len(self._old):04}-{Path(path).name}"
        copy.write_bytes(data)
        self._old[path] = self._now[path] = data

    def _set(self, path: str, data: bytes) -> None:
        if self._now[path] == data:
            return
        with uninterrupted():  # what stands there and what is noted here have to agree
            replace_file(path, self._now[path], data)
            self._now[path] = data

    def _restore(self) -> None:
        failed: list[str] = []
        for path, data in self._old.items():
            try:
                self._set(path, data)
            except GblintError as error:
                failed.append(error.message)
        if failed:
            raise GblintError("; ".join(failed), f"the files as they were are in {self.folder}")
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Put off Ctrl-C and requests to end until the block is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[tuple[int, FrameType | None]] = []
    known = {s: signal.signal(s, lambda *given: waiting.append(given)) for s in (signal.SIGINT, *ENDING)}
    try:
        yield
    finally:
        for signum, handler in known.items():
            signal.signal(signum, handler)
        for number, frame in waiting[:1]:
            handler = known[signal.Signals(number)]
            if callable(handler):
                handler(number, frame)


def _end(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
