"""What pages show of commands is what these print."""

from __future__ import annotations

from pathlib import Path

import pytest

from gblint.devtools import transcripts
from gblint.devtools.transcripts import Step, alike, rerun, steps
from gblint.registry import load_rules

ROOT = Path(__file__).parents[2]
START = ROOT / "docs/start.md"


def pages() -> list[Path]:
    return transcripts.pages()


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_a_page_shows_what_its_commands_print(page: Path) -> None:
    pytest.importorskip("torch", reason="the commands run programs with torch")
    text = page.read_text("utf-8")
    assert alike(rerun(text)) == alike(text), "python -m gblint.devtools.transcripts writes it anew"


def commands(page: Path) -> list[str]:
    blocks = transcripts._PART.finditer(page.read_text("utf-8"))
    return [step.command for block in blocks if block["block"] for step in steps(block["block"])]


def test_the_first_break_is_proved_gone_in_under_ten_commands() -> None:
    shown = commands(START)
    assert shown[0].startswith("pip install")
    assert len(shown) < 10
    assert any("--verify" in command for command in shown)
    text = START.read_text("utf-8")
    assert "Found no graph breaks." in text
    assert "Verified: nothing breaks." in text


def test_a_page_that_is_wrong_is_told_and_mended() -> None:
    page = (
        "<!-- project: docs/examples/first-use -->\n```console\n$ ls\nwrong\n$ gblint rules | grep -c .\n```\nMore.\n"
    )
    new = rerun(page)
    assert "$ ls\npyproject.toml\nrank.py\nranker\n$ gblint rules" in new
    assert f"| grep -c .\n{len(load_rules())}\n```\nMore.\n" in new
    assert rerun(new) == new
    assert not list((ROOT / "docs/examples/first-use").glob(".gblint*")), "nothing is left in the repository"


def test_commands_and_what_they_print_are_told_apart() -> None:
    assert steps("$ a\nb\n\n$ c\n") == [Step("a", "b\n\n"), Step("c", "")]
    with pytest.raises(ValueError, match="starts with a command"):
        steps("a\n")


def test_times_and_releases_do_not_count_and_all_else_does() -> None:
    assert alike("in 0.41 s (torch 2.13.0+cpu).") == alike("in 12 s (torch 2.13.1).")
    assert alike("2 graphs") != alike("3 graphs")
    assert alike("row 8, 98%") != alike("row 9, 98%")
