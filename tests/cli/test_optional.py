"""What is no graph break, and rules that are off until they are selected."""

from __future__ import annotations

import json

MODEL = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.step = 0

    def forward(self, x):
        self.step += 1
        if x.sum() > 0:
            return x
        return -x

net = torch.compile(Net())
"""
KEYS = ("code", "consequence", "severity", "reach")


def test_a_rule_that_is_off_says_nothing(project, gblint) -> None:
    root = project({"model.py": MODEL})
    assert "GB0039" not in gblint("check", str(root), "-n").out
    assert "GB0039" not in gblint("check", str(root), "-n", "--select", "GB0170").out


def test_what_recompiles_is_no_graph_break(project, gblint) -> None:
    root = project({"model.py": MODEL, "pyproject.toml": '[tool.gblint]\nextend-select = ["growing-attribute"]\n'})
    items = json.loads(gblint("check", str(root), "-n", "--output-format", "json").out)
    found = [tuple(item[key] for key in KEYS) for item in items]
    assert found == [("GB0039", "recompiles", "warning", 0), ("GB0170", "splits-graph", "error", 1)]
    text = gblint("check", str(root), "-n").out
    assert "Silent: no graph break, but torch.compile gives up" in text
    assert text.index("GB0170 branch-on-tensor") < text.index("GB0039 growing-attribute")
    assert "Found 1 graph break in 1 file (1 on hot paths), 1 place where torch.compile compiles anew" in text


def test_a_comment_for_a_rule_that_is_off_is_not_unused(project, gblint) -> None:
    root = project({"model.py": MODEL.replace("self.step += 1", "self.step += 1  # noqa: GB0039")})
    assert "GBL001" not in gblint("check", str(root), "-n").out
    assert "GB0039" not in gblint("check", str(root), "-n", "--select", "ALL").out


GUARDED = """
import torch


@torch.compile
def step(x):
    if not torch.compiler.is_compiling():
        x = x.clamp(min=0)
    return x + 1


step(torch.ones(2))
"""


def test_a_needless_guard_is_told_if_asked_for(project, gblint) -> None:
    root = project({"model.py": GUARDED})
    assert "Found no graph breaks." in gblint("check", str(root), "-n").out
    result = gblint("check", str(root), "-n", "--extend-select", "needless-guard")
    assert "Needless: kept from Dynamo, which could trace it" in result.out
    assert "`not torch.compiler.is_compiling()` keeps out code in which nothing breaks under torch" in result.out
    assert "Found 1 guard that keeps traceable code out." in result.out
    items = json.loads(gblint("check", str(root), "-n", "--select", "GBL200", "--output-format", "json").out)
    assert [tuple(item[key] for key in KEYS) for item in items] == [("GBL200", "needless", "info", 0)]


COMPILED = """
import torch


def step(x):
    return x + 1


first = torch.compile(step, mode="default", options={"epilogue_fusion": True})
second = torch.compile(step, backend="eager", mode="max-autotune")
"""


def test_arguments_that_torch_compile_refuses_or_ignores(project, gblint) -> None:
    root = project({"model.py": COMPILED})
    result = gblint("check", str(root), "-n")
    assert result.code == 1
    assert "Found 1 call that torch.compile refuses, 1 argument of torch.compile without effect." in result.out
    assert "[hot]" not in result.out
    assert result.out.index("Refused: torch.compile") < result.out.index(
        "Silent: no graph break, but torch.compile does"
    )
    items = json.loads(gblint("check", str(root), "-n", "--output-format", "json").out)
    found = [(item["location"]["row"], *(item[key] for key in KEYS)) for item in items]
    assert found == [(9, "GBL201", "fails", "error", 0), (10, "GBL201", "ignored", "warning", 0)]
    assert gblint("check", str(root), "-n", "--ignore", "compile-arguments").code == 0
