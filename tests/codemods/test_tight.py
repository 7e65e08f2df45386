"""Code without spaces round keywords: what would run into them is declined."""

from __future__ import annotations

TIGHT = """
import torch

@torch.compile
def split(x, sizes):
    return torch.split(x, [int(s)for s in sizes])

split(torch.randn(5, 2), torch.tensor([2, 3]))
"""


def test_a_repair_that_would_touch_a_keyword_is_declined(project, gblint) -> None:
    root = project({"model.py": TIGHT})
    result = gblint("check", str(root), "-n")
    assert result.code == 1
    assert "internal error" not in result.out + result.err
    assert "GB0124" in result.out
    fixed = gblint("fix", str(root), "-n", "--unsafe-fixes", "--diff")
    assert "sfor" not in fixed.out
