"""What the codemods that turn branches into `torch.where` have in common: the other arm, and the edit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from gblint.fixing.arms import Arm, Bind, Choice, arm_of, body_of, comments
from gblint.fixing.conditions import condition, conjuncts, is_tensor_test
from gblint.fixing.selecting import Selector
from gblint.fixing.site import Refusal, Statement

if TYPE_CHECKING:
    from gblint.findings.finding import Edit
    from gblint.fixing.site import Site


def other_arm(site: Site, holder: cst.If) -> Arm:
    """What runs where an `if` does not hold; that of an `elif` has values that are chosen themselves. Raises Refusal
    for what is no arm."""
    if holder.orelse is None:
        return Arm([], [])
    if isinstance(holder.orelse, cst.Else):
        return arm_of(site, body_of(site, holder.orelse.body))
    inner = holder.orelse
    yes, no = arm_of(site, body_of(site, inner.body)), other_arm(site, inner)
    result = Arm(
        [], [], yes.ending, [*yes.calls, *no.calls], [], [*yes.doubts, *no.doubts], [*yes.imports, *no.imports]
    )
    _need(type(yes.ending) is type(no.ending), "only some of the arms return")
    if not any(is_tensor_test(site, p) for p in (inner.test, *conjuncts(inner.test))):
        test = site.flat(inner.test)

        def choose(a: Choice, b: Choice) -> Choice:
            return Choice(f"({a.text} if {test} else {b.text})", [*a.leaves, *b.leaves])
    else:
        found = condition(site, inner.test)
        _need(not found.python, "an `elif` tests a Python fact and a tensor")
        selector = Selector(site, found, found.tensor, "", result.doubts, result.imports)

        def choose(a: Choice, b: Choice) -> Choice:
            return Choice(selector.select(a, b), [*a.leaves, *b.leaves])

    if yes.ending is not None:
        _need(not yes.steps and not no.steps, "an `elif` computes more than it returns")
        _need(len(yes.returns) == len(no.returns), "the arms return different numbers of values")
        result.returns = [choose(a, b) for a, b in zip(yes.returns, no.returns, strict=True)]
        return result
    _need([s.names for s in yes.steps] == [s.names for s in no.steps], "the arms assign different variables")
    for a, b in zip(yes.steps, no.steps, strict=True):
        if not (isinstance(a, Bind) and isinstance(b, Bind) and len(a.names) == 1):
            raise Refusal("an `elif` unpacks into several variables or changes something in place")
        result.steps.append(Bind(a.names, choose(a.value, b.value)))
    return result


def _need(condition: object, reason: str) -> None:
    if not condition:
        raise Refusal(reason)


def indented(text: str, step: str) -> str:
    """Lines one level deeper."""
    return "".join(step + line if line.strip() else line for line in text.splitlines(keepends=True))


def in_place_of(site: Site, holder: cst.If, last: Statement, text: str) -> Edit:
    """The edit that puts lines (for column 0) in the place of an `if` and what follows it, up to `last`; comments that
    the lines do not have come first, and an `elif` becomes an `else`."""
    kept = comments(site, holder, last).splitlines(keepends=True)
    text = "".join(c for c in kept if c.strip() not in text) + text
    above = site.parent(holder)
    if isinstance(above, cst.If) and above.orelse is holder:
        _need(last is holder, "what follows the `elif` belongs to other ways, too")
        text = f"else:\n{indented(text, site.step)}"
    return site.replace_lines(holder, last, text)


def stays_in_lines(site: Site, lines: list[Statement]) -> bool:
    """Whether statements cannot become steps of an arm: one has a body of its own (a loop over things changed in place
    is such a step), or comments inside an expression over several rows, which have to stay where they are."""
    for line in lines:
        if isinstance(line, cst.BaseCompoundStatement):
            if not isinstance(line, cst.For):
                return True
        elif any("\n" in text and "#" in text for text in map(site.text, line.body)):
            return True
    return False
