"""What is written for an issue upstream: complete, without paths, and safe to paste."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gblint.devtools.labels import expected

RECORDED = Path(__file__).parent / "recorded"


def test_a_break_is_written_up(gblint: Callable, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_bytes((RECORDED / "program.py").read_bytes())
    log = tmp_path / "log"
    log.write_text((RECORDED / "2.13" / "log.txt").read_text().replace("/project/program.py", str(program)))
    result = gblint("report", "gb0059", log)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("# Graph break GB0059: Failed to trace builtin operator\n")
    example = result.out.split("```python\n")[1].partition("```")[0]
    assert "GB0059" in {code for _, code in expected(example)}
    assert 'print("hi")' in result.out
    assert "- loops, row 27: once" in result.out
    assert str(tmp_path) not in result.out


def test_versions_come_from_a_trace(gblint: Callable) -> None:
    assert "- torch: 2.13.0+cpu" in gblint("report", "GB0007", RECORDED / "2.13" / "trace").out
    assert "say it yourself" in gblint("report", "GB0007", RECORDED / "2.13" / "log.txt").out


def test_what_is_not_dynamos_to_change_is_said(gblint: Callable) -> None:
    assert "is it PyTorch's to change?" in gblint("report", "GB0003", RECORDED / "2.13" / "log.txt").err
    missing = gblint("report", "GB0170", RECORDED / "2.13" / "log.txt")
    assert missing.code == 2
    assert "it has GB0003, GB0007, GB0025, GB0039, GB0059, GB0124" in missing.err


def test_hostile_messages_stay_text(gblint: Callable, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text((RECORDED / "2.13" / "log.txt").read_text().replace("`print`", "\x1b[2J```\x07"))
    out = gblint("report", "GB0059", log).out
    assert [c for c in out if ord(c) < 32 and c != "\n"] == []
