"""The arms of a branch as steps that can run unconditionally, and which of their variables are read afterwards."""

from __future__ import annotations

import io
import textwrap
import tokenize
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst

from gblint.fixing.forms import is_fresh
from gblint.fixing.purity import call_is_pure, changes_state, walk_all
from gblint.fixing.site import Refusal, Statement
from gblint.interpreter.values import Const, Plain, Tensor, members
from gblint.interpreter.walk import walk, walk_scope

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gblint.findings.finding import Edit
    from gblint.fixing.selecting import Selector
    from gblint.fixing.site import Site

WIDTH = 88
_PRAGMAS = ("# noqa", "# type:", "# pylint", "# pragma", "# fmt", "# ruff", "# pyright", "# mypy")
_EFFECTS = ("append", "extend", "insert", "update", "add", "pop", "remove", "clear", "setdefault", "write", "register")
_RANDOM = frozenset("rand randn randint randperm bernoulli multinomial normal gumbel random uniform choice".split())
_MUTE = (cst.Pass,)
_OPERATORS: dict[type[cst.BaseAugOp], type[cst.BaseBinaryOp]] = {
    cst.AddAssign: cst.Add,
    cst.SubtractAssign: cst.Subtract,
    cst.MultiplyAssign: cst.Multiply,
    cst.DivideAssign: cst.Divide,
}


@dataclass(slots=True)
class Choice:
    """A value by its text, with the expressions it may come from (several where it is itself chosen by a test)."""

    text: str
    leaves: list[cst.BaseExpression]


@dataclass(slots=True)
class Bind:
    """`x = value` or `x, y = value`."""

    names: list[str]
    value: Choice


@dataclass(slots=True)
class Write:
    """A change in place. written: the variables through which it is made."""

    names: list[str]
    written: set[str]

    def text(self, selector: Selector, swap: bool) -> str:
        """The lines that make it if the selector's condition holds (does not hold, with `swap`)."""
        raise NotImplementedError


Step = Bind | Write


@dataclass(slots=True)
class Arm:
    """What a branch does: assignments in order, then perhaps a jump. lines: its statements. calls: texts of the
    functions it calls that are not known to be without effects. returns: what its `return` gives, the elements of a
    tuple one by one. doubts, imports: of choices that its values already hold."""

    steps: list[Step]
    lines: list[Statement]
    ending: cst.Return | cst.Continue | cst.Break | None = None
    calls: list[str] = field(default_factory=list)
    returns: list[Choice] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    imports: list[Edit] = field(default_factory=list)

    def note(self, site: Site, nodes: Iterable[cst.CSTNode]) -> None:
        """Add the calls in some nodes to `calls`; raises Refusal as `calls_of`."""
        self.calls += calls_of(site, nodes)

    @property
    def text(self) -> str:
        """Its assignments, a line each; raises Refusal if it changes anything in place."""
        if any(isinstance(s, Write) for s in self.steps):
            raise Refusal("something is changed in place before the `return`")
        binds = [s for s in self.steps if isinstance(s, Bind)]
        return "".join(f"{', '.join(s.names)} = {s.value.text}\n" for s in binds)

    @property
    def written(self) -> set[str]:
        """The variables through which it changes tensors in place."""
        return {n for s in self.steps if isinstance(s, Write) for n in s.written}

    @property
    def bound(self) -> list[str]:
        """The variables it binds, in order of the first time."""
        return list(dict.fromkeys(n for s in self.steps for n in s.names))


def parts_of(site: Site, value: cst.BaseExpression) -> list[Choice]:
    """A returned value as values to choose: the elements of a tuple that is written out, or itself."""
    if isinstance(value, cst.Tuple) and not any(isinstance(e, cst.StarredElement) for e in value.elements):
        return [Choice(site.flat(e.value), [e.value]) for e in value.elements]
    return [Choice(site.flat(value), [value])]


def body_of(site: Site, suite: cst.BaseSuite) -> list[Statement]:
    """The statements of a block; raises Refusal where it stands on the line of its head."""
    if not isinstance(suite, cst.IndentedBlock):
        raise Refusal("the branch stands on the line of its `if`")
    return [s for s in suite.body if isinstance(s, cst.SimpleStatementLine | cst.BaseCompoundStatement)]


def arm_of(site: Site, lines: list[Statement], inside: bool = False) -> Arm:
    """Statements as an arm. Raises Refusal for anything but assignments, changes in place that can be made to change
    nothing, and a jump at the end. inside: they are the rounds of a loop in an arm."""
    from gblint.fixing.writes import statement_write

    arm = Arm([], lines)
    for line in lines:
        if arm.ending is not None:
            raise Refusal("statements follow the jump in the branch")
        if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 and _is_bind(site, line.body[0]):
            _add(site, arm, line.body[0])
            continue
        write = statement_write(site, line)
        if write is not None:
            arm.steps.append(write)
        elif not isinstance(line, cst.SimpleStatementLine):
            raise Refusal(f"{_kind(line)} stands in the branch")
        elif len(line.body) != 1:
            raise Refusal("statements share a line in the branch")
        else:
            _add(site, arm, line.body[0])
    return arm


def _is_bind(site: Site, small: cst.BaseSmallStatement) -> bool:
    """Whether a statement binds variables, or changes a tensor in place that nothing else holds."""
    if isinstance(small, cst.AugAssign) and isinstance(small.target, cst.Name):
        try:
            _add_augmented(site, Arm([], []), small)
        except Refusal:
            return False
        return True
    return isinstance(small, cst.Assign) and isinstance(small.targets[0].target, cst.Name | cst.Tuple)


def _kind(line: cst.CSTNode) -> str:
    name = type(line).__name__.lower()
    return {"functiondef": "a function", "classdef": "a class"}.get(name, f"a `{name}`")


def _add(site: Site, arm: Arm, small: cst.BaseSmallStatement) -> None:
    if isinstance(small, cst.Return | cst.Continue | cst.Break):
        arm.ending = small
        if isinstance(small, cst.Return) and small.value is not None:
            arm.note(site, [small.value])
            arm.returns = parts_of(site, small.value)
    elif isinstance(small, cst.Assign):
        if len(small.targets) != 1:
            raise Refusal("the branch assigns one value to several targets")
        arm.steps.append(Bind(_names(small.targets[0].target), Choice(site.flat(small.value), [small.value])))
        arm.note(site, [small.value])
    elif isinstance(small, cst.AnnAssign) and small.value is not None:
        arm.steps.append(Bind(_names(small.target), Choice(site.flat(small.value), [small.value])))
        arm.note(site, [small.value])
    elif isinstance(small, cst.AugAssign):
        _add_augmented(site, arm, small)
    elif isinstance(small, cst.Raise):
        raise Refusal("the branch raises an error")
    elif isinstance(small, cst.Expr) and isinstance(small.value, cst.SimpleString):
        pass
    elif not isinstance(small, _MUTE):
        raise Refusal(_other(site, small))


def _add_augmented(site: Site, arm: Arm, small: cst.AugAssign) -> None:
    """`x += v` where nothing else can see the tensor (or it is a number): `x = x + v`."""
    target = small.target
    value = site.value(target) if isinstance(target, cst.Name) else None
    number = value is not None and all(isinstance(m, Const | Plain) for m in members(value))
    if not isinstance(target, cst.Name) or not (number or is_fresh(site, target.value, site.statement(small))):
        raise Refusal(f"`{site.text(target)}` is changed in place in the branch, and others may hold the same tensor")
    operator = _OPERATORS.get(type(small.operator))
    if operator is None:
        raise Refusal(f"`{site.text(small)}` has no form without an effect in place")
    sum_of = cst.BinaryOperation(target, operator(), small.value)
    sign = site.text(small.operator).strip().removesuffix("=")
    arm.steps.append(Bind([target.value], Choice(f"{target.value} {sign} {site.operand(small.value)}", [sum_of])))
    arm.note(site, [small.value])


def _other(site: Site, small: cst.BaseSmallStatement) -> str:
    if isinstance(small, cst.Expr) and isinstance(small.value, cst.Call):
        return f"the branch calls `{site.text(small.value.func)}` for its effect"
    return f"the branch holds a statement (`{type(small).__name__.lower()}`) that is no assignment"


def _names(target: cst.BaseExpression) -> list[str]:
    if isinstance(target, cst.Name):
        return [target.value]
    if isinstance(target, cst.Tuple):
        names = [e.value.value for e in target.elements if isinstance(e.value, cst.Name)]
        if len(names) == len(target.elements):
            return names
    if isinstance(target, cst.Attribute):
        raise Refusal("the branch assigns to an attribute")
    raise Refusal("the branch assigns to a part of an object")


def calls_of(site: Site, nodes: Iterable[cst.CSTNode]) -> list[str]:
    """The functions called in expressions that are not known to be without effects, as text. Raises Refusal for one
    that surely has some, or draws a random number."""
    found = []
    for node in walk_all(list(nodes)):
        if isinstance(node, cst.Await | cst.Yield | cst.NamedExpr):
            raise Refusal("the branch holds an `await`, `yield` or `:=`")
        if not isinstance(node, cst.Call) or call_is_pure(site, node):
            continue
        name = site.callee(node)
        text = site.text(node.func)
        last = text.rpartition(".")[2]
        if _is_random(name or text):
            raise Refusal(f"the branch draws a random number (`{text}`)")
        if last in _EFFECTS or (last.endswith("_") and not last.endswith("__")):
            raise Refusal(f"`{text}` changes an object in the branch")
        if changes_state(site, [node]):
            raise Refusal(f"`{text}` changes what outlives the call, and would now do so always")
        found.append(text)
    return list(dict.fromkeys(found))


def _is_random(name: str) -> bool:
    """Whether the name of a function says that it draws random numbers."""
    last = name.rpartition(".")[2].removesuffix("_").removesuffix("_like")
    return last in _RANDOM or name.startswith(("random.", "numpy.random.")) or name.endswith("functional.dropout")


def check_effects(site: Site, lines: list[Statement]) -> None:
    """Raise Refusal where statements do more than assign to variables and return: raise, yield, delete, assign to
    attributes or parts of what others may hold, change tensors in place."""
    for node in walk_scope(list(lines)):
        if isinstance(node, cst.Raise | cst.Assert):
            raise Refusal("an error may be raised in what now always runs")
        if isinstance(node, cst.Yield | cst.Await | cst.Global | cst.Nonlocal | cst.Del | cst.NamedExpr):
            raise Refusal("there is a `yield`, `await`, `del` or `:=` in what now always runs")
        if isinstance(node, cst.Break | cst.Continue) and not _jumps_within(site, node, lines):
            raise Refusal("the branch jumps inside a loop")
        target = node.target if isinstance(node, cst.AssignTarget | cst.AnnAssign | cst.AugAssign) else None
        if isinstance(target, cst.Attribute):
            raise Refusal(f"`{site.text(target)}` is assigned in what now always runs")
        if isinstance(target, cst.Subscript) or (isinstance(node, cst.AugAssign) and isinstance(target, cst.Name)):
            base = target.value if isinstance(target, cst.Subscript) else target
            if not isinstance(base, cst.Name) or not _own(site, base.value, lines[0], node):
                raise Refusal(f"`{site.text(target)}` is changed in place in what now always runs")
        if isinstance(node, cst.Expr) and isinstance(node.value, cst.Call):
            raise Refusal(f"`{site.text(node.value.func)}` is called for its effect in what now always runs")


def _own(site: Site, name: str, first: Statement, node: cst.CSTNode) -> bool:
    """Whether what is changed in place is a number, or a tensor that statements have made themselves."""
    value = site.value(node.target) if isinstance(node, cst.AugAssign) else None
    if value is not None and all(isinstance(m, Const | Plain) for m in members(value)):
        return True
    stores = site.stores(name)
    made_here = bool(stores) and all(site.span(s)[0] >= site.span(first)[0] for s in stores)
    return made_here and name not in site.parameters() and is_fresh(site, name, site.statement(node))


def _jumps_within(site: Site, node: cst.CSTNode, lines: list[Statement]) -> bool:
    loop = site.loop(node)
    return loop is not None and any(n is loop for line in lines for n in walk(line))


def always_returns(line: Statement) -> bool:
    """Whether a statement never lets what follows it run: it returns or raises on all ways."""
    if isinstance(line, cst.SimpleStatementLine):
        return isinstance(line.body[-1], cst.Return | cst.Raise)
    if isinstance(line, cst.If) and line.orelse is not None:
        tail = line.orelse
        return _ends(line.body) and (always_returns(tail) if isinstance(tail, cst.If) else _ends(tail.body))
    return isinstance(line, cst.With) and _ends(line.body)


def _ends(suite: cst.BaseSuite) -> bool:
    last = suite.body[-1] if isinstance(suite, cst.IndentedBlock) and suite.body else None
    return isinstance(last, cst.SimpleStatementLine | cst.BaseCompoundStatement) and always_returns(last)


def comments(site: Site, first: Statement, last: Statement) -> str:
    """The comments inside consecutive statements, one a line at column 0; those for tools are left out."""
    top, bottom = site.span(first)[0], site.last_row(last)
    text = textwrap.dedent("\n".join(site.lines[top - 1 : bottom]) + "\n")
    if text.startswith(("elif", "else")):
        text = text[2:] if text.startswith("elif") else "if True:" + text.partition(":")[2]
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        raise Refusal("the comments in the branch cannot be kept") from None
    found = [t.string for t in tokens if t.type == tokenize.COMMENT]
    return "".join(f"{c}\n" for c in found if not c.lower().startswith(_PRAGMAS))


def kind_of(site: Site, node: cst.BaseExpression) -> str:
    """What an expression is to `torch.where`: "tensor", "number", "" for unknown. Raises Refusal for what surely is
    anything else."""
    value = site.value(node)
    if isinstance(node, cst.BaseNumber):
        return "number"
    if isinstance(node, cst.Name) and node.value == "None":  # where the analysis did not come by, too
        raise Refusal("`None` is None, which `torch.where` cannot choose")
    if value is None:
        return ""
    kinds, refusal = set(), None
    for member in members(value):
        try:
            kinds.add(_member_kind(site, node, member))
        except Refusal as found:
            refusal = found
    if refusal is not None and not kinds:
        raise refusal
    return kinds.pop() if len(kinds) == 1 and refusal is None else ""


def _member_kind(site: Site, node: cst.BaseExpression, value: object) -> str:
    if isinstance(value, Tensor):
        return "tensor"
    if isinstance(value, Const | Plain):
        constant = value.value if isinstance(value, Const) else None
        if isinstance(value, Const) and not isinstance(constant, int | float):
            raise Refusal(f"`{site.text(node)}` is {_describe(constant)}, which `torch.where` cannot choose")
        return "number"
    if type(value).__name__ in ("Unknown", "DataScalar"):
        return ""
    raise Refusal(f"`{site.text(node)}` is no tensor, so `torch.where` cannot choose it")


def _describe(constant: object) -> str:
    return "None" if constant is None else f"a {type(constant).__name__}"


def wrapped(head: str, arguments: list[str], tail: str, indent: str, width: int = WIDTH) -> str:
    """`head` + arguments + `tail` (brackets included in both) as black would break it; ends with a line end. `indent`
    is what the line will be moved to."""
    line = f"{head}{', '.join(arguments)}{tail}"
    if len(indent) + len(line) <= width:
        return line + "\n"
    inner = ", ".join(arguments)
    if len(indent) + 4 + len(inner) <= width:
        return f"{head}\n    {inner}\n{tail}\n"
    return f"{head}\n" + "".join(f"    {a},\n" for a in arguments) + f"{tail}\n"
