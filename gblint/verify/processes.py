"""A process and all that it has started: the memory they hold, and ending them."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

_PATIENCE = 5.0  # seconds between asking a process to end and ending it


class _Running(msgspec.Struct, frozen=True):
    pid: int
    parent: int
    session: int
    pages: int


class Family:
    """The processes of a session, and of sessions that these have opened, as torchrun does for each of its workers.

    One that has lost its parent is known only by its session, so `look` has to be called every now and then. Where the
    system has no /proc to tell, only the first process and its group are known.
    """

    def __init__(self, first: subprocess.Popen[bytes]) -> None:
        self._first = first
        self._sessions = {first.pid}

    def look(self) -> float:
        """See who is there now; the memory in MB that they hold together, 0 where that cannot be told."""
        return sum(member.pages for member in self._members()) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def end(self, gently: signal.Signals) -> None:
        """End the first process, if it still runs, by asking first, and then what is left of the others. It gets a
        chance to end its own: they are asked only by it."""
        self.look()
        for signum in (gently, signal.SIGKILL):
            if self._first.poll() is None:
                _to_group(self._first.pid, signum)
                with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
                    self._first.wait(timeout=_PATIENCE)
        for member in self._members():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(member.pid, signal.SIGKILL)
        self.end_group()

    def end_group(self) -> None:
        """End what the first process has left running in its session: it would keep the pipes open."""
        _to_group(self._first.pid, signal.SIGKILL)
        self._first.wait()

    def _members(self) -> list[_Running]:
        running = list(_running())
        sessions = {process.pid: process.session for process in running}
        grown = True
        while grown:
            opened = {p.session for p in running if sessions.get(p.parent) in self._sessions} - self._sessions
            self._sessions |= opened
            grown = bool(opened)
        members = [process for process in running if process.session in self._sessions]
        self._sessions = {process.session for process in members}  # the number of one that is over may be given again
        return members


def _running() -> Iterator[_Running]:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):  # it has ended meanwhile
            fields = stat.read_text("utf-8", "replace").rpartition(")")[2].split()
            yield _Running(int(stat.parent.name), int(fields[1]), int(fields[3]), int(fields[21]))


def _to_group(group: int, signum: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signum)
