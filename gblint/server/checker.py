"""When which file is checked: soon after an edit, not while a newer one waits, with repairs only once it rests."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from gblint.analysis import Interrupted
from gblint.checking import Options, Outcome, Settled, check
from gblint.discovery import exclusions
from gblint.errors import GblintError
from gblint.findings.finding import Finding
from gblint.resident import NEAR, REPAIRS, WHOLE, Resident
from gblint.server.lenses import RootView, views
from gblint.server.texts import Text

T = TypeVar("T")

DEBOUNCE_SECONDS = 0.05  # keys of one word
REST_SECONDS = 0.4  # after which repairs are worked out, and the other open files looked at again
_STACK_BYTES = 64 << 20  # the analyzer recurses deeply, and threads get less than the main one on some systems


class Report(msgspec.Struct):
    """What a check has found in one file.

    text: the version that was checked. outcome: see `gblint.checking`; None for a file that the settings exclude or
    that could not be checked. effort: how far the check went (see `gblint.resident`). final: there are no repairs
    beyond those in it.
    """

    path: Path
    text: Text
    outcome: Outcome | None
    effort: int
    final: bool

    @property
    def findings(self) -> list[Finding]:
        """The findings to show."""
        return self.outcome.findings if self.outcome is not None else []


OVERVIEW = REPAIRS + 1  # what becomes of the roots of a file
_Key = tuple[Path, bool]  # a file, and whether it is to be checked; else an overview of it is wanted


class _Job(msgspec.Struct):
    """effort: how far to go, the least first; due: when, by the monotonic clock."""

    effort: int
    due: float


class Checker:
    """Checks open files in a thread of its own.

    publish: called in that thread with every report. failed: called in it with the reason when nothing can be checked.
    """

    def __init__(self, publish: Callable[[Report], None], failed: Callable[[str], None]) -> None:
        self._publish = publish
        self._failed = failed
        self._resident = Resident()
        self._texts: dict[Path, Text] = {}
        self._jobs: dict[_Key, _Job] = {}
        self._reports: dict[Path, Report] = {}
        self._views: dict[Path, tuple[Text, list[RootView]]] = {}
        self._changed = threading.Condition()
        self._running: _Key | None = None
        self._stopped = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread."""
        size = threading.stack_size(_STACK_BYTES)
        self._thread = threading.Thread(target=self._work, name="gblint-check", daemon=True)
        self._thread.start()
        threading.stack_size(size)

    def stop(self) -> None:
        """End the thread, and what it does."""
        with self._changed:
            self._stopped = True
            self._resident.interrupt()
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(timeout=5)

    # -- what an editor does ---------------------------------------------------------------------------------------

    def edit(self, path: Path, text: Text, opened: bool = False) -> None:
        """A file has this text now: check it soon. What runs rests on an older text, and ends."""
        with self._changed:
            self._texts[path] = text
            effort = WHOLE if self._resident.ready(path) else NEAR
            self._jobs[path, True] = _Job(effort, time.monotonic() + (0 if opened else DEBOUNCE_SECONDS))
            self._supersede()

    def close(self, path: Path) -> None:
        """A file is not open any more: what is on disk counts for others."""
        with self._changed:
            for store in (self._texts, self._reports, self._views):
                store.pop(path, None)
            for key in ((path, True), (path, False)):
                self._jobs.pop(key, None)
            self._others()
            self._supersede()

    def look_again(self) -> None:
        """Something on disk has changed: check all open files again."""
        with self._changed:
            self._views.clear()
            self._others()
            self._changed.notify_all()

    def report(self, path: Path) -> Report | None:
        """The newest report on a file."""
        return self._reports.get(path)

    def text(self, path: Path) -> Text | None:
        """What an editor has of a file."""
        return self._texts.get(path)

    def finished(self, path: Path, timeout: float) -> Report | None:
        """Wait for a report with repairs on the text that a file has now; None if it has another by then, or it takes
        too long (in seconds)."""

        def answer() -> Report | None:
            report, job = self._reports.get(path), self._jobs.get((path, True))
            if job is not None and job.effort == REPAIRS:  # somebody waits for what could have waited
                job.due = 0.0
                self._changed.notify_all()
            return report if report is not None and report.final and report.text is self._texts.get(path) else None

        return self._wait(path, answer, timeout)

    def roots(self, path: Path, timeout: float) -> list[RootView]:
        """What becomes of the roots in a file, for the text that it has now; waits for it as `finished` does."""

        def answer() -> list[RootView] | None:
            text, views = self._views.get(path, (None, []))
            if text is not None and text is self._texts.get(path):
                return views
            if (path, False) not in self._jobs and path in self._texts and self._running != (path, False):
                self._jobs[path, False] = _Job(OVERVIEW, 0.0)
                self._changed.notify_all()
            return None

        return self._wait(path, answer, timeout) or []

    def _wait(self, path: Path, answer: Callable[[], T | None], timeout: float) -> T | None:
        deadline = time.monotonic() + timeout
        with self._changed:
            text = self._texts.get(path)
            while text is not None and self._texts.get(path) is text and not self._stopped:
                found = answer()
                left = deadline - time.monotonic()
                if found is not None or left <= 0:
                    return found
                self._changed.wait(left)
        return None

    # -- the thread ------------------------------------------------------------------------------------------------

    def _supersede(self) -> None:
        if self._running is not None:
            self._resident.interrupt()
        self._changed.notify_all()

    def _others(self, path: Path | None = None) -> None:
        """Have the open files checked again that are not going to be, save for one."""
        due = time.monotonic() + REST_SECONDS
        for other in self._texts:
            if other != path:
                self._jobs.setdefault((other, True), _Job(WHOLE, due))

    def _work(self) -> None:
        while (task := self._next()) is not None:
            (path, checks), job, text, contents = task
            report = None
            try:
                if checks:
                    report = self._check(path, text, job.effort, contents)
                else:
                    views = self._overview(path, contents)
            except Interrupted:
                with self._changed:
                    if path in self._texts:
                        self._jobs.setdefault((path, checks), job)
                continue
            finally:
                self._running = None
            if report is None:
                with self._changed:
                    self._views[path] = text, views
                    self._changed.notify_all()
            elif self._settle(report):
                self._publish(report)

    def _next(self) -> tuple[_Key, _Job, Text, dict[Path, bytes]] | None:
        """What to do next, once its time has come; None at the end."""
        with self._changed:
            while not self._stopped:
                now = time.monotonic()
                due = [(job.effort, job.due, key) for key, job in self._jobs.items() if job.due <= now]
                if due:
                    key = min(due)[2]
                    self._running = key
                    self._resident.resume()
                    contents = {path: text.data for path, text in self._texts.items()}
                    return key, self._jobs.pop(key), self._texts[key[0]], contents
                self._changed.wait(min((job.due - now for job in self._jobs.values()), default=None))
        return None

    def _check(self, path: Path, text: Text, effort: int, contents: dict[Path, bytes]) -> Report:
        nothing = Report(path, text, None, REPAIRS, True)
        try:
            if exclusions(Settled(Options()).of(path.parent)).match_path(str(path)):
                return nothing
            outcome = self._outcome([path], effort, contents)
        except GblintError as error:
            self._failed(f"{error.message}: {error.hint}" if error.hint else error.message)
            return nothing
        except Exception as error:  # the server outlives what goes wrong with one text
            self._failed(f"internal error with {path}: {type(error).__name__}: {error}")
            return nothing
        return Report(path, text, outcome, effort, effort > NEAR and not self._resident.partial)

    def _outcome(
        self, paths: Iterable[Path], effort: int, contents: dict[Path, bytes], focus: frozenset[str] = frozenset()
    ) -> Outcome:
        first = next(iter(paths))
        self._resident.effort, self._resident.focus = effort, focus
        fresh = effort > NEAR and not self._resident.ready(first)
        outcome = check(Options(paths=tuple(map(str, paths)), overlay=contents, jobs=1), None, self._resident)
        if fresh:  # what is known of a project stays: the collector need not walk it again and again
            gc.collect()
            gc.freeze()
        return outcome

    def _overview(self, path: Path, contents: dict[Path, bytes]) -> list[RootView]:
        focus = frozenset([str(path)])
        try:
            near = partial(self._resident.beside, path)
            return views(path, lambda paths: self._outcome(paths, WHOLE, contents, focus), near)
        except GblintError:
            return []  # the check of the file says it

    def _settle(self, report: Report) -> bool:
        """Take in a report and see to what follows from it; whether it is news of the text that there is now."""
        with self._changed:
            if self._texts.get(report.path) is not report.text:
                return False
            known = self._reports.get(report.path)
            self._reports[report.path] = report
            now = time.monotonic()
            if report.effort == NEAR:
                self._jobs.setdefault((report.path, True), _Job(WHOLE, now))
            elif not report.final:
                self._jobs.setdefault((report.path, True), _Job(REPAIRS, now + REST_SECONDS))
            if known is None or known.text is not report.text:
                self._others(report.path)
            self._changed.notify_all()
        return True
