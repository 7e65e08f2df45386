"""What gblint says of every example and every program is what was read over and kept under tests/said: findings,
reasons, repairs, refusals. `python -m gblint.devtools.said` writes it anew; the difference is part of the change."""

from __future__ import annotations

from pathlib import Path

import pytest

from gblint.codemod_api import Codemod
from gblint.devtools.programs import collections_in
from gblint.devtools.said import CORPUS, SAID, of_codemod, of_collection, of_rule, own_rules, page, stem
from gblint.registry import load_codemods
from gblint.rule_api import Rule

COLLECTIONS = collections_in(CORPUS)


def kept(kind: str, name: str) -> str:
    return (SAID / kind / f"{name}.txt").read_text(encoding="utf8")


@pytest.mark.parametrize("rule", own_rules(), ids=stem)
def test_of_the_examples_of_a_rule(rule: type[Rule]) -> None:
    assert page(of_rule(rule)) == kept("rules", stem(rule))


@pytest.mark.parametrize("codemod", load_codemods(), ids=stem)
def test_of_the_examples_of_a_codemod(codemod: type[Codemod]) -> None:
    assert page(of_codemod(codemod)) == kept("codemods", stem(codemod))


@pytest.mark.parametrize(("name", "folder"), COLLECTIONS.items(), ids=list(COLLECTIONS))
def test_of_the_programs_of_a_collection(name: str, folder: Path) -> None:
    assert page(of_collection(folder)) == kept("programs", name)


def test_nothing_is_kept_of_what_is_gone() -> None:
    there = {f"rules/{stem(r)}.txt" for r in own_rules()} | {f"codemods/{stem(c)}.txt" for c in load_codemods()}
    there |= {f"programs/{name}.txt" for name in COLLECTIONS}
    assert {str(file.relative_to(SAID)) for file in SAID.rglob("*.txt")} == there
