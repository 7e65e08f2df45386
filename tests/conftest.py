"""What most tests need: files to look at, and findings to report without an analyzer."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from gblint.analysis import Analysis, Diagnostic, Settings, Stats
from gblint.cli.main import run
from gblint.findings.finding import Finding
from gblint.index.build import build_index
from gblint.index.model import Suppression

# How long an example takes says something of the machine, not of the code.
hypothesis.settings.register_profile("gblint", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("gblint")

Write = Callable[[Mapping[str, str | bytes]], Path]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write files ("pkg/a.py": source) into an empty folder, which becomes the current one; returns the folder."""
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)

    def write(files: Mapping[str, str | bytes]) -> Path:
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            data = textwrap.dedent(content).encode() if isinstance(content, str) else content
            path.write_bytes(data)
        return tmp_path

    return write


class Recorded:
    """Stands in for the analyzer: keeps what it was asked, answers with `findings` of the files reported on."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.findings: list[Finding] = []
        self.diagnostics: list[Diagnostic] = []
        self.stats = Stats(files=1, functions=1, roots=1, explicit_roots=1)

    def __call__(
        self,
        report_files: list[Path],
        project_files: list[Path],
        settings: Settings,
        cache_dir: Path | None = None,
        progress: object = None,
        overlay: Mapping[Path, bytes] | None = None,
    ) -> Analysis:
        call = {"report": report_files, "project": project_files, "settings": settings}
        self.calls.append(call | {"cache_dir": cache_dir, "overlay": overlay})
        names = set(map(str, report_files))
        return Analysis(
            [f for f in self.findings if f.filename in names],
            [d for d in self.diagnostics if d.filename in names],
            self.stats,
            suppressions={str(path): self._comments(path, overlay or {}) for path in report_files},
        )

    @staticmethod
    def _comments(path: Path, overlay: Mapping[Path, bytes]) -> list[Suppression]:
        data = overlay[path] if path in overlay else path.read_bytes()
        return build_index(data.decode("utf-8", "replace"), str(path), "", "", "").suppressions

    @property
    def settings(self) -> Settings:
        """The settings of the only run there was."""
        (call,) = self.calls
        settings: Settings = call["settings"]
        return settings

    def reported(self) -> set[str]:
        """Names of all files that were reported on."""
        return {path.name for call in self.calls for path in call["report"]}


@pytest.fixture
def analyzer(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    """Replace the analyzer by one that reports what the test puts into `findings`."""
    recorded = Recorded()
    monkeypatch.setattr("gblint.checking.analyze", recorded)
    return recorded


class Result:
    """What a run of gblint left: exit code, standard output, standard error."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err


@pytest.fixture
def gblint(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Run gblint inside this process."""

    def call(*arguments: str | Path) -> Result:
        capsys.readouterr()
        code = run([str(a) for a in arguments])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return call


def spawn(*arguments: str | Path, cwd: Path, stdin: bytes = b"", **variables: str) -> Result:
    """Run gblint as a process of its own, away from a terminal."""
    done = subprocess.run(
        [sys.executable, "-m", "gblint", *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": "", **variables},
    )
    return Result(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def finding(filename: Path | str = "model.py", row: int = 1, **fields: Any) -> Finding:
    """A finding with what a test does not care for filled in."""
    given: dict[str, Any] = {
        "code": "GB0170",
        "name": "branch-on-tensor",
        "message": "`x` is a tensor.",
        "filename": str(filename),
        "row": row,
        "column": 1,
        "end_row": row,
        "end_column": 2,
        "function": "model.Net.forward",
        "root": "model.Net.forward",
    }
    return Finding(**(given | fields))
