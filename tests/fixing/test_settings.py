"""Settings of Dynamo, which hold for a whole package, are tried after all else, and stay if fewer breaks are left."""

from __future__ import annotations

from pathlib import Path

from gblint.checking import Options
from gblint.fixing.plan import Choice
from gblint.fixing.session import Repaired, repair

SETTING = "torch._dynamo.config.capture_scalar_outputs = True"
SIZED = """import torch


@torch.compile
def sized(x: torch.Tensor):
    return torch.zeros(int(x.sum()))
"""
DECIDED = """

@torch.compile
def decided(x: torch.Tensor):
    n = x.sum().item()
    if n > 3:
        x = x + 1
    if n > 5:
        x = x + 2
    return x
"""
PRINTED = """

@torch.compile
def printed(x: torch.Tensor):
    print("here")
    return x
"""


def repaired(folder: Path, text: str) -> Repaired:
    file = folder / "program.py"
    file.write_text(text, encoding="utf8")
    choice = Choice(unsafe=True, codemods=("capture-scalars", "guard-logging"))
    return repair(Options(paths=(str(file),), isolated=True, no_cache=True), choice)


def test_a_setting_that_leaves_fewer_breaks_is_made(tmp_path: Path) -> None:
    done = repaired(tmp_path, SIZED)
    assert SETTING in next(iter(done.new.values())).decode()
    assert not done.after.findings


def test_a_setting_that_only_moves_breaks_is_taken_back_with_the_reason(tmp_path: Path) -> None:
    done = repaired(tmp_path, SIZED + DECIDED)
    assert not done.new
    assert [dropped.reason for dropped in done.dropped] == [f"with `{SETTING}` no fewer breaks would be left"]


def test_other_repairs_are_made_whatever_becomes_of_a_setting(tmp_path: Path) -> None:
    done = repaired(tmp_path, SIZED + DECIDED + PRINTED)
    assert [step.fix.codemod for step in done.made] == ["guard-logging"]
    assert [dropped.step.fix.codemod for dropped in done.dropped] == ["capture-scalars"]
