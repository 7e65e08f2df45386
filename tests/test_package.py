"""What surrounds the code: the metadata, the README's commands, and the hooks."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import tomli

import gblint

ROOT = Path(__file__).parent.parent
PROJECT = tomli.loads((ROOT / "pyproject.toml").read_text("utf-8"))
README = (ROOT / "README.md").read_text("utf-8")


def commands() -> list[str]:
    """The lines of shell in the README."""
    blocks = re.findall(r"^```(?:sh|bash|console|shell)\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line and line[0] != "#"]


def test_the_readme_starts_with_the_two_commands_for_a_newcomer() -> None:
    first, second = commands()[:2]
    assert first == "python -m venv .venv && .venv/bin/pip install -e . && .venv/bin/gblint check corpus/models"
    assert second == ".venv/bin/pip install -e '.[dev]' && .venv/bin/python -m pytest"


def test_continuous_integration_finds_the_test_command_in_the_readme() -> None:
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    pattern = re.search(r"grep -m 1 '([^']+)'", script)
    assert pattern
    assert next(line for line in README.splitlines() if pattern[1] in line) == commands()[1]


def test_torch_is_pinned_for_development_only() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    assert "torch==2.13.0" in extras["dev"]
    assert [d for d in PROJECT["project"]["dependencies"] if d.startswith("torch")] == []


@pytest.mark.parametrize("folder", ["rules", "codemods"])
def test_top_level_folders_are_part_of_the_package(folder: str) -> None:
    assert PROJECT["tool"]["setuptools"]["package-dir"][f"gblint.{folder}"] == folder
    module = __import__(f"gblint.{folder}", fromlist=["x"])
    assert Path(module.__file__).parent == ROOT / folder


def test_the_hooks_are_commands_that_exist() -> None:
    from gblint.cli.main import COMMANDS

    text = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")
    assert re.findall(r"^- id: (\S+)$", text, re.MULTILINE) == ["gblint-check", "gblint-fix"]
    for entry in re.findall(r"^  entry: (.+)$", text, re.MULTILINE):
        program, command = shlex.split(entry)
        assert program in PROJECT["project"]["scripts"]
        assert command in COMMANDS


def test_the_version_is_in_the_changelog() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f"## {gblint.__version__}" in changelog or "## Unreleased" in changelog
