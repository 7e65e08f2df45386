"""Changes in place as steps of an arm: each is written so that it changes nothing on the other way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from gblint.fixing import forms
from gblint.fixing.arms import Arm, Choice, Write, arm_of, body_of, calls_of, kind_of
from gblint.fixing.purity import is_pure
from gblint.fixing.site import Refusal, Statement
from gblint.interpreter.values import Sequence, Stream
from gblint.interpreter.walk import base

if TYPE_CHECKING:
    from gblint.fixing.selecting import Selector
    from gblint.fixing.site import Site

# What an operation in place leaves as it is.
_NEUTRAL = {"mul": 1, "div": 1, "multiply": 1, "divide": 1, "add": 0, "sub": 0, "subtract": 0}
_AUGMENTED = {cst.AddAssign: "add", cst.SubtractAssign: "sub", cst.MultiplyAssign: "mul", cst.DivideAssign: "div"}
_SIGNS = {"add": "+=", "sub": "-=", "mul": "*=", "div": "/="}


@dataclass(slots=True)
class Operation(Write):
    """`t.mul_(v)` or `t *= v`."""

    target: cst.BaseExpression
    operation: str
    value: cst.BaseExpression
    method: str

    def text(self, selector: Selector, swap: bool) -> str:
        site = selector.site
        neutral = _NEUTRAL[self.operation]
        number = forms.number_type(site, self.value)
        literal = str(neutral) if number in ("int", "bool") else f"{neutral}.0"
        choice, other = Choice(site.flat(self.value), [self.value]), Choice(literal, [])
        pair = (other, choice) if swap else (choice, other)
        value = selector.plain(*pair)
        _note(selector, self, number)
        if self.method:
            return f"{site.flat(self.target)}.{self.method}({value})\n"
        return f"{site.flat(self.target)} {_SIGNS[self.operation]} {value}\n"


def _note(selector: Selector, write: Operation, number: str) -> None:
    """What keeps an operation with its neutral element from being nothing."""
    site = selector.site
    target, value = site.tensor(write.target), site.tensor(write.value)
    if (target is None or target.dtype != "float") and not _has_norm(site, write.target):
        selector.doubts.append(f"`{site.flat(write.target)}` must be a floating point tensor")
    if value is None or value.rank != 0 or value.dtype != "float":
        exact = number == "float" and isinstance(write.value, cst.Float) and write.value.evaluated_value % 0.125 == 0
        if not exact:
            selector.doubts.append(f"`{site.flat(write.value)}` must be one floating point number")
    if write.operation == "add":
        selector.doubts.append("adding zero turns -0.0 into 0.0")
    if not forms.without_gradients(site):
        selector.doubts.append("the tensor is written to on both ways, which autograd sees")
    if not _is_small(site, write.value):
        selector.run_always([write.value])


def _has_norm(site: Site, target: cst.BaseExpression) -> bool:
    """Whether a norm was taken before of all elements of the sequence that the target goes through: then they are
    floating point tensors."""
    loop = site.loop(target)
    if not isinstance(loop, cst.For) or not isinstance(target, cst.Name) or not isinstance(loop.iter, cst.Name):
        return False
    name = loop.iter.value
    same = isinstance(loop.target, cst.Name) and loop.target.value == target.value
    if not same or name not in site.parameters() or len(site.stores(name)) > 1:
        return False
    return any(_takes_norms(site, load) for load in site.loads(name) if _comes_first(site, load, loop))


def _comes_first(site: Site, load: cst.Name, loop: cst.For) -> bool:
    line = site.statement(load)
    return isinstance(line, cst.SimpleStatementLine) and site.parent(line) in list(site.ancestors(loop))


def _takes_norms(site: Site, load: cst.Name) -> bool:
    above = site.parent(load)
    comprehension = site.parent(above) if isinstance(above, cst.CompFor) and not above.ifs else None
    if not isinstance(comprehension, cst.ListComp) or not isinstance(above, cst.CompFor):
        return False
    name, args = forms.applied(site, comprehension.elt)
    return name in ("norm", "vector_norm") and site.text(args[0]) == site.text(above.target)


def _is_small(site: Site, node: cst.BaseExpression) -> bool:
    """Whether a number is computed from numbers and tensors without dimensions: no shapes that could clash."""
    parts = _leaves(node)
    known = all(forms.number_type(site, n) or getattr(site.tensor(n), "rank", None) == 0 for n in parts)
    return known and is_pure(site, [node]) and _divides_by_tensors(site, node)


def _leaves(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    if isinstance(node, cst.BinaryOperation):
        return [*_leaves(node.left), *_leaves(node.right)]
    if isinstance(node, cst.UnaryOperation):
        return _leaves(node.expression)
    return [node]


def _divides_by_tensors(site: Site, node: cst.BaseExpression) -> bool:
    """Whether every division is by a tensor (0 gives inf, no error) or a number that is not 0."""
    if isinstance(node, cst.UnaryOperation):
        return _divides_by_tensors(site, node.expression)
    if not isinstance(node, cst.BinaryOperation):
        return True
    if isinstance(node.operator, cst.Divide) and site.tensor(node.right) is None:
        if not isinstance(node.right, cst.Integer | cst.Float) or not node.right.evaluated_value:
            return False
    if not isinstance(node.operator, cst.Add | cst.Subtract | cst.Multiply | cst.Divide):
        return False
    return _divides_by_tensors(site, node.left) and _divides_by_tensors(site, node.right)


@dataclass(slots=True)
class Store(Write):
    """`t[i] = v`, `self.a = v`, `t.copy_(v)`, `t.relu_()`: the old contents stand in on the other way. head, tail: the
    text around the value; old: the text of the old contents."""

    head: str
    tail: str
    value: Choice
    old: Choice
    note: str

    def text(self, selector: Selector, swap: bool) -> str:
        pair = (self.old, self.value) if swap else (self.value, self.old)
        selector.doubts.append(self.note)
        return f"{self.head}{selector.plain(*pair)}{self.tail}\n"


@dataclass(slots=True)
class Loop(Write):
    """A loop over a Python sequence whose rounds only change things in place."""

    head: str
    arm: Arm
    note: str
    step: str

    def text(self, selector: Selector, swap: bool) -> str:
        if self.note:
            selector.doubts.append(self.note)
        inner = ""
        for step in self.arm.steps:
            if isinstance(step, Write):
                inner += step.text(selector, swap)
            else:
                inner += f"{', '.join(step.names)} = {step.value.text}\n"
                selector.run_always(step.value.leaves)
        return f"{self.head}\n" + "".join(f"{self.step}{line}" for line in inner.splitlines(keepends=True))


def write_of(site: Site, small: cst.BaseSmallStatement) -> Write | None:
    """A small statement as a change in place; None if it is none of those that can be undone by a value."""
    if isinstance(small, cst.AugAssign):
        return _augmented(site, small)
    if isinstance(small, cst.Assign) and len(small.targets) == 1:
        target = small.targets[0].target
        if isinstance(target, cst.Subscript | cst.Attribute):
            return _stored(site, target, small.value)
        return None
    if isinstance(small, cst.Expr) and isinstance(small.value, cst.Call):
        return _called(site, small.value)
    return None


def _augmented(site: Site, small: cst.AugAssign) -> Write | None:
    operation = _AUGMENTED.get(type(small.operator))
    if operation is None or site.tensor(small.target) is None or not is_pure(site, [small.target]):
        return None
    return Operation([], _base(small.target), small.target, operation, small.value, "")


def _stored(site: Site, target: cst.Subscript | cst.Attribute, value: cst.BaseExpression) -> Write | None:
    if not is_pure(site, [target]):
        raise Refusal(f"`{site.text(target)}` is computed with an effect")
    if isinstance(target, cst.Subscript) and site.tensor(target.value) is None:
        raise Refusal(f"`{site.text(target.value)}` is not known to be a tensor, and a part of it is assigned")
    text = site.flat(target)
    if isinstance(target, cst.Attribute):
        kind_of(site, target)
        if site.value(target) is None:
            raise Refusal(f"nothing is known of `{text}`, which the branch assigns")
    note = f"`{text}` is written on both ways"
    return Store([], _base(target), f"{text} = ", "", Choice(site.flat(value), [value]), Choice(text, [target]), note)


def _called(site: Site, call: cst.Call) -> Write | None:
    name = site.callee(call)
    if not name.startswith("torch.Tensor.") or not isinstance(call.func, cst.Attribute):
        return None
    method, receiver = call.func.attr.value, call.func.value
    if not method.endswith("_") or method.endswith("__") or not is_pure(site, [receiver]):
        return None
    positional = [a.value for a in call.args if a.keyword is None and not a.star]
    if len(positional) != len(call.args):
        raise Refusal(f"`{site.text(call.func)}` is called with keywords in the branch")
    base, text = _base(receiver), site.flat(receiver)
    if method[:-1] in _NEUTRAL and len(positional) == 1:
        return Operation([], base, receiver, method[:-1].replace("multiply", "mul"), positional[0], method)
    note = f"`{text}` is written on both ways"
    old = Choice(text, [receiver])
    if method in ("copy_", "fill_") and len(positional) == 1:
        new = Choice(site.flat(positional[0]), [positional[0]])
    elif method == "zero_":
        new = Choice("0", [])
    elif method.rstrip("_") in ("relu", "clamp", "neg", "abs", "sigmoid", "tanh", "exp", "masked_fill", "clamp_min"):
        arguments = ", ".join(site.flat(a) for a in positional)
        new = Choice(f"{text}.{method[:-1]}({arguments})", [])
    else:
        return None
    return Store([], base, f"{text}.copy_(", ")", new, old, note)


def loop_of(site: Site, loop: cst.For) -> Write:
    """A `for` statement as a step; raises Refusal unless it goes over a Python sequence and only changes in place."""
    if loop.orelse is not None or not is_pure(site, [loop.iter]):
        raise Refusal("a `for` with an `else`, or over something that is computed with an effect, stands in the branch")
    arm = arm_of(site, body_of(site, loop.body), True)
    if arm.ending is not None:
        raise Refusal("the loop in the branch is left early")
    writes = [s for s in arm.steps if isinstance(s, Write)]
    if not writes:
        raise Refusal("a `for` stands in the branch")
    value = site.value(loop.iter)
    sized = isinstance(value, Sequence) or (isinstance(value, Stream) and value.kind == "range")
    note = "" if sized else f"`{site.flat(loop.iter)}` is gone through on both ways"
    written = {n for w in writes for n in w.written}
    head = f"for {site.flat(loop.target)} in {site.flat(loop.iter)}:"
    return Loop([], written, head, arm, note, site.step)


def _base(node: cst.BaseExpression) -> set[str]:
    found = base(node)
    return {found.value} if isinstance(found, cst.Name) else set()


def statement_write(site: Site, line: Statement) -> Write | None:
    """A statement as a change in place; see `write_of` and `loop_of`."""
    if isinstance(line, cst.For):
        return loop_of(site, line)
    if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1:
        write = write_of(site, line.body[0])
        if write is not None:
            calls_of(site, _values(line.body[0]))
        return write
    return None


def _values(small: cst.BaseSmallStatement) -> list[cst.CSTNode]:
    if isinstance(small, cst.Assign | cst.AugAssign):
        return [small.value]
    if isinstance(small, cst.Expr) and isinstance(small.value, cst.Call):
        return [a.value for a in small.value.args]
    return []
