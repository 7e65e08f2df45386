"""A branch on a tensor that chooses between values becomes `torch.where`.

What it does:
    Computes both arms and chooses: `x = a if c else b`, `if c: x = a` with or without `else` (and `elif`), and
    `if c: return a` with what is returned otherwise become `torch.where(c, a, b)`; a change in place takes the old
    contents, or a factor of 1, where it would not have been made. Facts that Python settles while tracing
    (`self.training and …`) stay an `if`. A number read from a tensor only to be tested (`t.item() > 0`, `bool(t)`) is
    tested as the tensor.
Applicability:
    Safe where the arms have provably one shape and dtype, raise nothing, have no effect, leave the gradients as they
    are, and nothing else holds the tensor that is replaced. Unsafe otherwise: the message says what could differ.
Preconditions:
    The arms only assign variables, change tensors in place, or return; they call nothing that is known to have an
    effect and draw no random numbers. What is read afterwards has a value on both ways, and values are tensors or
    numbers.
Instead:
    `torch.cond` where one side is costly.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Arm,
    Bind,
    Choice,
    Codemod,
    CodemodMeta,
    Condition,
    Repair,
    Selector,
    Site,
    Statement,
    always_returns,
    arm_of,
    becomes_tensor,
    body_of,
    bound_before,
    calls_of,
    changed_names,
    check_effects,
    closed,
    comments,
    condition,
    conjuncts,
    is_live,
    is_number,
    is_tensor_test,
    merged,
    parts_of,
    refuse,
    require,
    returned,
    selecting,
    tested,
    walk,
    walk_scope,
)

MESSAGE = "compute both sides and choose with torch.where"


class WhereForBranch(Codemod):
    """Branches that choose a value."""

    meta = CodemodMeta(
        name="where-for-branch",
        summary="torch.where chooses between the values of both arms",
        fixes=("branch-on-tensor", "tensor-membership", "read-tensor-value"),
        rank=30,
    )

    def repair(self, site: Site) -> Repair | None:
        if not isinstance(site.node, cst.BaseExpression):
            return None
        holder, test = tested(site)
        if isinstance(holder, cst.IfExp):
            return _ternary(site, holder)
        if isinstance(holder, cst.If):
            return _branch(site, holder)
        if holder is None and isinstance(test, cst.BooleanOperation) and site.finding.name == "branch-on-tensor":
            return _value(site, test)
        return None


# -- expressions ---------------------------------------------------------------------------------------------------


def _value(site: Site, test: cst.BooleanOperation) -> Repair:
    """`a and b` of boolean tensors, whose value is used: `a & b`."""
    for side in (test.left, test.right):
        tensor = site.tensor(side)
        require(
            tensor is None or tensor.dtype == "bool", f"`{site.text(side)}` is no boolean, and `and` and `or` give it"
        )
    found = condition(site, test)
    require(not found.python, "the value may be a Python fact or a tensor")
    above = site.parent(test)
    loose = isinstance(above, cst.BinaryOperation | cst.UnaryOperation | cst.Comparison | cst.Attribute)
    text = found.operand if loose and not test.lpar else found.tensor
    doubts = ["both sides are now computed", *found.doubts]
    return Repair("unsafe", "; ".join(["combine the tests as tensors", *doubts[:2]]), [site.replace(test, text)])


def _ternary(site: Site, holder: cst.IfExp) -> Repair:
    found = condition(site, holder.test)
    yes, no = Choice(site.flat(holder.body), [holder.body]), Choice(site.flat(holder.orelse), [holder.orelse])
    selector = Selector(site, found, found.tensor, "")
    selector.note_calls(calls_of(site, [holder.body, holder.orelse]))
    text = selector.select(yes, no)
    if all(is_number(site, arm) for arm in (holder.body, holder.orelse)):
        require(becomes_tensor(site, holder), "the number is used where a tensor does not go")
    if not isinstance(site.parent(holder), cst.BinaryOperation | cst.UnaryOperation | cst.Comparison):
        selector.note_result([yes, no])
    if found.python:
        require(
            _is_short(holder.orelse), "a Python fact is part of the test, and the other side would stand there twice"
        )
        text = f"{text} if {found.python} else {no.text}"
    edit = site.replace(holder, text) if found.python else closed(site, holder, text)
    return Repair(selector.applicability, selector.message(MESSAGE), [edit, *selector.imports])


def _is_short(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name | cst.Attribute | cst.BaseNumber)


# -- statements ----------------------------------------------------------------------------------------------------


def _branch(site: Site, holder: cst.If) -> Repair:
    found = condition(site, holder.test)
    lines = body_of(site, holder.body)
    if holder.orelse is None and any(_is_compound(s) for s in lines):
        return _around(site, holder, found, lines)
    yes, no = arm_of(site, lines), _other(site, holder)
    require(not isinstance(yes.ending, cst.Break), "the branch leaves the loop")
    require(not isinstance(yes.ending, cst.Continue), "the branch skips the rest of a loop's round")
    if yes.ending is None and no.ending is None:
        return _assigning(site, holder, found, yes, no)
    if holder.orelse is not None:
        require(yes.ending is not None and no.ending is not None, "only one arm returns")
        return _returning(site, holder, found, yes, no, holder)
    following = site.following(holder)
    require(following, "nothing is returned on the other way")
    if isinstance(following[0], cst.SimpleStatementLine) and isinstance(following[0].body[0], cst.Return):
        return _returning(site, holder, found, yes, arm_of(site, following[:1]), following[0])
    return _leaving(site, holder, found, yes, following)


def _is_compound(line: Statement) -> bool:
    """Whether a statement has a body of its own, other than a loop, which may be one over things changed in place."""
    return isinstance(line, cst.BaseCompoundStatement) and not isinstance(line, cst.For)


def _other(site: Site, holder: cst.If) -> Arm:
    """The other arm; that of an `elif` has values that are chosen themselves."""
    if holder.orelse is None:
        return Arm([], [])
    if isinstance(holder.orelse, cst.Else):
        return arm_of(site, body_of(site, holder.orelse.body))
    inner = holder.orelse
    yes, no = arm_of(site, body_of(site, inner.body)), _other(site, inner)
    result = Arm(
        [], [], yes.ending, [*yes.calls, *no.calls], [], [*yes.doubts, *no.doubts], [*yes.imports, *no.imports]
    )
    require(type(yes.ending) is type(no.ending), "only some of the arms return")
    if not any(is_tensor_test(site, p) for p in (inner.test, *conjuncts(inner.test))):
        test = site.flat(inner.test)

        def choose(a: Choice, b: Choice) -> Choice:
            return Choice(f"({a.text} if {test} else {b.text})", [*a.leaves, *b.leaves])
    else:
        found = condition(site, inner.test)
        require(not found.python, "an `elif` tests a Python fact and a tensor")
        selector = Selector(site, found, found.tensor, "", result.doubts, result.imports)

        def choose(a: Choice, b: Choice) -> Choice:
            return Choice(selector.select(a, b), [*a.leaves, *b.leaves])

    if yes.ending is not None:
        require(not yes.steps and not no.steps, "an `elif` computes more than it returns")
        require(len(yes.returns) == len(no.returns), "the arms return different numbers of values")
        result.returns = [choose(a, b) for a, b in zip(yes.returns, no.returns, strict=True)]
        return result
    require([s.names for s in yes.steps] == [s.names for s in no.steps], "the arms assign different variables")
    for a, b in zip(yes.steps, no.steps, strict=True):
        if not (isinstance(a, Bind) and isinstance(b, Bind) and len(a.names) == 1):
            refuse("an `elif` unpacks into several variables or changes something in place")
        result.steps.append(Bind(a.names, choose(a.value, b.value)))
    return result


def _assigning(site: Site, holder: cst.If, found: Condition, yes: Arm, no: Arm) -> Repair:
    inner = site.indent(holder) + (site.step if found.python else "")
    bound = {*yes.bound, *no.bound, *yes.written, *no.written}
    selector, text = selecting(site, found, inner, bound, lambda s: merged(s, yes, no, [holder]))
    selector.note_arms(yes, no)
    if found.python:
        text = f"if {found.python}:\n{_indented(text, site.step)}"
        if holder.orelse is not None:
            require(isinstance(holder.orelse, cst.Else), "a Python fact is part of the test, and an `elif` follows")
            text += f"else:\n{site.body_text(no.lines, site.step)}"
    return _put(site, holder, holder, text, selector)


def _around(site: Site, holder: cst.If, found: Condition, lines: list[Statement]) -> Repair:
    """An arm with loops or tests of its own runs as it is; what it has changed is then taken or left."""
    check_effects(site, lines)
    yes = Arm([], lines, calls=calls_of(site, lines))
    names = [n for n in sorted(changed_names(lines)) if is_live(site, n, [holder])]
    require(names, "nothing that the branch assigns is read afterwards")
    for name in names:
        require(bound_before(site, name, holder), f"`{name}` is read afterwards and has no value on the other way")
    old = {n: site.fresh(f"old_{n}") for n in names}
    chosen = site.fresh("chosen")
    indent = site.indent(holder) + (site.step if found.python else "")
    selector = Selector(site, found, chosen, indent)
    selector.note_arms(yes)
    text = f"{chosen} = {found.tensor}\n" + "".join(f"{old[n]} = {n}\n" for n in names) + site.body_text(lines, "")
    for name in names:
        selector.note_alias(name, holder)
        text += selector.assign(name, Choice(name, [cst.Name(name)]), Choice(old[name], [cst.Name(old[name])]))
    if found.python:
        text = f"if {found.python}:\n{_indented(text, site.step)}"
    return _put(site, holder, holder, text, selector)


def _returning(site: Site, holder: cst.If, found: Condition, yes: Arm, no: Arm, last: Statement) -> Repair:
    """Both ways return: one `return` of the chosen value."""
    require(yes.returns and no.returns, "a way returns nothing")
    _check_temporaries(yes, no)
    inner = site.indent(holder) + (site.step if found.python else "")

    def build(selector: Selector) -> str:
        selector.note_result([*yes.returns, *no.returns])
        return yes.text + no.text + returned(selector, yes.returns, no.returns)

    selector, text = selecting(site, found, inner, {*yes.bound, *no.bound}, build)
    selector.note_arms(yes, no)
    if found.python:
        require(no.lines, "a Python fact is part of the test, and an `elif` follows")
        text = f"if {found.python}:\n{_indented(text, site.step)}{site.body_text(no.lines, '')}"
    return _put(site, holder, last, text, selector)


def _check_temporaries(yes: Arm, no: Arm) -> None:
    leaves = [leaf for c in (*(s.value for s in no.steps), *no.returns) for leaf in c.leaves]
    used = {n.value for leaf in leaves for n in walk(leaf) if isinstance(n, cst.Name)} | set(no.bound)
    shared = set(yes.bound) & used
    require(not shared, f"both ways use `{min(shared, default='')}`")


def _leaving(site: Site, holder: cst.If, found: Condition, yes: Arm, following: list[Statement]) -> Repair:
    """An early `return`: the rest runs anyway, and each later `return` chooses."""
    require(not found.python, f"the test has a part for Python (`{found.python}`) and much code follows")
    require(site.loop(holder) is None, "the function is left from inside a loop")
    require(yes.returns, "a way returns nothing")
    require(always_returns(following[-1]), "nothing is returned on the other way")
    check_effects(site, following)
    used = {n.value for line in following for n in walk(line) if isinstance(n, cst.Name)}
    require(not set(yes.bound) & used, f"both ways use `{min(set(yes.bound) & used, default='')}`")
    selector = Selector(site, found, site.fresh("chosen"), site.indent(holder))
    selector.note_arms(yes, Arm([], [], calls=calls_of(site, following)))
    selector.note_result(yes.returns)
    lines, early = _kept(site, yes.returns, following)
    edits = []
    for node in walk_scope(list(following)):
        if isinstance(node, cst.Return):
            if node.value is None:
                refuse("a way returns nothing")
            text = returned(selector, early, parts_of(site, node.value)).rstrip("\n")
            edits.append(site.replace(node, text.replace("\n", "\n" + site.indent(site.statement(node)))))
    head = f"{comments(site, holder, holder)}{yes.text}{lines}{selector.text} = {found.tensor}\n"
    edits.append(site.replace_lines(holder, holder, head))
    return Repair(selector.applicability, selector.message(MESSAGE), [*edits, *selector.imports])


def _kept(site: Site, values: list[Choice], following: list[Statement]) -> tuple[str, list[Choice]]:
    """The values of an early `return` under names that stay as they are: the lines that give them, and the names."""
    bound = changed_names(following)
    lines, kept = "", []
    for value in values:
        if value.text.isidentifier() and value.text not in bound:
            kept.append(value)
            continue
        name = site.fresh("early" if len(values) == 1 else f"early_{len(kept)}")
        lines += f"{name} = {value.text}\n"
        kept.append(Choice(name, value.leaves))
    return lines, kept


def _indented(text: str, step: str) -> str:
    return "".join(step + line if line.strip() else line for line in text.splitlines(keepends=True))


def _put(site: Site, holder: cst.If, last: Statement, text: str, selector: Selector) -> Repair:
    """The edit that puts lines in the place of the branch (and what follows it, up to `last`)."""
    kept = comments(site, holder, last).splitlines(keepends=True)
    text = "".join(c for c in kept if c.strip() not in text) + text
    above = site.parent(holder)
    if isinstance(above, cst.If) and above.orelse is holder:
        require(last is holder, "what follows the `elif` belongs to other ways, too")
        text = f"else:\n{_indented(text, site.step)}"
    edits = [site.replace_lines(holder, last, text), *selector.imports]
    return Repair(selector.applicability, selector.message(MESSAGE), edits)
