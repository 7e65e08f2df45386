"""The speed benchmark measures what it says, on a tree small enough for a test."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SPEED = Path(__file__).parents[2] / "benchmarks" / "speed.py"


def test_on_a_small_package(tmp_path: Path) -> None:
    tree = tmp_path / "site-packages" / "pkg" / "models"
    tree.mkdir(parents=True)
    (tree.parent / "__init__.py").write_text("")
    (tree / "__init__.py").write_text("")
    source = "import torch\n\n@torch.compile\ndef f(x):\n    print(x)\n    return x\n"
    (tree / "net.py").write_text(source)
    out = tmp_path / "speed.json"
    command = [sys.executable, str(SPEED), str(tree), "--json", str(out)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    figures = json.loads(out.read_text())
    assert (figures["files"], figures["findings"]) == (2, 1)
    lines = {line["what"]: line for line in figures["lines"]}
    assert lines["libcst.parse_module"]["ratio"] == 1
    assert {"cold", "warm, nothing changed", "--version"} < lines.keys()
    assert all(line["cpu_s"] > 0 and line["peak_mb"] > 1 for line in lines.values())
    assert "libcst.parse_module" in result.stdout
    assert (tree / "net.py").read_text() == source, "the tree itself is never changed"
    assert {path.name for path in tmp_path.iterdir()} == {"site-packages", "speed.json"}


def test_a_tree_that_is_not_there(tmp_path: Path) -> None:
    command = [sys.executable, str(SPEED), str(tmp_path / "absent")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode == 2
    assert "no tree to measure on" in result.stderr
