"""`continue` (or a bare `return`) under a test of a tensor becomes a choice with `torch.where`.

What it does:
    `if c: continue` in a loop, and `if c: return` in a function that gives nothing back, skip what follows. The rest
    runs always instead, and each variable and each change in place takes its old value where it would have been
    skipped: `x = torch.where(c, x, layer(x))`. Where Python facts stand in front of the test (`if self.training:`
    around it, as for layers that are dropped at random) the rest is written twice, once without any choice.
Applicability:
    Safe where what is skipped is proved to have one shape and dtype with what it replaces, to raise nothing and to have
    no effect. Unsafe otherwise: the message says what could differ.
Preconditions:
    What follows only assigns variables or changes tensors in place in ways that can be made to change nothing, and
    draws no random numbers. It is short where it has to be written twice.
Instead:
    Draw the decision outside the compiled region and pass it in as a Python bool.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Arm,
    Codemod,
    CodemodMeta,
    Condition,
    Repair,
    Selector,
    Site,
    Statement,
    arm_of,
    body_of,
    comments,
    condition,
    is_tensor_test,
    merged,
    require,
    returned,
    selecting,
    tested,
)

MOST = 3  # statements that are written twice


class WhereForSkip(Codemod):
    """Statements that are skipped by a test of a tensor."""

    meta = CodemodMeta(
        name="where-for-skip",
        summary="what a tensor lets skip runs always, and torch.where takes or leaves it",
        fixes=("branch-on-tensor", "read-tensor-value"),
        rank=32,
    )

    def repair(self, site: Site) -> Repair | None:
        if not isinstance(site.node, cst.BaseExpression):
            return None
        holder, test = tested(site)
        if not isinstance(holder, cst.If) or holder.orelse is not None or not _jumps(holder):
            return None
        outer = _outer(site, holder)
        if outer is None and _gives(holder):
            return None  # an early `return` with a value is another matter
        found = condition(site, test)
        yes = arm_of(site, body_of(site, holder.body))
        rest = site.following(outer or holder)
        require(rest, "nothing follows that would be skipped")
        _check_place(site, outer or holder, yes)
        return _written(site, holder, outer, found, yes, rest)


def _jumps(holder: cst.If) -> bool:
    lines = holder.body.body
    last = lines[-1] if lines else None
    last = last.body[-1] if isinstance(last, cst.SimpleStatementLine) else last
    return isinstance(last, cst.Continue | cst.Return)


def _gives(holder: cst.If) -> bool:
    last = holder.body.body[-1]
    small = last.body[-1] if isinstance(last, cst.SimpleStatementLine) else last
    return isinstance(small, cst.Return) and small.value is not None


def _outer(site: Site, holder: cst.If) -> cst.If | None:
    """The `if` on Python facts that the branch is the last statement of; None where it stands by itself."""
    block = site.parent(holder)
    above = site.parent(block) if block is not None else None
    if not isinstance(above, cst.If) or above.orelse is not None or above.body is not block:
        return None
    if site.block(holder)[-1] is not holder or is_tensor_test(site, above.test):
        return None
    grand = site.parent(above)
    return above if not (isinstance(grand, cst.If) and grand.orelse is above) else None


def _check_place(site: Site, first: Statement, yes: Arm) -> None:
    """A `continue` has to skip the rest of the block that it stands in, a `return` the rest of the function."""
    loop = site.loop(first)
    around = site.parent(site.parent(first) or first)
    if isinstance(yes.ending, cst.Continue):
        require(loop is not None and around is loop, "the `continue` skips more than what follows in its block")
    else:
        require(loop is None and around is site.function, "the `return` skips more than what follows in its block")


def _written(
    site: Site, holder: cst.If, outer: cst.If | None, found: Condition, yes: Arm, rest: list[Statement]
) -> Repair:
    first = outer or holder
    twice = outer is not None or bool(found.python)
    require(not twice or len(rest) <= MOST, f"more than {MOST} statements would have to be written twice")
    require(outer is None or not found.python, "the test has a part for Python inside an `if` for Python")
    no = arm_of(site, rest)
    require(isinstance(yes.ending, cst.Return) or no.ending is None, "what follows leaves the loop itself")
    region = [first, *rest]
    bound = {*yes.bound, *no.bound, *yes.written, *no.written}
    indent = site.indent(first) + (site.step if twice else "")

    def build(selector: Selector) -> str:
        if yes.returns or no.returns:
            require(yes.returns and no.returns, "a way returns nothing")
            selector.note_result([*yes.returns, *no.returns])
            return yes.text + no.text + returned(selector, yes.returns, no.returns)
        return merged(selector, yes, no, region)

    selector, text = selecting(site, found, indent, bound, build)
    selector.note_arms(yes, no)
    if outer is not None:
        before = site.block(holder)[:-1]
        head = site.text(outer.test)
        text = (site.body_text(before, "") if before else "") + text
    else:
        head = found.python
    if twice:
        text = f"if {head}:\n{_indented(text, site.step)}"
        text += site.body_text(rest, "") if no.returns else f"else:\n{site.body_text(rest, site.step)}"
    kept = comments(site, first, rest[-1]).splitlines(keepends=True)
    text = "".join(c for c in kept if c.strip() not in text) + text
    message = "run what the test skips always, and take it or leave it with torch.where"
    edits = [site.replace_lines(first, rest[-1], text), *selector.imports]
    return Repair(selector.applicability, selector.message(message), edits)


def _indented(text: str, step: str) -> str:
    return "".join(step + line if line.strip() else line for line in text.splitlines(keepends=True))
