"""Which repair a new break is laid to, and which come back when it was not theirs."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from gblint.callgraph import Calls, Edge
from gblint.checking import Outcome
from gblint.findings.finding import Edit, Finding, Fix
from gblint.findings.finding import Step as Call
from gblint.fixing.blame import Blame, Ways, culprits
from gblint.fixing.plan import Step
from gblint.reach import Root, key_of

CALLS = {"a.Net.forward": {"a.helper", "a.other"}, "a.other": {"a.deep"}, "b.run": {"b.work"}}


def packed(calls: dict[str, set[str]]) -> bytes:
    return Calls(edges=[Edge(caller, callee, 1, 0, False) for caller in calls for callee in calls[caller]]).pack()


def outcome(*findings: Finding, units: Sequence[dict[str, set[str]]] = (CALLS,), roots: Sequence[Root] = ()) -> Outcome:
    broken = {key_of(finding): set(roots) for finding in findings}
    return Outcome(findings=list(findings), calls=[packed(unit) for unit in units], broken=broken)


def step(function: str) -> Step:
    filename = f"{function.partition('.')[0]}.py"
    finding = Finding("GB0059", "print-call", "m", filename, 3, 1, 3, 9, function=function)
    edit = Edit(filename, 3, 1, 4, 1, "y = x\n")
    return Step(finding, Fix("double", "unsafe", "m", (edit,)))


def new(function: str, way: list[str], row: int = 40) -> Finding:
    filename = f"{function.partition('.')[0]}.py"
    path = [Call(name, filename, 1) for name in way]
    return Finding("GB0170", "branch-on-tensor", "m", filename, row, 1, row, 9, function=function, path=path)


def blamed(finding: Finding, *chosen: Step, after: Outcome | None = None) -> list[str]:
    edits = {s.finding.filename: [e for other in chosen for e in other.fix.edits] for s in chosen}
    return [s.finding.function for s in culprits(finding, list(chosen), edits, Ways(after or outcome(finding)))]


@pytest.mark.parametrize(
    ("function", "way", "repaired"),
    [
        ("a.other", ["a.Net.forward", "a.other"], "a.other"),
        ("a.other", ["a.Net.forward", "a.other"], "a.Net.forward"),
        ("a.other", ["a.Net.forward", "a.other"], "a.deep"),
        ("a.other", ["a.Net.forward", "a.other"], "a.helper"),
    ],
    ids=["its-own-function", "a-caller", "what-it-calls", "what-a-caller-calls"],
)
def test_a_repair_that_can_lead_to_a_break_is_blamed(function: str, way: list[str], repaired: str) -> None:
    assert blamed(new(function, way), step(repaired), step("b.work")) == [repaired]


def test_the_repair_that_wrote_the_row_is_blamed_before_others() -> None:
    assert blamed(new("a.other", ["a.Net.forward"], row=3), step("a.helper"), step("b.work")) == ["a.helper"]


def test_a_break_that_no_repair_leads_to_is_laid_to_none() -> None:
    assert blamed(new("a.other", ["a.Net.forward", "a.other"]), step("b.work"), step("a.unrelated")) == []


WRAPPED = ({"a.forward": {"wrapper"}, "wrapper": {"a.work"}}, {"b.forward": {"wrapper"}, "wrapper": {"b.work"}})


def test_a_wrapper_leads_to_what_it_calls_in_the_units_of_the_break_alone() -> None:
    finding = new("wrapper", ["a.forward", "wrapper"])
    suspects = step("a.work"), step("b.work")
    assert blamed(finding, *suspects, after=outcome(finding, units=WRAPPED, roots=[(0, 0)])) == ["a.work"]
    assert blamed(finding, *suspects, after=outcome(finding, units=WRAPPED, roots=[(1, 0)])) == ["b.work"]


def test_what_all_units_of_a_break_run_is_blamed_before_what_one_of_them_runs() -> None:
    finding = new("wrapper", ["wrapper"])
    units = [{caller: {*callees, "shared"} for caller, callees in unit.items()} for unit in WRAPPED]
    after = outcome(finding, units=units, roots=[(0, 0), (1, 0)])
    assert blamed(finding, step("a.work"), step("shared"), step("b.work"), after=after) == ["shared"]
    assert blamed(finding, step("a.work"), step("b.work"), after=after) == ["a.work", "b.work"]


LIKELIER, OTHER = step("a.Net.forward"), step("a.deep")


def left_out(blame: Blame, broken: int, *chosen: Step) -> list[Step]:
    """What is left out after a try that has broken so many roots."""
    finding = new("a.other", ["a.Net.forward", "a.other"])
    after = outcome(*[finding] * bool(broken), roots=[(0, root) for root in range(broken)])
    edits = {s.finding.filename: [e for other in chosen for e in other.fix.edits] for s in chosen}
    assert blame.lay(Outcome(), after, list(chosen), edits) is bool(broken)
    return [found for found, _ in blame.out.values()]


def test_a_repair_whose_absence_does_not_help_comes_back() -> None:
    blame = Blame()
    assert left_out(blame, 1, LIKELIER, OTHER) == [LIKELIER]
    assert left_out(blame, 1, OTHER) == [OTHER]
    assert left_out(blame, 0, LIKELIER) == [OTHER]


def test_a_repair_whose_absence_helps_some_roots_stays_out() -> None:
    blame = Blame()
    assert left_out(blame, 2, LIKELIER, OTHER) == [LIKELIER]
    assert left_out(blame, 1, OTHER) == [OTHER, LIKELIER]
    assert left_out(blame, 0) == [OTHER, LIKELIER]


def test_where_nothing_helps_alone_all_suspects_stay_out() -> None:
    blame = Blame()
    left_out(blame, 1, LIKELIER, OTHER)
    left_out(blame, 1, OTHER)
    assert {s.key for s in left_out(blame, 1, LIKELIER)} == {LIKELIER.key, OTHER.key}


def test_another_repair_of_the_same_finding_does_not_bring_the_first_back() -> None:
    blame = Blame()
    again = Step(LIKELIER.finding, msgspec.structs.replace(LIKELIER.fix, codemod="another"))
    left_out(blame, 1, LIKELIER)
    assert left_out(blame, 1, again) == [LIKELIER, again]


def test_in_the_end_nothing_comes_back() -> None:
    blame = Blame()
    left_out(blame, 1, LIKELIER, OTHER)
    blame.strict = True
    assert {s.key for s in left_out(blame, 1, OTHER)} == {LIKELIER.key, OTHER.key}
