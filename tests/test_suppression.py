"""Choosing rules, and comments that silence findings."""

from __future__ import annotations

import pytest

from gblint.findings.selection import Layer, Selection
from gblint.findings.suppression import Unused, apply
from gblint.index.build import build_index
from tests.conftest import finding

RULE = ("GB0170", "branch-on-tensor")


@pytest.mark.parametrize(
    ("layers", "enabled"),
    [
        ([], True),
        ([Layer()], True),
        ([Layer(select=("GB0170",))], True),
        ([Layer(select=("GB01",))], True),
        ([Layer(select=("branch-on-tensor",))], True),
        ([Layer(select=("ALL",))], True),
        ([Layer(select=("GB0059",))], False),
        ([Layer(select=())], False),
        ([Layer(ignore=("GB",))], False),
        ([Layer(ignore=("GB01",), extend_select=("GB0170",))], True),
        ([Layer(select=("GB01",), ignore=("GB0170",))], False),
        ([Layer(select=("GB0170",), ignore=("GB01",))], True),
        ([Layer(select=("GB0170",), ignore=("GB0170",))], False),
        ([Layer(ignore=("GB0170",)), Layer(select=("GB0170",))], True),
        ([Layer(ignore=("GB0170",)), Layer(extend_select=("GB0170",))], True),
        ([Layer(select=("GB0059",)), Layer(extend_select=("GB017",))], True),
        ([Layer(select=("GB0170",)), Layer(ignore=("branch-on-tensor",))], False),
        ([Layer(select=("GBL",))], False),
    ],
)
def test_the_most_specific_mention_of_the_last_layer_wins(layers: list[Layer], enabled: bool) -> None:
    assert Selection(*layers).enabled(*RULE) is enabled


@pytest.mark.parametrize(
    ("layers", "enabled"),
    [
        ([], False),
        ([Layer(), Layer()], False),
        ([Layer(select=("GB0170",))], False),
        ([Layer(extend_select=("GB01", "print-call"))], False),
        ([Layer(select=("ALL",))], True),
        ([Layer(select=("GB00",))], True),
        ([Layer(extend_select=("GB0039",))], True),
        ([Layer(), Layer(extend_select=("growing-attribute",))], True),
        ([Layer(select=("ALL",)), Layer(ignore=("GB0039",))], False),
    ],
)
def test_what_is_off_by_default_has_to_be_selected(layers: list[Layer], enabled: bool) -> None:
    assert Selection(*layers).enabled("GB0039", "growing-attribute", optional=True) is enabled
    assert Selection(*layers, Layer(extend_select=("GB0170",))).enabled(*RULE), "other rules are as they were"


def outcome(source: str, *findings, filename: str = "model.py"):
    comments = {filename: build_index(source, filename, "", "", "").suppressions}
    return apply(findings, comments)


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa", "# noqa: GB0170", "# NOQA:gb0170", "# noqa: E501, GB0170", "# noqa: GB01", "# noqa: GB0",
        "# noqa: branch-on-tensor", "# gblint: ignore", "# gblint: ignore[GB0170] on purpose",
        "# gblint: ignore[branch-on-tensor]",
    ],
)  # fmt: skip
def test_a_comment_silences_the_finding_of_its_line(comment: str) -> None:
    result = outcome(f"if x: {comment}\n    pass\n", finding(row=1))
    assert (len(result.kept), len(result.silenced), result.unused) == (0, 1, [])


@pytest.mark.parametrize("comment", ["# noqa: E501", "# noqa: GB0059", "# type: ignore", "# noqa: gate"])
def test_other_comments_do_not(comment: str) -> None:
    result = outcome(f"if x: {comment}\n    pass\n", finding(row=1))
    assert (len(result.kept), len(result.silenced)) == (1, 0)


def test_a_comment_on_another_line_does_not() -> None:
    assert outcome("if x:\n    y()  # noqa\n", finding(row=1)).silenced == []


@pytest.mark.parametrize("comment", ["# gblint: noqa", "# gblint: noqa: GB0170", "# gblint: skip-file"])
def test_a_comment_may_silence_a_file(comment: str) -> None:
    result = outcome(f"{comment}\n\n\nif x:\n    pass\n", finding(row=4), finding(row=5))
    assert len(result.silenced) == 2


def test_the_end_of_a_long_statement_silences_all_of_it() -> None:
    source = "y = f(\n    x.item(),\n)  # noqa: GB0170\n"
    assert len(outcome(source, finding(row=2)).silenced) == 1


def test_the_row_of_the_comment_may_differ_from_that_of_the_finding() -> None:
    assert len(outcome("a\nb  # noqa\n", finding(row=1, noqa_row=2)).silenced) == 1


def test_codes_that_silence_nothing_are_reported() -> None:
    source = "if x: pass  # noqa: GB0170, GB0059\ny = 1  # gblint: ignore\nz = 1  # noqa: E501\nw = 1  # noqa\n"
    result = outcome(source, finding(row=1))
    assert result.unused == [Unused("model.py", 1, "GB0059", "noqa"), Unused("model.py", 2, "", "ignore")]
