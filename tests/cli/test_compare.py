"""`gblint check --compare-torch`: what changes from one release to another, and nothing else, is reported."""

from __future__ import annotations

import json

import pytest

from gblint.checking import Outcome
from gblint.comparing import compare
from gblint.report import COMPARISONS, Style
from tests.conftest import finding

SOURCE = """\
import torch


@torch.compile
def step(x, pairs):
    for a, b in pairs:
        x = x + a * b
    return x


@torch.compile
def power(x):
    y = pow(x, 2)
    print(y)
    return y


step(torch.ones(2), zip([1], [2]))
power(torch.ones(2))
"""


@pytest.fixture
def compared(project, gblint):
    """Compare 2.13 with a release on a program of which a break goes, one is renamed, and one stays."""
    project({"a.py": SOURCE})

    def run(release: str, *options: str):
        return gblint("check", "--target-torch", "2.13", "--compare-torch", release, "--no-cache", *options)

    return run


def test_text(compared) -> None:
    result = compared("2.14")
    assert result.code == 1
    gone, changed, summary = result.out.split("\n\n")
    assert gone.startswith("No longer in torch 2.14\na.py:13:9: GB0059 builtin-on-tensor ")
    assert changed.startswith("Reported otherwise in torch 2.14\na.py:6:17: GB9493 iterator-from-outside ")
    assert changed.endswith("(GB0811 before)")
    assert summary == "From torch 2.13 to torch 2.14: 1 gone, 0 new, 1 reported otherwise, 1 the same.\n"


def test_json(compared) -> None:
    data = json.loads(compared("2.14", "--output-format", "json").out)
    assert (data["before"], data["after"], data["same"], data["new"]) == ("2.13", "2.14", 1, [])
    assert [(f["code"], f["location"]["row"]) for f in data["gone"]] == [("GB0059", 13)]
    assert [(c["before"]["code"], c["after"]["code"]) for c in data["changed"]] == [("GB0811", "GB9493")]


def test_the_same_release_changes_nothing(compared) -> None:
    result = compared("2.13")
    assert (result.code, result.out) == (
        0,
        "From torch 2.13 to torch 2.13: 0 gone, 0 new, 0 reported otherwise, 3 the same.\n",
    )
    assert compared("2.13", "--quiet").out == ""
    assert compared("2.14", "--exit-zero").code == 0


@pytest.mark.parametrize("option", ["--fix", "--diff", "--statistics", "--verify=true"])
def test_what_it_does_not_go_with(compared, option: str) -> None:
    result = compared("2.14", option)
    assert result.code == 2
    assert "--compare-torch excludes" in result.err


def test_breaks_are_matched_by_rule_before_place() -> None:
    """Two rules at one place, of which the later release keeps one: that one stays, the other is gone."""
    old = [finding(row=3, code="GB0001", name="one"), finding(row=3, code="GB0002", name="two")]
    result = compare(Outcome(old), Outcome([finding(row=3, code="GB0002", name="two")]))
    assert [f.name for f in result.gone] == ["one"]
    assert (result.same, result.changed, result.new) == (1, [], [])


def test_another_cost_is_a_change_and_another_rule_at_the_place_too() -> None:
    old = [finding(row=3, consequence="splits-graph"), finding(row=5, code="GB0001", name="one")]
    new = [finding(row=3, consequence="frame-falls-back"), finding(row=5, code="GB0002", name="two"), finding(row=9)]
    result = compare(Outcome(old), Outcome(new))
    assert [(c.before.code, c.after.code) for c in result.changed] == [("GB0170", "GB0170"), ("GB0001", "GB0002")]
    assert [f.row for f in result.new] == [9]
    text = COMPARISONS["full"](result, Style())
    assert "(splits-graph before)" in text
    assert "GB0002 two" in text


def test_rules_are_selected_by_the_ids_of_the_target(project, gblint) -> None:
    project({"a.py": SOURCE})

    def codes(release: str, selected: str) -> list[str]:
        options = ("--target-torch", release, "--select", selected, "--output-format", "json", "--no-cache")
        return [f["code"] for f in json.loads(gblint("check", *options).out)]

    assert codes("2.14", "GB9493") == ["GB9493"]
    assert codes("2.14", "GB0811") == []
    assert codes("2.13", "GB0811") == ["GB0811"]
    assert codes("2.14", "iterator-from-outside") == ["GB9493"]


def test_explain_knows_the_ids_of_all_releases(gblint) -> None:
    page = gblint("explain", "GB9493").out
    assert "iterator-from-outside" in page
    assert "torch >=2.13,<2.14; >=2.14 as GB9493; <2.13 as GB0156." in page


def test_what_was_measured_of_a_builtin_is_not_said_of_every_call(project, gblint) -> None:
    """2.11 breaks at some calls of `repr` and `next`; these it traces."""
    project({"a.py": "import torch\n\n\n@torch.compile\ndef f(x):\n    return x * len(repr(3)) * next(iter([1, 2]))\n"})
    assert gblint("check", "--target-torch", "2.11", "--quiet", "--no-cache").out == ""
