"""The progress bar: only for people, only when they have to wait."""

from __future__ import annotations

import io

import pytest

from gblint.cli import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def watched(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Make standard error a terminal; in the test itself, since pytest puts its own stream there before each."""
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    return stream


def test_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with progress.progress_bar() as report:
        assert report is None


def test_a_short_run_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch)
    with progress.progress_bar() as report:
        assert report
        report(1, 2, "a.py")
    assert terminal.getvalue() == ""


def test_a_long_run_shows_a_bar_and_removes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch)
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 0.0)
    with progress.progress_bar() as report:
        assert report
        report(1, 40, "a.py")
        report(7, 40, "b.py")
    shown = terminal.getvalue()
    assert "7/40" in shown
    assert shown.endswith("\x1b[2K"), "the line is erased at the end"
