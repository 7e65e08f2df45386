"""Every rule is complete, and its examples are true of Dynamo and of the analyzer alike."""

from __future__ import annotations

import importlib.metadata
import inspect
import json
import re
from pathlib import Path

import msgspec
import pytest

import gblint.knowledge
from gblint.analysis import Settings, analyze
from gblint.devtools.dynamo import DynamoRunner, Observed
from gblint.devtools.labels import example_problems, expected, expected_silent, is_own
from gblint.devtools.said import examples_of, own_rules, stem
from gblint.knowledge import load
from gblint.ranges import applies
from gblint.registry import load_codemods
from gblint.rule_api import Rule, RuleMeta

HEADINGS = ("What breaks", "Why Dynamo breaks", "Example", "Instead", "Fix", "Torch versions", "Limits")
IDS = json.loads((Path(gblint.knowledge.__file__).parent / "data" / "graph_break_ids.json").read_text(encoding="utf8"))
RULES = own_rules()
MAX_LINES = 250
SILENT = ("recompile", "needless")  # categories of what breaks no graph, so that nothing has to be repaired


def installed() -> tuple[int, int]:
    major, minor = importlib.metadata.version("torch").split(".")[:2]
    return int(major), int(minor)


EXAMPLES = [
    pytest.param(rule, text, id=f"{stem(rule)}-{name.replace(' ', '-')}")
    for rule in RULES
    for name, text in examples_of(rule).items()
]


# -- the rule as a piece of source and documentation -----------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES, ids=stem)
def test_metadata_is_complete(rule: type[Rule]) -> None:
    meta = rule.meta
    assert all((meta.code, meta.slug, meta.summary, meta.advice, meta.category, meta.torch, meta.since))
    assert re.fullmatch(r"GB\d{4}|GBL\d{3}", meta.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", meta.slug)
    assert 0.0 < meta.confidence <= 1.0
    assert meta.advice.endswith(".")
    assert not meta.summary.endswith(".")
    assert rule.BREAKS
    assert rule.CLEAN
    assert any(name.startswith("on_") for name in vars(rule))
    assert not rule.calls or hasattr(rule, "on_call")


@pytest.mark.parametrize("rule", [r for r in RULES if r.meta.category not in SILENT], ids=stem)
def test_says_why_no_machine_repairs_what_no_codemod_names(rule: type[Rule]) -> None:
    default = RuleMeta("", "", "", "fundamental", "").by_hand
    named = {name for codemod in load_codemods() for name in codemod.meta.fixes}
    assert rule.meta.by_hand != default or {rule.meta.code, rule.meta.slug} & named
    assert re.match(r"[^A-Z].*[^.]$", rule.meta.by_hand)


@pytest.mark.parametrize("rule", RULES, ids=stem)
def test_code_exists_in_the_releases_it_claims(rule: type[Rule]) -> None:
    _claims_what_is_there(rule.meta.code, rule.meta.torch)
    for where, code in rule.meta.renamed:
        if code:
            _claims_what_is_there(code, where)


def _claims_what_is_there(code: str, where: str) -> None:
    if is_own(code):
        return
    assert code in IDS["ids"]
    _, first, last = IDS["ids"][code]
    claimed = [release for release in IDS["releases"] if applies(where, version(release))]
    assert claimed, f"no known release is in the range {where}"
    assert version(claimed[0]) >= version(first), f"{code} is listed since {first}"
    assert version(claimed[-1]) <= version(last), f"{code} is raised up to {last}"


@pytest.mark.parametrize("rule", RULES, ids=stem)
def test_a_release_has_one_id_for_a_rule(rule: type[Rule]) -> None:
    """Ranges that overlap would leave it to their order which id is said."""
    ranges = [rule.meta.torch, *(where for where, _ in rule.meta.renamed)]
    for release in IDS["releases"]:
        assert sum(applies(where, version(release)) for where in ranges) <= 1, release


def test_the_id_of_a_release() -> None:
    meta = RuleMeta("GB0001", "x", "x", "supportable", "X.", ">=2.13", (("<2.10", ""), (">=2.10,<2.12", "GB0002")))
    found = {minor: meta.code_in((2, minor)) for minor in (9, 11, 12, 13)}
    assert found == {9: "GB0001", 11: "GB0002", 12: "", 13: "GB0001"}
    assert meta.codes == {"GB0001", "GB0002"}
    assert meta.releases == "torch >=2.13; <2.10 without an id; >=2.10,<2.12 as GB0002"


def version(release: str) -> tuple[int, int]:
    major, minor = release.split(".")
    return int(major), int(minor)


@pytest.mark.parametrize("rule", RULES, ids=stem)
def test_file_is_named_for_its_rule_and_short(rule: type[Rule]) -> None:
    file = Path(inspect.getfile(rule))
    assert re.fullmatch(rf"{rule.meta.code.lower()}_[a-z0-9_]+\.py", file.name)
    assert len(file.read_text(encoding="utf8").splitlines()) <= MAX_LINES


@pytest.mark.parametrize("rule", RULES, ids=stem)
def test_docstring_has_the_headings_in_order(rule: type[Rule]) -> None:
    text = inspect.getmodule(rule).__doc__ or ""
    summary, _, rest = text.partition("\n")
    assert summary.strip()
    assert tuple(re.findall(r"^([A-Z].*):$", rest, re.MULTILINE)) == HEADINGS
    for part in re.split(r"^[A-Z].*:$", rest, flags=re.MULTILINE)[1:]:
        assert part.strip(), "an empty section"
        assert all(line.startswith("    ") for line in part.splitlines() if line.strip())


@pytest.mark.parametrize("rule", RULES, ids=stem)
def test_callees_are_spelled_as_events_spell_them(rule: type[Rule]) -> None:
    knowledge = load("2.13")
    for pattern in rule.calls:
        name = pattern.removesuffix(".*")
        if not name.startswith(("mark:", "builtins")) and name != "*":
            assert knowledge.canonical(name) == name


def test_no_two_rules_share_a_slug() -> None:
    slugs = [rule.meta.slug for rule in RULES]
    assert len(set(slugs)) == len(slugs)


# -- the examples ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES, ids=stem)
def test_examples_announce_what_they_should(rule: type[Rule]) -> None:
    for text in rule.BREAKS:
        assert rule.meta.code in {code for _, code in expected(text) | expected_silent(text)}
    for text in rule.CLEAN:
        assert not expected(text) | expected_silent(text)


@pytest.fixture(scope="module")
def observed(request: pytest.FixtureRequest) -> dict[str, Observed]:
    """What Dynamo did with each example that the selected tests ask for; all run first, two at a time."""
    selected = [item for item in request.session.items if item.name.startswith("test_dynamo_agrees")]
    texts = list(dict.fromkeys(item.callspec.params["text"] for item in selected if hasattr(item, "callspec")))
    with DynamoRunner() as runner:
        return dict(zip(texts, runner.observe_all(texts), strict=True))


@pytest.mark.parametrize(("rule", "text"), EXAMPLES)
def test_dynamo_agrees(rule: type[Rule], text: str, observed: dict[str, Observed]) -> None:
    if not applies(rule.meta.torch, installed()):
        pytest.skip(f"the rule is for torch {rule.meta.torch}")
    assert example_problems(text, without_announced_error(text, observed[text])) == []


def without_announced_error(text: str, seen: Observed) -> Observed:
    """Some breaks are errors of Dynamo that end the program: fine in an example that announces the break."""
    is_announced = seen.error.startswith("torch._dynamo.exc.") and expected(text) == seen.places()
    return msgspec.structs.replace(seen, error="") if is_announced else seen


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.meta.category == "needless"], ids=stem)
def test_dynamo_traces_what_is_kept_out_for_nothing(rule: type[Rule]) -> None:
    """The examples once more, with the arms that the announced tests keep out."""
    with DynamoRunner() as runner:
        for text in rule.BREAKS:
            assert example_problems(text, runner.observe(text)) == []
            turned = re.sub(r"if (not )?.*:  # GBL\d+", lambda test: f"if {bool(test[1])}:", text)
            assert turned.count("if True:") + turned.count("if False:") == len(expected(text))
            assert example_problems(turned, runner.observe(turned)) == []


@pytest.mark.parametrize(("rule", "text"), EXAMPLES)
def test_analyzer_agrees(rule: type[Rule], text: str, tmp_path: Path) -> None:
    file = tmp_path / "example.py"
    file.write_text(text, encoding="utf8")
    target = f"{installed()[0]}.{installed()[1]}"
    analysis = analyze([file], [file], Settings(target_torch=target))
    assert analysis.diagnostics == []
    code = rule.meta.code
    found = {finding.row for finding in analysis.findings if finding.code == code}
    assert found == {row for row, wanted in expected(text) | expected_silent(text) if wanted == code}
