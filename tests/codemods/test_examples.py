"""Every example of every codemod: what the fix makes of it, and what Dynamo says before and after."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from gblint.checking import Options, check
from gblint.codemod_api import Codemod, Declined, Example
from gblint.devtools.dynamo import DynamoRunner
from gblint.devtools.observed import Observed
from gblint.devtools.repairs import result
from gblint.devtools.said import stem
from gblint.fixing.edits import edited
from gblint.fixing.plan import Choice
from gblint.fixing.session import Repaired, repair
from gblint.registry import load_codemods, load_rules

CODEMODS = load_codemods()
HEADINGS = ("What it does", "Applicability", "Preconditions")
MOST_LINES = 400
APPLIED = ("safe", "unsafe")


EXAMPLES = [
    pytest.param(c, example, id=f"{stem(c)}-{number}") for c in CODEMODS for number, example in enumerate(c.EXAMPLES)
]
DECLINES = [
    pytest.param(c, declined, id=f"{stem(c)}-{number}") for c in CODEMODS for number, declined in enumerate(c.DECLINES)
]
RUN = [p for p in EXAMPLES if p.values[1].applicability in APPLIED]


def options(file: Path, codemod: type[Codemod]) -> Options:
    """Settings under which a codemod is asked."""
    config = file.parent / "gblint.toml"
    if codemod.meta.logging:
        config.write_text(f'[fix]\nlogging = "{codemod.meta.logging[0]}"\n', encoding="utf8")
    return Options(paths=(str(file),), no_cache=True, all_fixes=True)


def fixed(file: Path, codemod: type[Codemod], unsafe: bool) -> Repaired:
    return repair(options(file, codemod), Choice(codemods=(codemod.meta.name,), unsafe=unsafe))


def source(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "example.py"
    file.write_text(text, encoding="utf8")
    return file


# -- form ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codemod", CODEMODS, ids=stem)
def test_docstring_has_the_headings_in_order(codemod: type[Codemod]) -> None:
    text = inspect.getmodule(codemod).__doc__ or ""
    summary, _, rest = text.partition("\n")
    assert summary.strip()
    found = tuple(re.findall(r"^([A-Z].*):$", rest, re.MULTILINE))
    assert found[: len(HEADINGS)] == HEADINGS
    for part in re.split(r"^[A-Z].*:$", rest, flags=re.MULTILINE)[1:]:
        assert part.strip(), "an empty section"


@pytest.mark.parametrize("codemod", CODEMODS, ids=stem)
def test_file_is_named_for_its_codemod_and_short(codemod: type[Codemod]) -> None:
    file = Path(inspect.getfile(codemod))
    assert file.stem == codemod.meta.name.replace("-", "_")
    assert len(file.read_text(encoding="utf8").splitlines()) <= MOST_LINES


@pytest.mark.parametrize("codemod", CODEMODS, ids=stem)
def test_it_repairs_findings_of_rules_that_exist(codemod: type[Codemod]) -> None:
    known = {"*"} | {word for rule in load_rules() for word in (rule.meta.code, rule.meta.slug)}
    assert codemod.meta.fixes
    assert set(codemod.meta.fixes) <= known


@pytest.mark.parametrize("codemod", CODEMODS, ids=stem)
def test_it_has_examples_of_both_kinds(codemod: type[Codemod]) -> None:
    assert codemod.EXAMPLES
    assert codemod.DECLINES


# -- what the fix makes of them --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("codemod", "example"), RUN)
def test_fix_gives_the_text_announced_and_then_nothing_more(
    codemod: type[Codemod], example: Example, tmp_path: Path
) -> None:
    file = source(tmp_path, example.before)
    if example.applicability == "unsafe":
        assert not fixed(file, codemod, unsafe=False).made
    done = fixed(file, codemod, unsafe=example.applicability == "unsafe")
    assert [d.reason for d in done.dropped] == []
    (new,) = done.new.values()
    assert new.decode() == example.after
    done.write()
    assert not fixed(file, codemod, unsafe=True).new


@pytest.mark.parametrize(("codemod", "example"), [p for p in EXAMPLES if p not in RUN])
def test_draft_gives_the_text_announced(codemod: type[Codemod], example: Example, tmp_path: Path) -> None:
    file = source(tmp_path, example.before)
    offers = [
        fix for f in check(options(file, codemod)).findings for fix in f.fixes if fix.codemod == codemod.meta.name
    ]
    assert offers
    assert {fix.applicability for fix in offers} == {example.applicability}
    assert edited(file.read_bytes(), offers[0].edits).decode() == example.after
    assert not fixed(file, codemod, unsafe=True).new


@pytest.mark.parametrize(("codemod", "declined"), DECLINES)
def test_declining_says_why(codemod: type[Codemod], declined: Declined, tmp_path: Path) -> None:
    file = source(tmp_path, declined.program)
    done = fixed(file, codemod, unsafe=True)
    assert not done.new
    refusals = [r for f in done.after.findings for r in f.refusals if r[0] == codemod.meta.name]
    assert any(declined.reason in reason for _, reason in refusals), refusals


# -- what Dynamo says ------------------------------------------------------------------------------------------------


class Runs(NamedTuple):
    before: Observed
    after: Observed
    eager: Observed


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest) -> dict[str, Runs]:
    """The runs of each example that the selected tests ask for; all are made first, two at a time."""
    examples = [example for _, example in _selected(request)]
    with DynamoRunner() as runner:
        before = runner.observe_all([e.before for e in examples])
        seen = list(zip(examples, list(before), strict=True))
        after = list(runner.observe_all([e.after for e in examples]))
        eager = list(runner.observe_all([e.after for e in examples], eager=True))
    return {e.before: Runs(b, a, g) for (e, b), a, g in zip(seen, after, eager, strict=True)}


def _selected(request: pytest.FixtureRequest) -> Iterator[tuple[type[Codemod], Example]]:
    for item in request.session.items:
        if item.name.startswith("test_what_dynamo_says") and hasattr(item, "callspec"):
            params = item.callspec.params
            if "example" in params:
                yield params["codemod"], params["example"]


@pytest.mark.parametrize(("codemod", "example"), RUN)
def test_what_dynamo_says_of_an_example(codemod: type[Codemod], example: Example, runs: dict[str, Runs]) -> None:
    before, after, eager = runs[example.before]
    assert before.breaks or before.silent, "the program does not break"
    assert (after.error, eager.error) == ("", "")
    assert (after.breaks, after.silent) == ((), ())
    assert after.traced
    assert result(eager), "no `checksum` line is printed"
    assert result(after) == result(eager)
    if not before.error:  # some breaks stop the program, and what it would have given is not known
        assert result(eager) == result(before)
