"""Truth tests as tensors: what `if a.any() and not b` is, written so that it stays in the graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst

from gblint.fixing.purity import changes_state, is_pure, raises_nothing
from gblint.fixing.site import Refusal
from gblint.interpreter.values import Const, DataScalar, Plain, Sequence, Tensor, Value, members, type_name
from gblint.interpreter.walk import walk

if TYPE_CHECKING:
    from gblint.findings.finding import Edit
    from gblint.fixing.site import Site

Holder = cst.If | cst.While | cst.IfExp | cst.Assert | cst.CompIf
_CLOSED = (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.BaseNumber, cst.BaseString, cst.List, cst.Dict)
_COMPARES = (cst.LessThan, cst.LessThanEqual, cst.GreaterThan, cst.GreaterThanEqual, cst.Equal, cst.NotEqual)


@dataclass(slots=True)
class Condition:
    """A test, taken apart.

    python: the facts that Python settles while tracing ("self.training and x is not None"), "" for none; they come
    before everything else. tensor: the rest as the text of a boolean tensor with one element. closed: whether `tensor`
    needs no parentheses. doubts: why it is not proved to be the same test. imports: edits that `tensor` needs.
    nodes: the expressions it was made of. random: it draws a random number.
    """

    python: str
    tensor: str
    closed: bool
    doubts: list[str] = field(default_factory=list)
    imports: list[Edit] = field(default_factory=list)
    nodes: list[cst.BaseExpression] = field(default_factory=list)

    @property
    def operand(self) -> str:
        """The tensor's text, fit to stand next to an operator."""
        return self.tensor if self.closed else f"({self.tensor})"


def tested(site: Site) -> tuple[cst.CSTNode | None, cst.BaseExpression]:
    """The statement or expression whose test the site's node is part of (None where `and` or `or` makes a value), and
    the whole test."""
    node = site.node
    if not isinstance(node, cst.BaseExpression):
        raise Refusal("the test is no expression")
    above = site.parent(node)
    while isinstance(
        above, cst.BooleanOperation | cst.UnaryOperation | cst.Comparison | cst.ComparisonTarget | cst.Arg
    ):
        if isinstance(above, cst.UnaryOperation) and not isinstance(above.operator, cst.Not):
            break
        if isinstance(above, cst.Comparison | cst.ComparisonTarget) and _is_told_apart(site, node, above):
            break
        if isinstance(above, cst.Arg):
            call = site.parent(above)
            if not (isinstance(call, cst.Call) and site.callee(call) in ("builtins.bool", "bool")):
                break
            above = call
        if isinstance(above, cst.BaseExpression):
            node = above
        above = site.parent(above)
    if isinstance(above, cst.If | cst.While | cst.IfExp | cst.Assert | cst.CompIf) and above.test is node:
        return above, node
    return None, node


def _is_told_apart(site: Site, node: cst.CSTNode, above: cst.CSTNode) -> bool:
    """Whether a comparison asks for more than the truth of a value: which object it is, or which of its operands an
    `and` or `or` has given."""
    whole = above if isinstance(above, cst.Comparison) else site.parent(above)
    assert isinstance(whole, cst.Comparison)
    by_identity = any(isinstance(t.operator, cst.Is | cst.IsNot) for t in whole.comparisons)
    return by_identity or isinstance(node, cst.BooleanOperation)


def is_tensor_test(site: Site, node: cst.CSTNode) -> bool:
    """Whether the truth of an expression depends on the contents of a tensor."""
    value = site.value(node)
    if value is not None:
        if any(isinstance(m, Tensor | DataScalar) for m in members(value)):
            return True
        if isinstance(value, Const):
            return False
    if isinstance(node, cst.BooleanOperation):
        return is_tensor_test(site, node.left) or is_tensor_test(site, node.right)
    if isinstance(node, cst.UnaryOperation):
        return is_tensor_test(site, node.expression)
    if isinstance(node, cst.Comparison):
        if any(isinstance(t.operator, cst.Is | cst.IsNot) for t in node.comparisons):
            return False
        return is_tensor_test(site, node.left) or any(is_tensor_test(site, t.comparator) for t in node.comparisons)
    if isinstance(node, cst.Call):
        gathered = quantified(site, node)
        if gathered is not None:
            return is_tensor_test(site, gathered[1].elt)
        return _is_read(site, node) or (value is None and _looks_like_test(node))
    return False


def quantified(site: Site, node: cst.CSTNode) -> tuple[str, cst.ListComp | cst.GeneratorExp] | None:
    """Builtin `any(… for …)` and `all(… for …)` as (name, comprehension); None for anything else."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Name) or len(node.args) != 1:
        return None
    name, argument = node.func.value, node.args[0].value
    if name not in ("any", "all") or site.binds(name) or not isinstance(argument, cst.ListComp | cst.GeneratorExp):
        return None
    return name, argument


def _looks_like_test(node: cst.Call) -> bool:
    return isinstance(node.func, cst.Attribute) and node.func.attr.value in ("any", "all")


def _is_read(site: Site, node: cst.CSTNode) -> bool:
    """Whether a call turns a tensor into a Python number (`t.item()`, `bool(t)`)."""
    inner = unread(site, node)
    return inner is not node and is_tensor_test(site, inner)


def _asks_all(node: cst.BaseExpression) -> bool:
    """Whether a call is `t.any()` or `t.all()` over all dimensions."""
    return isinstance(node, cst.Call) and _looks_like_test(node) and not node.args


def unread(site: Site, node: cst.CSTNode) -> cst.CSTNode:
    """The tensor that `.item()`, `bool()`, `float()` or `int()` reads; the node itself where it is no such call."""
    if not isinstance(node, cst.Call):
        return node
    if isinstance(node.func, cst.Attribute) and node.func.attr.value == "item" and not node.args:
        return node.func.value
    name = node.func.value if isinstance(node.func, cst.Name) else ""
    if name in ("bool", "float") and len(node.args) == 1 and node.args[0].keyword is None and not site.binds(name):
        return node.args[0].value
    return node


def condition(site: Site, test: cst.BaseExpression) -> Condition:
    """A test taken apart. Raises Refusal where it cannot be written as a tensor."""
    parts = conjuncts(test)
    python = [p for p in parts if not is_tensor_test(site, p)]
    tensor = [p for p in parts if is_tensor_test(site, p)]
    if not tensor:
        raise Refusal("no part of the test is known to be a tensor")
    writer = _Writer(site)
    first = parts.index(tensor[0])
    late = [p for p in python if parts.index(p) > first]
    if late and not is_pure(site, parts):
        raise Refusal("a part of the test may have an effect, so its parts cannot change places")
    if any(not raises_nothing(site, p) for p in late):
        writer.doubts.append("an error in a part of the test that was skipped would now be raised")
    texts = [writer.write(p) for p in tensor]
    if len(texts) > 1:
        _check_state(site, tensor[1:])
        text, closed = " & ".join(t if c else f"({t})" for t, c in texts), False
        if not all(_is_total(site, p) for p in tensor[1:]):
            writer.doubts.append("every part of the test is now computed")
    else:
        text, closed = texts[0]
    plain = " and ".join(_wrapped(site, p, len(python) > 1) for p in python)
    return Condition(plain, text, closed, writer.doubts, writer.imports, list(parts))


def _check_state(site: Site, skipped: list[cst.BaseExpression]) -> None:
    """Refuse where a part of a test that may have been skipped changes what others see."""
    if changes_state(site, skipped):
        raise Refusal("a part of the test changes what outlives it, and would now always be computed")


def _wrapped(site: Site, node: cst.BaseExpression, several: bool) -> str:
    text = site.flat(node)
    loose = isinstance(node, cst.BooleanOperation | cst.IfExp) and several and not node.lpar
    return f"({text})" if loose else text


def conjuncts(test: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The parts of an `and`, nested ones included; otherwise the test itself."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        return [*conjuncts(test.left), *conjuncts(test.right)]
    return [test]


def _is_total(site: Site, node: cst.BaseExpression) -> bool:
    """Whether a test of tensors raises nothing, as far as its form tells."""
    calls = [n for n in walk(node) if isinstance(n, cst.Call)]
    names = {site.callee(c).rpartition(".")[2] for c in calls}
    return names <= {"any", "all", "isnan", "isinf", "isfinite", "sum", "abs", "logical_not"} and is_pure(site, [node])


class _Writer:
    """Writes tests as tensors; gathers doubts and imports."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.doubts: list[str] = []
        self.imports: list[Edit] = []

    def write(self, node: cst.BaseExpression) -> tuple[str, bool]:
        """A test as (text of a boolean tensor with one element, whether it is closed)."""
        text, closed, value = self._boolean(node)
        if value == "one":
            return text, closed
        self.doubts.append("a test of several elements would no longer be an error")
        return f"{text if closed else f'({text})'}.any()", True

    def _operand(self, node: cst.BaseExpression) -> str:
        if not is_tensor_test(self.site, node):
            return self._fact(node)
        text, closed = self.write(node)
        return text if closed else f"({text})"

    def _fact(self, node: cst.BaseExpression) -> str:
        """A Python fact beside tensors: `&` and `|` take a bool, nothing else."""
        value = self.site.value(node)
        is_bool = value is not None and all(type_name(m) == "bool" for m in members(value))
        text = self.site.flat(node)
        if is_bool or isinstance(node, cst.Comparison) or _is_not(node):
            return text if isinstance(node, _CLOSED) or node.lpar else f"({text})"
        return f"bool({text})"

    def _boolean(self, node: cst.BaseExpression) -> tuple[str, bool, str]:
        site = self.site
        inner = unread(site, node)
        if inner is not node and isinstance(inner, cst.BaseExpression):
            return self._boolean(inner)
        if isinstance(node, cst.BooleanOperation):
            sign = " & " if isinstance(node.operator, cst.And) else " | "
            sides = [node.left, node.right]
            self._note_sides(node)
            if not is_tensor_test(site, sides[0]):
                sides.reverse()
            return sign.join(self._operand(s) for s in sides), False, "one"
        if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
            return f"~{self._operand(node.expression)}", False, "one"
        if isinstance(node, cst.Comparison):
            return self._comparison(node)
        gathered = quantified(site, node)
        if gathered is not None:
            return self._gathered(*gathered), True, "one"
        return self._leaf(node)

    def _gathered(self, name: str, tests: cst.ListComp | cst.GeneratorExp) -> str:
        """`all(… for …)` over tensors, which stops at the first that is false."""
        site = self.site
        if not is_pure(site, [tests]):
            raise Refusal(f"`{name}` stops early, and a test may have an effect")
        stack, edits = site.refer("torch.stack")
        self.imports += edits
        self.doubts.append(f"`{name}` of nothing would be an error, and all tests are computed")
        text = f"{site.flat(tests.elt)} {site.flat(tests.for_in).strip()}"
        return f"{stack}([{text}]).{name}()"

    def _note_sides(self, node: cst.BooleanOperation) -> None:
        _check_state(self.site, [node.right])
        if not is_pure(self.site, [node.left, node.right]):
            self.doubts.append("both sides of the test are now evaluated")
        elif not _is_total(self.site, node.right):
            self.doubts.append("every part of the test is now computed")

    def _comparison(self, node: cst.Comparison) -> tuple[str, bool, str]:
        site = self.site
        left, texts = node.left, []
        for target in node.comparisons:
            right = target.comparator
            if isinstance(target.operator, cst.In):
                texts.append(self._membership(left, right))
            elif isinstance(target.operator, _COMPARES):
                sign = _SIGNS[type(target.operator)]
                texts.append(f"{self._side(left)} {sign} {self._side(right)}")
            else:
                raise Refusal("the comparison in the test has no tensor form")
            left = right
        if len(texts) > 1 and not is_pure(site, [node]):
            raise Refusal("a part of the chained comparison may have an effect")
        value = self._size(node)
        if any(isinstance(t.operator, cst.In) for t in node.comparisons):
            value = "one" if all(self._is_scalar(s) for s in _searched(node)) else ""
        if self._is_drawn(node):
            name, edits = site.refer("torch.as_tensor")
            self.imports += edits
            return f"{name}({' and '.join(texts)})", True, "one"
        if len(texts) == 1:
            return texts[0], False, value
        joined = [f"({t})" if value == "one" else f"({t}).any()" for t in texts]
        return " & ".join(joined), False, "one"

    def _side(self, node: cst.BaseExpression) -> str:
        """One side of a comparison; a number that is read from a tensor becomes the tensor again."""
        inner = unread(self.site, node)
        value = self.site.value(node)
        if value is not None and any(isinstance(m, DataScalar) for m in members(value)):
            if inner is node:
                name, edits = self.site.refer("torch.tensor")
                self.imports += edits
                self.doubts.append("the number is compared as float32")
                return f"{name}({self.site.flat(node)})"
        if inner is not node and isinstance(inner, cst.BaseExpression) and self._has_tensor(inner):
            self.doubts.append("the value is compared in its own dtype, not as a Python number")
            node = inner
        text = self.site.flat(node)
        loose = isinstance(node, cst.Comparison | cst.BooleanOperation | cst.IfExp | cst.UnaryOperation)
        return f"({text})" if loose and not node.lpar and not isinstance(node, cst.UnaryOperation) else text

    def _has_tensor(self, node: cst.CSTNode) -> bool:
        value = self.site.value(node)
        return value is not None and any(isinstance(m, Tensor) for m in members(value))

    def _is_drawn(self, node: cst.Comparison) -> bool:
        sides = [node.left, *(t.comparator for t in node.comparisons)]
        values = [m for s in sides if (v := self.site.value(s)) is not None for m in members(v)]
        if any(isinstance(m, Tensor) and m.subclass == "ndarray" for m in values):
            raise Refusal("the test is of a NumPy array, whose elements are Python numbers outside the graph")
        return any(isinstance(m, Tensor) and m.subclass == "random" for m in values)

    def _membership(self, left: cst.BaseExpression, right: cst.BaseExpression) -> str:
        site = self.site
        if not self._has_tensor(left):
            raise Refusal("a Python value is searched for in a tensor")
        if isinstance(right, cst.List | cst.Tuple):
            items = [e.value for e in right.elements]
            if not items or any(isinstance(e, cst.StarredElement) for e in right.elements):
                raise Refusal("the elements that are searched are not all in view")
            if not is_pure(site, [left, *items]):
                raise Refusal("an element that is searched may have an effect")
            if not all(self._is_scalar(i) for i in (left, *items)) or getattr(site.tensor(left), "dtype", "") != "int":
                self.doubts.append("a tensor that is found by identity is now compared by its contents")
            texts = [f"{site.operand(left)} == {site.operand(i)}" for i in items]
            return texts[0] if len(texts) == 1 else " | ".join(f"({t})" for t in texts)
        value = site.value(right)
        numbers = isinstance(value, Sequence) and all(_is_number(m) for m in members(value.element()))
        if not numbers:
            raise Refusal("what is searched is not known to hold numbers only")
        if getattr(site.tensor(left), "dtype", "") not in ("int", "float"):
            self.doubts.append(f"`{site.flat(left)}` must be no truth value, which `torch.isin` does not take")
        isin, edits = site.refer("torch.isin")
        tensor, more = site.refer("torch.tensor")
        self.imports += [*edits, *more]
        base = site.operand(left)
        return f"{isin}({site.flat(left)}, {tensor}({site.flat(right)}, device={base}.device))"

    def _leaf(self, node: cst.BaseExpression) -> tuple[str, bool, str]:
        text = self.site.flat(node)
        closed = isinstance(node, _CLOSED) or bool(node.lpar)
        tensor = self.site.tensor(node)
        self._is_plain_tensor(node)
        one = "one" if (tensor is not None and tensor.rank == 0) or _asks_all(node) else ""
        if tensor is not None and tensor.dtype == "bool":
            return text, closed, one
        if tensor is None and isinstance(node, cst.Call) and _looks_like_test(node):
            return text, closed, "one"
        if tensor is None:
            self.doubts.append(f"`{text}` is taken to be a tensor")
        return f"{text if closed else f'({text})'} != 0", False, one

    def _is_plain_tensor(self, node: cst.BaseExpression) -> None:
        value: Value | None = self.site.value(node)
        for member in members(value) if value is not None else ():
            if isinstance(member, Tensor) and member.subclass == "ndarray":
                raise Refusal("the test is of a NumPy array, whose elements are Python numbers outside the graph")
            if isinstance(member, DataScalar):
                raise Refusal("the test is of a number that was read from a tensor")
            if isinstance(member, Const | Plain):
                raise Refusal(f"`{self.site.flat(node)}` is a Python value on some ways")
            if not isinstance(member, Tensor):
                self.doubts.append(f"`{self.site.flat(node)}` may be something else than a tensor")
                return

    def _size(self, node: cst.BaseExpression) -> str:
        """ "one" if an expression is known to be a tensor without dimensions."""
        value = self.site.value(node)
        if value is None and isinstance(node, cst.Comparison):
            sides = [node.left, *(t.comparator for t in node.comparisons)]
            return "one" if all(self._is_scalar(s) for s in sides) else ""
        parts = members(value) if value is not None else ()
        return "one" if parts and all(isinstance(p, Tensor) and p.rank == 0 for p in parts) else ""

    def _is_scalar(self, node: cst.BaseExpression) -> bool:
        inner = unread(self.site, node)
        if isinstance(inner, cst.BaseNumber) or (inner is not node and isinstance(self.site.value(node), Plain)):
            return True
        value = self.site.value(inner)
        parts = members(value) if value is not None else ()
        return bool(parts) and all(
            isinstance(p, Const | Plain | DataScalar) or (isinstance(p, Tensor) and p.rank == 0) for p in parts
        )


def _searched(node: cst.Comparison) -> list[cst.BaseExpression]:
    """What a membership test compares: the left side and the elements that are written out."""
    found = [node.left]
    for target in node.comparisons:
        side = target.comparator
        found += [e.value for e in side.elements] if isinstance(side, cst.List | cst.Tuple) else []
    return found


def _is_number(value: Value) -> bool:
    return isinstance(value, Const | Plain) and type_name(value) in ("int", "float", "bool")


def _is_not(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not)


_SIGNS = {
    cst.LessThan: "<", cst.LessThanEqual: "<=", cst.GreaterThan: ">", cst.GreaterThanEqual: ">=",
    cst.Equal: "==", cst.NotEqual: "!=",
}  # fmt: skip
