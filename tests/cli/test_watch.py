"""`gblint check --watch`: a report after every change, at once and only of what changed."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gblint.cli import watching
from gblint.units import Plan, UnitResult, Worker
from tests.conftest import Result, Write, spawn

pytest.importorskip("watchfiles")

Gblint = Callable[..., Result]
BREAKS = "import torch\n\n\n@torch.compile\ndef f(x):\n    print(x)\n    return x\n"
CLEAN = BREAKS.replace("    print(x)\n", "")
PATIENCE = 60.0


class Watching:
    """A process that watches, with what it has written so far."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        command = [sys.executable, "-m", "gblint", "check", "--watch", "--output-format", "concise", *arguments]
        self._out = (folder.parent / "out").open("w+b")
        self._process = subprocess.Popen(command, cwd=folder, stdout=self._out, stderr=subprocess.STDOUT)

    def __enter__(self) -> Watching:
        return self

    def __exit__(self, *what: object) -> None:
        self._process.kill()
        self._process.wait()
        self._out.close()

    def wait_for(self, text: str, times: int = 1) -> str:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            seen = Path(self._out.name).read_text("utf-8")
            if seen.count(text) >= times:
                return seen
            assert self._process.poll() is None, seen
            time.sleep(0.05)
        raise AssertionError(seen)

    def interrupt(self) -> tuple[int, float]:
        """Exit code after Ctrl-C, and the seconds that it took."""
        start = time.monotonic()
        self._process.send_signal(signal.SIGINT)
        code = self._process.wait(PATIENCE)
        return code, time.monotonic() - start


@pytest.fixture
def folder(project: Write, tmp_path: Path) -> Path:
    project({"p/pyproject.toml": "", "p/model.py": BREAKS, "p/other.py": CLEAN.replace("def f", "def g")})
    return tmp_path / "p"


def test_every_change_is_reported_and_ctrl_c_ends_well(folder: Path) -> None:
    with Watching(folder) as watching:
        watching.wait_for("watching", 1)
        assert "model.py:6:5: GB0059" in watching.wait_for("Found 1 graph break", 1)
        (folder / "model.py").write_text(CLEAN, "utf-8")
        watching.wait_for("Found no graph breaks", 1)
        (folder / "new.py").write_text(BREAKS, "utf-8")
        assert "new.py:6:5: GB0059" in watching.wait_for("watching", 3)
        (folder / "pyproject.toml").write_text("[tool.gblint]\nselekt = 1\n", "utf-8")
        assert "unknown key `tool.gblint.selekt`" in watching.wait_for("watching", 4)
        (folder / "pyproject.toml").write_text("[tool.gblint]\nignore = ['GB0059']\n", "utf-8")
        watching.wait_for("Found no graph breaks", 2)
        (folder / "notes.txt").write_text("nothing to do with it", "utf-8")
        (folder / ".venv").mkdir()
        (folder / ".venv" / "lib.py").write_text(BREAKS, "utf-8")
        time.sleep(1.0)
        assert watching.wait_for("watching", 5).count("watching") == 5
        code, seconds = watching.interrupt()
        assert code == 0
        assert seconds < 2.0


def test_a_terminal_is_cleared(folder: Path) -> None:
    parent, child = pty.openpty()
    command = [sys.executable, "-m", "gblint", "check", "--watch"]
    process = subprocess.Popen(command, cwd=folder, stdout=child, stderr=child, close_fds=True)
    os.close(child)
    seen = b""
    while b"Ctrl-C ends" not in seen:
        seen += os.read(parent, 4096)
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 0
    os.close(parent)
    assert seen.startswith(b"\x1b[2J")


def test_only_what_changed_is_worked_out_again(folder: Path, gblint: Gblint, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    run = Worker.run

    def noted(self: Worker, plan: Plan) -> UnitResult:
        ran.append(Path(plan.info.path).name)
        return run(self, plan)

    def changes(places: list[Path]) -> Iterator[object]:
        yield set()
        assert sorted(ran) == ["model.py", "other.py"]
        ran.clear()
        (folder / "model.py").write_text(CLEAN, "utf-8")
        yield {"a change"}
        assert ran == ["model.py"]
        raise KeyboardInterrupt

    monkeypatch.setattr(Worker, "run", noted)
    monkeypatch.setattr(watching, "_changes", changes)
    result = gblint("check", "--watch", "-j", "1", folder)
    assert result.code == 0
    assert ran == ["model.py"]


@pytest.mark.parametrize("option", ["--fix", "--diff", "--update-baseline", "--add-noqa"])
def test_nothing_is_changed_while_watching(folder: Path, gblint: Gblint, option: str) -> None:
    result = gblint("check", "--watch", option, folder)
    assert result.code == 2
    assert "--watch" in result.err


def test_what_cannot_be_watched_is_said(folder: Path, gblint: Gblint) -> None:
    assert "no such file" in gblint("check", "--watch", folder / "nowhere").err
    assert "standard input" in gblint("check", "--watch", "-").err


def test_without_its_library_it_says_what_to_install(folder: Path) -> None:
    (folder / "watchfiles.py").write_text("raise ImportError('watchfiles')\n", "utf-8")
    result = spawn("check", "--watch", cwd=folder, PYTHONPATH=str(folder))
    assert result.code == 2
    assert "pip install 'gblint[watch]'" in result.err
