"""Functions that are kept out of graphs: what is said of whether they still have to be."""

from __future__ import annotations

from pathlib import Path

import pytest
from gblint.rules.gb0098_disabled_function import DisabledFunction

from gblint.analysis import Settings, analyze
from gblint.devtools.labels import expected
from gblint.findings.finding import Finding

PROGRAM = """
import contextlib
import time

import torch
from torch import nn

seen = []
calls = 0


@torch.compiler.disable
def helper({parameters}):
{body}


class Config:
    scale = 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.steps = 0
        self.config = Config()

    def forward(self, x, anything):
        return helper({arguments})


torch.compile(Net())(torch.ones(2, 4), object())
"""
CLEAN = "nothing in it breaks"
BREAKS = "would break the graph itself"
SILENT = ""


def findings(tmp_path: Path, body: str, parameters: str, arguments: str, torch: str = "2.13") -> list[Finding]:
    file = tmp_path / "example.py"
    rows = "\n".join(f"    {row}" for row in body.split("\n"))
    file.write_text(PROGRAM.format(body=rows, parameters=parameters, arguments=arguments), encoding="utf8")
    return analyze([file], [file], Settings(target_torch=torch)).findings


def said(finding: Finding) -> str:
    """What a finding says of the function, and whether it is one of the answers there are."""
    offered = [fix.message for fix in finding.fixes if fix.codemod == "enable-function"]
    if any(BREAKS in reason.text for reason in finding.why):
        assert not offered
        assert BREAKS in dict(finding.refusals)["enable-function"]
        return BREAKS
    assert [CLEAN in message for message in offered] == [CLEAN in finding.advice]
    return CLEAN if CLEAN in finding.advice else SILENT


@pytest.mark.parametrize(
    ("body", "parameters", "arguments", "answer"),
    [
        ("return torch.softmax(x, -1).mean()", "x", "x", CLEAN),
        ("out = []\nfor i in range(3):\n    out.append(x * i)\nreturn torch.stack(out)", "x", "x", CLEAN),
        ("with torch.no_grad():\n    return net.fc(x) * net.config.scale", "net, x", "self, x", CLEAN),
        ("return x * x.sum().item()", "x", "x", BREAKS),
        ("time.sleep(0.1)\nreturn x", "x", "x", BREAKS),
        ("seen.append(x.mean())\nreturn x", "x", "x", SILENT),
        ("global calls\ncalls += 1\nreturn x", "x", "x", SILENT),
        ("net.steps += 1\nreturn x", "net, x", "self, x", SILENT),
        ("net.last = x\nreturn x", "net, x", "self, x", SILENT),
        ("if x.shape[0] > 1000:\n    print('large')\nreturn x", "x", "x", SILENT),
        ("return x * anything.scale", "x, anything", "x, anything", SILENT),
        ("import a_library\nreturn a_library.norm(x)", "x", "x", SILENT),
        ("yield x", "x", "x", SILENT),
    ],
)
def test_it_is_said_where_it_is_certain(
    body: str, parameters: str, arguments: str, answer: str, tmp_path: Path
) -> None:
    (finding,) = findings(tmp_path, body, parameters, arguments)
    assert (finding.code, said(finding)) == ("GB0098", answer)


@pytest.mark.parametrize(
    ("body", "before", "after"),
    [
        ("with contextlib.suppress(ValueError):\n    x = x + 1\nreturn x", "2.9", "2.13"),
        ("return pow(x, 2)", "2.13", "2.14"),
    ],
)
def test_it_depends_on_the_release(body: str, before: str, after: str, tmp_path: Path) -> None:
    (old,) = findings(tmp_path, body, "net, x", "self, x", before)
    (new,) = findings(tmp_path, body, "net, x", "self, x", after)
    assert (said(old), said(new)) == (BREAKS, CLEAN)
    assert f"under torch {after}" in new.advice


def test_what_breaks_is_named_with_its_place(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, "return x * x.sum().item()", "x", "x")
    (reason,) = (r for r in finding.why if BREAKS in r.text)
    assert "with GB0124: `x.sum().item()`" in reason.text
    assert "x.sum().item()" in Path(finding.filename).read_text(encoding="utf8").split("\n")[reason.row - 1]


def test_one_call_that_breaks_is_enough(tmp_path: Path) -> None:
    file = tmp_path / "example.py"
    file.write_text(
        "import torch\n\n"
        "@torch.compiler.disable\ndef scaled(x, by):\n    return x * 2 if by > 0 else x\n\n"
        "@torch.compile\ndef step(x):\n    x = scaled(x, 1)\n    return scaled(x, x.sum())\n\n"
        "step(torch.ones(2))\n",
        encoding="utf8",
    )
    found = analyze([file], [file], Settings()).findings
    assert [(f.row, said(f)) for f in found] == [(9, BREAKS), (10, BREAKS)]


def test_a_trial_leaves_no_trace(tmp_path: Path) -> None:
    """What is found in a function that is not traced is not reported, and what it changes is not seen by others."""
    body = "net.config = 3\nprint(x)\nreturn x"
    (finding,) = findings(tmp_path, body, "net, x", "self, x")
    assert (finding.code, said(finding)) == ("GB0098", BREAKS)


GUARDS = """
import torch


def inner(x):
    if not torch.compiler.is_compiling():
        x = x + 1
    return x


@torch.compile
def step(x):
    if not torch.compiler.is_compiling():
        x = inner(x)
    if not torch.compiler.is_compiling():
        x = {second}
    return x


step(torch.ones(2))
"""


@pytest.mark.parametrize(
    ("second", "rows"),
    [("x * 2", [13, 15]), ("x * x.sum().item()", [13]), ("nobody_knows(x)", [13])],
)
def test_guards_that_keep_out_what_could_be_traced(second: str, rows: list[int], tmp_path: Path) -> None:
    file = tmp_path / "example.py"
    file.write_text(GUARDS.format(second=second), encoding="utf8")
    analysis = analyze([file], [file], Settings())
    assert analysis.diagnostics == []
    assert [(f.row, f.code) for f in analysis.findings] == [(row, "GBL200") for row in rows]


def test_what_a_disabled_function_gives_is_known(tmp_path: Path) -> None:
    """Dynamo agrees: the program is an example of the rule."""
    file = tmp_path / "example.py"
    text = DisabledFunction.BREAKS[-1]
    file.write_text(text, encoding="utf8")
    assert {(f.row, f.code) for f in analyze([file], [file], Settings()).findings} == expected(text)
    assert "GB0170" in {code for _, code in expected(text)}
