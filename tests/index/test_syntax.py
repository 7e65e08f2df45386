"""Syntax of every Python from 3.10 to 3.14: analysed where the running one reads it, explained where it does not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gblint.analysis import Settings, analyze

SYNTAX = {
    (3, 10): [
        "match x.ndim:\n        case 1:\n            pass\n        case _:\n            pass",
        "with (torch.no_grad(), torch.no_grad()):\n        pass",
    ],
    (3, 11): ["try:\n        y = x\n    except* ValueError:\n        pass", "y = x[*[0]]"],
    (3, 12): [
        "type Pair = tuple[int, int]",
        "def inner[T](a: T) -> T:\n        return a\n    x = inner(x)",
        "class Box[T]:\n        pass",
        'y = f"{f\'{x.ndim}\' + "1"}"',
    ],
    (3, 13): ["def inner[T = int](a: T) -> T:\n        return a\n    x = inner(x)"],
    (3, 14): ["try:\n        y = x\n    except ValueError, TypeError:\n        pass", "y = t'{x.ndim}'"],
}
RUNNING = sys.version_info[:2]


@pytest.mark.parametrize(("release", "statement"), [(r, s) for r, group in SYNTAX.items() for s in group])
def test_syntax(tmp_path: Path, release: tuple[int, int], statement: str) -> None:
    file = tmp_path / "model.py"
    head = f"import torch\n\n@torch.compile\ndef f(x):\n    {statement}\n"
    file.write_text(f"{head}    if x.sum() > 0:\n        return x\n    return -x\n", encoding="utf8")
    analysis = analyze([file], [file], Settings())
    branches = [f.row for f in analysis.findings if f.code == "GB0170"]
    if release <= RUNNING:
        assert (analysis.diagnostics, branches) == ([], [head.count("\n") + 1])
        return
    (diagnostic,) = analysis.diagnostics
    assert diagnostic.kind == "invalid-syntax"
    assert f"gblint runs under Python {RUNNING[0]}.{RUNNING[1]}; a newer one may read this" in diagnostic.message


@pytest.mark.parametrize("text", ["print 1\n", "x = = 1\n", "def f(:\n    pass\n"])
def test_what_no_python_reads_is_not_put_down_to_its_age(tmp_path: Path, text: str) -> None:
    file = tmp_path / "model.py"
    file.write_text(text, encoding="utf8")
    (diagnostic,) = analyze([file], [file], Settings()).diagnostics
    assert "newer" not in diagnostic.message
