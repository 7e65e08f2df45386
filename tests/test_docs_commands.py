"""The commands on the pages run: each in a project that has what the pages take for granted, in a shell."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_docs import shell_lines

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "tests/verify/recorded/2.13"
# What needs more than gblint's development environment, never ends, or takes minutes (transcripts run such ones).
ELSEWHERE = ("transformers", "ipython", "torchrun", "--corpus", "bench", "--check-outputs", "--watch", "gblint server")
NEEDS_TORCH = ("verify", "--verify")

MODEL = """\
import logging

import torch

logger = logging.getLogger(__name__)


class Net(torch.nn.Module):
    def forward(self, x):
        logger.info("called")
        if x.sum() > 0:
            x = x * 2
        return x


def make():
    return Net(), torch.ones(2)
"""
TRAIN = """\
import torch

from model import Net

net = torch.compile(Net(), backend="eager")
with torch.no_grad():
    net(torch.ones(2))
"""
FILES = {
    "pyproject.toml": '[project]\nname = "shop"\n\n[tool.gblint]\nsrc = ["src"]\nbaseline = "gblint-baseline.json"\n',
    "gblint-baseline.json": '{"version": 1, "findings": []}\n',
    "theirs.jsonl": "",
    "src/model.py": MODEL,
    "train.py": "import sys\nsys.path.insert(0, 'src')\n" + TRAIN,
    "repaired/train.py": "import sys\nsys.path.insert(0, 'src')\n" + TRAIN,
    "tests/test_model.py": "import runpy\n\n\ndef test_model():\n    runpy.run_path('train.py')\n",
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project, in a repository whose branch has left origin/main, with what a run has left of logs."""
    folder = tmp_path_factory.mktemp("template")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    shutil.copy(RECORDED / "log.txt", folder / "train.log")
    shutil.copy(RECORDED / "error.txt", folder / "error.txt")
    shutil.copytree(RECORDED / "trace", folder / "traces")
    shutil.copytree(RECORDED / "tlparse", folder / "tl_out")
    identity = ("-c", "user.name=tester", "-c", "user.email=tester@example.org")
    for command in (
        ("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "start"),
        ("update-ref", "refs/remotes/origin/main", "HEAD"),
    ):  # fmt: skip
        subprocess.run(["git", *identity, *command], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `gblint` and `python`, as an environment has them."""
    folder = tmp_path_factory.mktemp("bin")
    for name, words in (("gblint", "-m gblint"), ("python", "")):
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (folder / name).chmod(0o755)
    return folder


def runnable() -> list[str]:
    lines = {line for line in shell_lines() if line.startswith("gblint ")}
    return sorted(line for line in lines if not any(word in line for word in ELSEWHERE))


@pytest.mark.parametrize("line", runnable())
def test_a_command_runs(line: str, template: Path, programs: Path, tmp_path: Path) -> None:
    if any(word in line.split() for word in NEEDS_TORCH):
        pytest.importorskip("torch", reason="the command runs a program with torch")
    project = tmp_path / "project"
    shutil.copytree(template, project)
    if "--update-baseline" in line and "--baseline" in line:
        (project / "gblint-baseline.json").unlink()  # the page says: once
    variables = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "FORCE_COLOR")}
    done = subprocess.run(
        ["sh", "-c", line.partition(" | ")[0]],
        cwd=project,
        env={**variables, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout or done.stderr or "--output-file" in line or ">" in line


def test_what_is_left_out_is_little() -> None:
    lines = {line for line in shell_lines() if line.startswith("gblint ")}
    assert len(lines) - len(runnable()) <= 13
