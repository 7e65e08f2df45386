"""Variables that hold the outcome of a test of a tensor and decide what is skipped: `drop = False`, `if …:
drop = True`, `if not drop: …`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from gblint.fixing.arms import body_of
from gblint.fixing.branches import in_place_of
from gblint.fixing.conditions import Condition, condition, conjuncts, is_tensor_test, tested
from gblint.fixing.purity import is_pure
from gblint.fixing.site import Refusal, Site, Statement
from gblint.interpreter.values import members, type_name
from gblint.interpreter.walk import walk

if TYPE_CHECKING:
    from gblint.findings.finding import Edit


@dataclass(slots=True)
class Use:
    """An `if` that tests the flag. skipped, run: the statements of its arms by what the flag lets skip. facts: the text
    of what has to hold of Python besides the flag for the skip, "" for nothing. nodes: those facts."""

    holder: cst.If
    skipped: list[Statement]
    run: list[Statement]
    facts: str
    nodes: list[cst.BaseExpression]


@dataclass(slots=True)
class Flag:
    """A flag. off: the constant it is where no tensor was asked ("False"), "" if it always is a tensor. skips: whether
    it lets skip where it holds (`drop`), else where it does not (`keep`). edits: those that make it the tensor that was
    tested. uses: where it is tested, in order."""

    name: str
    off: str
    skips: bool
    condition: Condition
    edits: list[Edit]
    uses: list[Use]


def flag_of(site: Site) -> Flag | None:
    """The flag whose setting or test is the site's; None where there is none. Raises Refusal where it is used for more
    than to skip statements."""
    name = _name_at(site)
    if not name or name in site.parameters():
        return None
    lines = [site.statement(store) for store in site.stores(name)]
    values = [_assigned(line) for line in lines]
    off = _constant(values[0]) if len(lines) == 2 else ""
    if None in values or len(lines) not in (1, 2) or (len(lines) == 2 and not off):
        return None
    return _flag(site, name, lines, off)


def _assigned(line: cst.CSTNode) -> cst.BaseExpression | None:
    """The value of a line that assigns to one variable and does nothing else."""
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    if isinstance(small, cst.Assign) and len(small.targets) == 1 and isinstance(small.targets[0].target, cst.Name):
        return small.value
    return None


def _constant(node: cst.BaseExpression | None) -> str:
    return node.value if isinstance(node, cst.Name) and node.value in ("False", "True", "None") else ""


def _name_at(site: Site) -> str:
    """The flag that the site's test sets, or that it asks; "" for none."""
    holder, whole = tested(site)
    if isinstance(holder, cst.If):
        lines = holder.body.body if isinstance(holder.body, cst.IndentedBlock) and holder.orelse is None else ()
        if len(lines) == 1 and _constant(_assigned(lines[0])) in ("True", "False"):
            return _target(lines[0])
        return next((n.value for n in _literals(whole) if is_tensor_test(site, n)), "")
    line = site.statement(site.node)
    value = _assigned(line)
    if value is None or not any(n is (holder or whole) for n in (value, _truth(value))):
        return ""
    return _target(line)


def _target(line: cst.CSTNode) -> str:
    return next((n.target.value for n in walk(line) if isinstance(n, cst.AssignTarget)), "")  # type: ignore[attr-defined]


def _truth(node: cst.BaseExpression) -> cst.BaseExpression:
    """The test whose outcome a value is as a bool: `bool(c)`, `True if c else False`."""
    if isinstance(node, cst.IfExp) and (_constant(node.body), _constant(node.orelse)) == ("True", "False"):
        return _truth(node.test)
    named = isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "bool"
    if isinstance(node, cst.Call) and named and len(node.args) == 1 and node.args[0].keyword is None:
        return _truth(node.args[0].value)
    return node


def _literals(test: cst.BaseExpression) -> list[cst.Name]:
    """The variables that a test asks, by themselves or with `not`, as parts of one `and` or `or`."""
    nodes = (_negated(p) or p for p in _parts(test))
    return [n for n in nodes if isinstance(n, cst.Name)]


def _parts(test: cst.BaseExpression) -> list[cst.BaseExpression]:
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.Or):
        return [*_alternatives(test.left), *_alternatives(test.right)]
    return conjuncts(test)


def _alternatives(test: cst.BaseExpression) -> list[cst.BaseExpression]:
    either = isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.Or)
    return _parts(test) if either else [test]


def _negated(node: cst.BaseExpression) -> cst.BaseExpression | None:
    is_not = isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not)
    return node.expression if isinstance(node, cst.UnaryOperation) and is_not else None


def _flag(site: Site, name: str, lines: list[Statement], off: str) -> Flag | None:
    block, line = site.parent(lines[0]), lines[-1]
    skips = off != "True"
    holder = _holder(site, line)
    value = _assigned(line)
    if holder is not None:
        if _constant(value) != str(skips):
            return None
        found = condition(site, holder.test)
        _need(not found.python, "the flag is set by a Python fact and a tensor in one test")
        text = found.tensor if skips else f"~{found.operand}"
        edits = [in_place_of(site, holder, holder, f"{name} = {text}\n")]
    else:
        truth = _truth(value) if value is not None else None
        if value is None or truth is None or not any(is_tensor_test(site, p) for p in conjuncts(truth)):
            return None
        found = condition(site, truth)
        text = _outcome(site, found, truth)
        off = off or ("False" if found.python else "")
        edits = [site.replace(value, text)] if text != site.text(value) else []
    outer = _outer(site, holder or line, block)
    uses = [_use(site, load, name, outer, skips) for load in site.loads(name)]
    if not uses or (not off and len(uses) == 1):
        return None  # a single test of a tensor is another matter
    return Flag(name, off, skips, found, [*edits, *found.imports], uses)


def _need(condition: object, reason: str) -> None:
    if not condition:
        raise Refusal(reason)


def _outcome(site: Site, found: Condition, test: cst.BaseExpression) -> str:
    """A test as a value: False where a fact does not hold, else a tensor."""
    if not found.python:
        return found.tensor
    facts = [p for p in conjuncts(test) if not is_tensor_test(site, p)]
    known = all(isinstance(p, cst.Comparison) or _is_bool(site, p) for p in facts)
    head = found.python if known else f"bool({found.python})"
    return f"{head} and {found.operand if '&' in found.tensor else found.tensor}"


def _is_bool(site: Site, node: cst.BaseExpression) -> bool:
    value = site.value(node)
    return value is not None and all(type_name(m) == "bool" for m in members(value))


def _holder(site: Site, line: Statement) -> cst.If | None:
    """The test of a tensor that a line stands under alone."""
    suite = site.parent(line)
    above = site.parent(suite) if isinstance(suite, cst.IndentedBlock) else None
    if not isinstance(above, cst.If) or above.body is not suite or len(above.body.body) != 1:
        return None
    asks = any(is_tensor_test(site, p) for p in conjuncts(above.test))
    return above if asks and above.orelse is None else None


def _outer(site: Site, line: Statement, block: cst.CSTNode | None) -> Statement:
    """The statement of a block that a line is in; raises Refusal where more than facts about Python is in between."""
    while site.parent(line) is not block:
        suite = site.parent(line)
        above = site.parent(suite) if suite is not None else None
        if not isinstance(above, cst.If) or above.body is not suite or is_tensor_test(site, above.test):
            raise Refusal("the flag is set under more than facts about Python")
        line = above
    return line


def _use(site: Site, load: cst.Name, name: str, outer: Statement, skips: bool) -> Use:
    """A place that reads the flag as the test it is part of; raises Refusal."""
    holder = site.enclosing(load, cst.If)
    within = isinstance(holder, cst.If) and any(n is load for n in walk(holder.test))
    if not isinstance(holder, cst.If) or not within or site.parent(holder) is not site.parent(outer):
        raise Refusal(f"`{name}` is used for more than to skip statements behind it")
    _need(site.span(holder)[0] > site.span(outer)[0], f"`{name}` is tested before it is set")
    parts = _parts(holder.test)
    facts = [p for p in parts if p is not load and _negated(p) is not load]
    _need(len(facts) == len(parts) - 1, f"`{name}` is part of a test that is no plain `and` or `or`")
    asks = any(is_tensor_test(site, p) for p in facts)
    _need(not asks and is_pure(site, facts), f"`{name}` is tested together with more than facts about Python")
    skipping = (load in parts) == skips
    either = isinstance(holder.test, cst.BooleanOperation) and isinstance(holder.test.operator, cst.Or)
    _need(not facts or either != skipping, f"`{name}` does not decide by itself what is skipped")
    text = " and ".join(_opposite(site, p) if either else _wrapped(site, p) for p in facts)
    body, rest = body_of(site, holder.body), _rest(site, holder)
    return Use(holder, *((body, rest) if skipping else (rest, body)), text, facts)


def _rest(site: Site, holder: cst.If) -> list[Statement]:
    if holder.orelse is None:
        return []
    _need(isinstance(holder.orelse, cst.Else), "an `elif` follows the test of the flag")
    return body_of(site, holder.orelse.body)


def _wrapped(site: Site, node: cst.BaseExpression) -> str:
    loose = isinstance(node, cst.BooleanOperation | cst.IfExp) and not node.lpar
    return f"({site.flat(node)})" if loose else site.flat(node)


def _opposite(site: Site, node: cst.BaseExpression) -> str:
    inner = _negated(node)
    if inner is not None:
        return _wrapped(site, inner)
    return f"not {site.operand(node)}"


def is_continue(line: Statement) -> bool:
    """Whether a line ends with `continue`."""
    return isinstance(line, cst.SimpleStatementLine) and isinstance(line.body[-1], cst.Continue)


def is_nothing(line: Statement) -> bool:
    """Whether a line assigns None, or a tuple of None, to variables; or does nothing."""
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    if isinstance(small, cst.Assign):
        value = small.value
        parts = [e.value for e in value.elements] if isinstance(value, cst.Tuple) else [value]
        return all(isinstance(p, cst.Name) and p.value == "None" for p in parts)
    return isinstance(small, cst.Pass)
