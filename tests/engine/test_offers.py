"""Repairs for breaks in helpers that many models call."""

from __future__ import annotations

from pathlib import Path

import pytest

from gblint.analysis import Analysis, Settings, analyze
from gblint.findings.finding import Finding
from gblint.fixing import propose

HELPERS = """
import torch

def scale(x):
    print("scaling")
    return x * 2
"""
MODEL = """
import torch
from torch import nn
from helpers import scale

class Net{n}(nn.Module):
    def forward(self, x: torch.Tensor):
        print("forward {n}")
        return scale(x)
"""
CHOICE = (("logging", "guard"), ("depth", "best"), ("from", "0.5"))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "helpers.py").write_text(HELPERS)
    for n in range(6):
        (root / f"model_{n}.py").write_text(MODEL.replace("{n}", str(n)))
    return root


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files whose findings codemods were asked about, in order."""
    found: list[str] = []
    ask = propose.with_fixes

    def noting(machine: object, draft: object, finding: Finding, options: dict[str, str]) -> Finding:
        found.append(Path(finding.filename).name)
        return ask(machine, draft, finding, options)  # type: ignore[arg-type]

    monkeypatch.setattr(propose, "with_fixes", noting)
    return found


def run(root: Path, fixing: tuple[tuple[str, str], ...] = CHOICE, jobs: int = 1, cache: Path | None = None) -> Analysis:
    files = sorted(root.rglob("*.py"))
    return analyze(files, files, Settings(fixing=fixing, jobs=jobs), cache)


def test_codemods_are_asked_once_about_a_helper(tree: Path, asked: list[str]) -> None:
    findings = run(tree).findings
    assert sorted(asked) == ["helpers.py", *(f"model_{n}.py" for n in range(6))]
    assert all(f.examined and f.fix is not None for f in findings)


def test_a_fix_asks_on_every_way(tree: Path, asked: list[str]) -> None:
    run(tree, (*CHOICE[:1], ("depth", "all")))
    assert asked.count("helpers.py") == 6


def test_what_is_asked_later_is_kept_like_the_rest(tree: Path, tmp_path: Path, asked: list[str]) -> None:
    first = run(tree, cache=tmp_path / "cache").findings
    asked.clear()
    assert run(tree, cache=tmp_path / "cache").findings == first
    assert asked == []


def test_the_answers_are_those_of_any_number_of_processes(tree: Path) -> None:
    assert run(tree, jobs=2).findings == run(tree).findings


def test_nobody_is_asked_about_findings_that_are_not_likely_enough(tree: Path, asked: list[str]) -> None:
    findings = run(tree, (*CHOICE[:2], ("from", "2"))).findings
    assert asked == []
    assert findings
    assert not any(f.examined for f in findings)
