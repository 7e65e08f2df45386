"""`gblint check --strict`: what could not be seen is said, and makes the check fail."""

from __future__ import annotations

import html
import json
from collections.abc import Callable

import pytest

from tests.conftest import Result, Write

PLAIN = """
import torch

@torch.compile(fullgraph=True)
def double(x):
    return x * 2
"""
GAPS = {
    "unfound-import": {"model.py": PLAIN.replace("import torch", "import torch\nimport no_such_package.sub as n")},
    "unresolved-call": {"model.py": PLAIN.replace("x * 2", "UNKNOWN[x](x * 2)")},
    "assumed-root": {
        "model.py": "from torch import nn\n\nclass N(nn.Module):\n    def forward(self, x):\n        return x\n"
    },
    "no-root": {"model.py": "x = 1\n"},
    "unknown-torch": {"model.py": PLAIN, "pyproject.toml": '[tool.gblint]\ntarget-torch = "2.3"\n'},
    "no-files": {"notes.txt": ""},
    "stale-baseline": {
        "model.py": PLAIN,
        "pyproject.toml": '[tool.gblint]\nbaseline = "b.json"\n',
        "b.json": '{"version": 1, "findings": [{"file": "model.py", "function": "model.double", "code": "GB0170",'
        ' "name": "branch-on-tensor", "count": 1}]}',
    },
}


def kinds(result: Result) -> set[str]:
    return {entry["name"] for entry in json.loads(result.out) if entry["code"] == "GBL002"}


@pytest.mark.parametrize("kind", GAPS)
def test_each_gap_fails_a_strict_check_alone(project: Write, gblint: Callable[..., Result], kind: str) -> None:
    project({"pyproject.toml": "[tool.gblint]\n", **GAPS[kind]})
    lenient = gblint("check", "-n")
    assert lenient.code == 0
    strict = gblint("check", "-n", "--strict", "--output-format", "json")
    assert strict.code == 1
    assert kinds(strict) == {kind}


def test_nothing_hidden_is_no_gap(project: Write, gblint: Callable[..., Result]) -> None:
    project({"pyproject.toml": "[tool.gblint]\nstrict = true\n", "model.py": PLAIN})
    result = gblint("check", "-n")
    assert (result.code, kinds(gblint("check", "-n", "--output-format", "json"))) == (0, set())
    assert "not seen" not in result.out


def test_the_settings_make_a_check_strict(project: Write, gblint: Callable[..., Result]) -> None:
    project({"pyproject.toml": "[tool.gblint]\nstrict = true\n", **GAPS["unfound-import"]})
    result = gblint("check", "-n")
    assert result.code == 1
    assert "GBL002 unfound-import" in result.out
    assert "no_such_package" in html.unescape(result.out)
    assert gblint("check", "-n", "--exit-zero").code == 0


def test_the_summary_names_what_is_not_there(project: Write, gblint: Callable[..., Result]) -> None:
    project({"pyproject.toml": "[tool.gblint]\n", **GAPS["unfound-import"]})
    assert "1 imported package was not found (no_such_package)" in gblint("check", "-n").out


@pytest.mark.parametrize(
    "line",
    [
        "try:\n    import no_such_package\nexcept ImportError:\n    no_such_package = None",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import no_such_package",
        "import spaces.inner",
        "from spaces import inner",
        "from .spaces import inner",
        "import os.path, torch.nn",
    ],
)
def test_imports_that_may_fail_or_lead_somewhere_are_no_gap(
    project: Write, gblint: Callable[..., Result], line: str
) -> None:
    project({"pyproject.toml": "[tool.gblint]\n", "model.py": f"{line}\n{PLAIN}", "spaces/inner.py": ""})
    assert gblint("check", "-n", "--strict", "model.py").code == 0


def test_counts_are_in_the_statistics(project: Write, gblint: Callable[..., Result]) -> None:
    project({"pyproject.toml": "[tool.gblint]\n", **GAPS["unresolved-call"]})
    rows = json.loads(gblint("check", "-n", "--statistics", "--output-format", "json").out)
    assert {"code": "GBL002", "name": "unresolved-call", "count": 1} in rows


@pytest.mark.parametrize(
    "form", ["full", "concise", "github", "gitlab", "junit", "sarif", "markdown", "json-lines", "html"]
)
def test_every_format_tells(project: Write, gblint: Callable[..., Result], form: str) -> None:
    project({"pyproject.toml": "[tool.gblint]\n", **GAPS["unfound-import"]})
    result = gblint("check", "-n", "--strict", "--output-format", form)
    assert result.code == 1
    assert "no_such_package" in html.unescape(result.out)


def test_strict_excludes_what_says_another_thing(project: Write, gblint: Callable[..., Result]) -> None:
    project({"pyproject.toml": "[tool.gblint]\n", "model.py": PLAIN})
    result = gblint("check", "--strict", "--diff")
    assert result.code == 2
    assert "--strict excludes --diff" in result.err
