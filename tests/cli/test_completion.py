"""Completion in shells: by what the shell asks, and in a real bash."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gblint.cli.main import COMMANDS
from gblint.registry import load_rules
from gblint.report import FORMATS
from tests.conftest import spawn


def complete(cwd: Path, *words: str) -> list[str]:
    """What bash would be told for the last word."""
    asked = {"_GBLINT_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    return [line.partition(",")[2] for line in spawn(cwd=cwd, **asked).out.splitlines()]


def test_commands_options_formats_and_rules_are_completed(tmp_path) -> None:
    assert complete(tmp_path, "gblint", "c") == [name for name in COMMANDS if name.startswith("c")]
    assert "--statistics" in complete(tmp_path, "gblint", "check", "--stat")
    assert complete(tmp_path, "gblint", "check", "--output-format", "json") == [f for f in FORMATS if f[:4] == "json"]
    assert complete(tmp_path, "gblint", "explain", "print") == ["print-call"]
    assert complete(tmp_path, "gblint", "check", "--ignore", "GB0059,branch-on") == ["GB0059,branch-on-tensor"]
    codes = {code for rule in load_rules() for code in rule.meta.codes}
    assert complete(tmp_path, "gblint", "check", "--select", "gb01") == sorted(c for c in codes if c[:4] == "GB01")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell(shell, gblint, tmp_path) -> None:
    script = gblint("completion", shell)
    assert script.code == 0
    assert f"_GBLINT_COMPLETE={shell}_complete" in script.out
    if shutil.which(shell):
        (tmp_path / "script").write_text(script.out)
        assert subprocess.run([shell, "-n", str(tmp_path / "script")], check=False).returncode == 0


def test_another_shell_is_an_error(gblint) -> None:
    result = gblint("completion", "tcsh")
    assert result.code == 2
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in result.err


@pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash")
def test_in_bash(gblint, tmp_path) -> None:
    (tmp_path / "gblint").write_text(f'#!/bin/sh\nexec {sys.executable} -m gblint "$@"\n')
    (tmp_path / "gblint").chmod(0o755)
    (tmp_path / "completion").write_text(gblint("completion", "bash").out)
    lines = (
        "source completion",
        "COMP_WORDS=(gblint veri); COMP_CWORD=1; _gblint_completion gblint; echo ${COMPREPLY[@]}",
        "complete -p gblint",
    )
    variables = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "--norc", "-c", "\n".join(lines)],
        cwd=tmp_path, env=variables, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["verify", "complete -o nosort -F _gblint_completion gblint"], done.stderr
