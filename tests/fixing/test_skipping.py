"""Branches whose lines have to stay as they are: comments inside an expression over several rows."""

from __future__ import annotations

from pathlib import Path

from gblint.checking import Options
from gblint.fixing.plan import Choice
from gblint.fixing.session import repair

BEFORE = """\
import torch

@torch.compile
def f(x: torch.Tensor, y: torch.Tensor):
    out = x * 2
    if x.sum() > 3:
        out = torch.lerp(
            x,
            y,  # towards
            0.5,
        )
    return out

f(torch.ones(2), torch.ones(2))
"""

AFTER = """\
    out = x * 2
    chosen = x.sum() > 3
    old_out = out
    out = torch.lerp(
        x,
        y,  # towards
        0.5,
    )
    out = torch.where(chosen, out, old_out)
    return out
"""


def test_a_branch_with_comments_in_its_lines_keeps_them(tmp_path: Path) -> None:
    file = tmp_path / "example.py"
    file.write_text(BEFORE, encoding="utf8")
    done = repair(Options(paths=(str(file),), no_cache=True), Choice(codemods=("where-for-branch",), unsafe=True))
    assert [step.fix.applicability for step in done.made] == ["unsafe"]
    (new,) = done.new.values()
    assert AFTER in new.decode()
    assert not done.after.findings
