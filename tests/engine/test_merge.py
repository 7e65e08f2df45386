"""One finding seen from several callers: which of its repairs are kept."""

from __future__ import annotations

import pytest

from gblint.findings.finding import Edit, Finding, Fix
from gblint.merge import OTHERWISE, PARTIAL, _agree


def _seen(*fixes: Fix, refusals: tuple[tuple[str, str], ...] = ()) -> Finding:
    return Finding("GB0170", "branch-on-tensor", "", "m.py", 1, 1, 1, 2, fixes=fixes, refusals=refusals)


def _fix(applicability: str, text: str = "a") -> Fix:
    return Fix("where", applicability, "choose", (Edit("m.py", 1, 1, 1, 2, text),))


def test_a_repair_that_all_callers_share_is_as_sure_as_the_weakest() -> None:
    found = _agree(_seen(_fix("safe")), [_seen(_fix("safe")), _seen(_fix("unsafe"))])
    assert found.fixes == (_fix("unsafe"),)


@pytest.mark.parametrize(("other", "applicability"), [("safe", "unsafe"), ("placeholder", "placeholder")])
def test_a_repair_that_callers_would_write_differently_is_not_safe(other: str, applicability: str) -> None:
    here = _seen(_fix("safe"))
    (fix,) = _agree(here, [here, _seen(_fix(other, "b"))]).fixes
    assert (fix.applicability, fix.message) == (applicability, f"choose; {OTHERWISE}")
    assert fix.edits == _fix("safe").edits


def test_a_repair_that_one_caller_does_not_have_is_declined() -> None:
    here = _seen(_fix("safe"))
    found = _agree(here, [here, _seen()])
    assert (found.fixes, found.refusals) == ((), (("where", PARTIAL),))


def test_what_a_caller_refuses_is_said_in_its_own_words() -> None:
    here = _seen(_fix("safe"))
    found = _agree(here, [here, _seen(refusals=(("where", "`y` is read"),))])
    assert (found.fixes, found.refusals) == ((), (("where", "`y` is read"),))


def test_a_repair_that_only_other_callers_have_is_declined() -> None:
    found = _agree(_seen(), [_seen(), _seen(_fix("safe"))])
    assert (found.fixes, found.refusals) == ((), (("where", PARTIAL),))
