"""Truth: what a condition is worth, what it teaches about names on either side, and the branch events it causes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import libcst as cst

from gblint.interpreter import failures, ranks, tensors
from gblint.interpreter.events import Branch, Compare, Operator
from gblint.interpreter.frame import Frame
from gblint.interpreter.values import (
    Bound,
    Class,
    Compiled,
    Const,
    DataScalar,
    External,
    Function,
    Instance,
    Mapping,
    Partial,
    Plain,
    PyModule,
    Sequence,
    Tensor,
    Union,
    Unknown,
    Value,
    as_tensor,
    is_none,
    join,
    members,
    type_name,
    union_of,
)
from gblint.interpreter.versions import Release

if TYPE_CHECKING:
    from gblint.interpreter.machine import Machine

T = TypeVar("T")
COMPARISON = "comparison of unknown values"
Facts = dict[str, Value]


class Test:
    """Outcome of a condition. truth: known or None; then, other: what each side teaches, by name or dotted path;
    value: the value of the expression; off: it is false by default."""

    __slots__ = ("off", "other", "then", "truth", "value")

    def __init__(
        self, truth: bool | None, then: Facts | None = None, other: Facts | None = None, value: Value | None = None
    ) -> None:
        self.truth = truth
        self.then = then or {}
        self.other = other or {}
        self.value = value if value is not None else (Plain("bool") if truth is None else Const(truth))
        self.off = _is_off(self.value)


def _is_off(value: Value) -> bool:
    if value.__class__ is Union:
        return any(member.__class__ is Plain and member.off for member in value.members)
    return value.__class__ is Plain and value.off


def truth(machine: Machine, value: Value) -> bool | None:
    """The truth of a value if it is certain."""
    if isinstance(value, Const):
        return bool(value.value)
    if isinstance(value, Sequence):
        return bool(value.items) if value.items is not None else None
    if isinstance(value, Mapping):
        return True if value.items else (False if value.exact and value.elem is None else None)
    if isinstance(value, (Function, Bound, Class, Partial, PyModule, Compiled)):
        return True
    if isinstance(value, Instance):
        from gblint.interpreter import classes

        return classes.truth_of(machine, value)
    if isinstance(value, Union):
        found = {truth(machine, m) for m in value.members}
        return found.pop() if len(found) == 1 else None
    return None


def under(machine: Machine, frame: Frame, facts: Facts, action: Callable[[], T]) -> T:
    """Do something while facts hold, and forget them after (assignments made meanwhile stay)."""
    if not facts:
        return action()
    saved_facts = dict(frame.facts)
    saved = {name: frame.env.names.get(name) for name in facts if "." not in name}
    learn(frame, facts)
    during = {name: frame.env.names.get(name) for name in saved}
    try:
        return action()
    finally:
        frame.facts = saved_facts
        for name, old in saved.items():
            if frame.env.names.get(name) is during[name]:
                if old is None:
                    frame.env.names.pop(name, None)
                else:
                    frame.env.names[name] = old


def learn(frame: Frame, facts: Facts) -> None:
    """Make facts hold from here on."""
    for name, value in facts.items():
        if "." in name:
            frame.facts[name] = value
        else:
            frame.env.names[name] = value


def test(machine: Machine, frame: Frame, node: cst.BaseExpression, kind: str, plain_message: bool = True) -> Test:
    """Evaluate a condition where its truth decides (kind as in `Branch`)."""
    if type(node) is cst.UnaryOperation and type(node.operator) is cst.Not:
        # An assert on `not x` jumps the other way round, which Dynamo does not take for an assert.
        inner = test(machine, frame, node.expression, {"value": "not", "assert": "if"}.get(kind, kind), plain_message)
        known = None if inner.truth is None else not inner.truth
        return Test(known, inner.other, inner.then)
    if type(node) is cst.BooleanOperation:
        return _boolean_test(machine, frame, node, kind, plain_message)
    if type(node) is cst.Comparison:
        result = comparison(machine, frame, node)
        _branch(machine, frame, node, kind, result.value, plain_message)
        return result
    from gblint.interpreter.expressions import evaluate

    value = evaluate(machine, frame, node)
    call_facts = _call_facts(machine, frame, node, value)
    _branch(machine, frame, node, kind, value, plain_message)
    known = truth(machine, value)
    if call_facts is not None:
        then, other = call_facts
        if known is None and bool(then) != bool(other):
            known = bool(then)  # nothing that it may be is on the other side
        return Test(known, then, other, value)
    then, other = _truthiness_facts(machine, frame, node, value)
    return Test(known, then, other, value)


_TELLING = (Tensor, Union, DataScalar, Instance, Unknown)


def _branch(
    machine: Machine, frame: Frame, node: cst.BaseExpression, kind: str, value: Value, plain_message: bool
) -> None:
    if frame.traced and isinstance(value, _TELLING):
        machine.emit(frame, "branch", Branch(node, kind, value, plain_message))


def _target(node: cst.BaseExpression) -> str:
    from gblint.interpreter.expressions import dotted_path

    if type(node) is cst.NamedExpr:
        node = node.target
    return dotted_path(node)


def _known_falsy(value: Value) -> bool:
    return (isinstance(value, Const) and not value.value) or (isinstance(value, Sequence) and value.items == [])


def _truthiness_facts(machine: Machine, frame: Frame, node: cst.BaseExpression, value: Value) -> tuple[Facts, Facts]:
    name = _target(node)
    if not name:
        return {}, {}
    if isinstance(value, Plain) and value.type == "bool":
        return {name: Const(True)}, {name: Const(False)}
    if not isinstance(value, Union):
        return {}, {}
    yes = union_of(m for m in value.members if not _known_falsy(m))
    no = union_of(m for m in value.members if truth(machine, m) is not True)
    return ({name: yes} if yes is not None else {}), ({name: no} if no is not None else {})


def _boolean_test(machine: Machine, frame: Frame, node: cst.BooleanOperation, kind: str, plain_message: bool) -> Test:
    is_and = isinstance(node.operator, cst.And)
    inner_kind = ("and" if is_and else "or") if kind in ("value",) else kind
    first_kind = (
        ("and" if is_and else "or") if kind == "assert" else inner_kind
    )  # only the last test is the assert's own
    left = test(machine, frame, node.left, first_kind, plain_message)
    if left.truth is (not is_and):
        return left
    carry = left.then if is_and else left.other
    right = _second(machine, frame, left, is_and, lambda: test(machine, frame, node.right, inner_kind, plain_message))
    if right.truth is False and is_and and frame.traced:
        failures.note_unfilled(machine, frame, left.then, node.right)
    if left.truth is is_and:
        return right
    decided = {**carry, **(right.then if is_and else right.other)}
    known: bool | None = (not is_and) if right.truth is (not is_and) else None
    # The undecided side: if the other operand is certain not to decide, this one did.
    open_side = _undecided(left, right, is_and)
    if not is_and:
        return Test(known, open_side, decided)
    both = Test(known, decided, open_side)
    both.off = left.off or right.off
    return both


def _second(machine: Machine, frame: Frame, left: Test, is_and: bool, action: Callable[[], T]) -> T:
    """What `action` gives for the second operand, which is evaluated only where the first does not decide."""
    guarded = left.truth is None
    unlikely = guarded and is_and and left.off
    frame.guards += guarded
    frame.inline += guarded
    frame.unlikely += unlikely
    try:
        return under(machine, frame, left.then if is_and else left.other, action)
    finally:
        frame.guards -= guarded
        frame.inline -= guarded
        frame.unlikely -= unlikely


def _undecided(left: Test, right: Test, is_and: bool) -> Facts:
    if right.truth is is_and:
        return left.other if is_and else left.then
    if left.truth is is_and:
        return right.other if is_and else right.then
    return {}


def boolean_value(machine: Machine, frame: Frame, node: cst.BooleanOperation) -> Value:
    """The value of `a and b` / `a or b` where it is used as a value."""
    from gblint.interpreter.expressions import evaluate

    is_and = isinstance(node.operator, cst.And)
    left = test(machine, frame, node.left, "and" if is_and else "or")
    if left.truth is (not is_and):
        return left.value
    right = _second(machine, frame, left, is_and, lambda: evaluate(machine, frame, node.right))
    if left.truth is is_and:
        return right
    kept = union_of(m for m in members(left.value) if truth(machine, m) is not is_and)
    if kept is None:
        return right
    return (_opened(right) if isinstance(kept, Unknown) and not is_and else None) or join(kept, right)


def _opened(default: Value) -> Value | None:
    """`found or {}`: a container like its empty default, of whose contents nothing is known; None for others."""
    if isinstance(default, Mapping) and not default.items and default.elem is None:
        return Mapping({}, Unknown("value"), False, default.kind, default.factory)
    if isinstance(default, Sequence) and default.items == []:
        return Sequence(default.kind, None, Unknown("element"))
    return None


# -- comparisons --------------------------------------------------------------------------------------------------

_ORDER = {
    cst.LessThan: "<",
    cst.GreaterThan: ">",
    cst.LessThanEqual: "<=",
    cst.GreaterThanEqual: ">=",
    cst.Equal: "==",
    cst.NotEqual: "!=",
}


def comparison(machine: Machine, frame: Frame, node: cst.Comparison) -> Test:
    """The outcome of a comparison (chains: the last link stands for the value, a chain branches on each but the
    last)."""
    from gblint.interpreter.expressions import evaluate

    left_node, left = node.left, evaluate(machine, frame, node.left)
    results: list[Test] = []
    for position, target in enumerate(node.comparisons):
        right = evaluate(machine, frame, target.comparator)
        results.append(_compare(machine, frame, node, left_node, left, target.operator, target.comparator, right))
        if position < len(node.comparisons) - 1:
            _branch(machine, frame, node, "and", results[-1].value, True)
        left_node, left = target.comparator, right
    if len(results) == 1:
        return results[0]
    known = (
        False if any(r.truth is False for r in results) else (True if all(r.truth is True for r in results) else None)
    )
    then = {k: v for r in results for k, v in r.then.items()}
    tensor = next((r.value for r in results if as_tensor(r.value) is not None), None)
    return Test(known, then, {}, tensor)


def _compare(
    machine: Machine,
    frame: Frame,
    node: cst.Comparison,
    left_node: cst.BaseExpression,
    left: Value,
    operator: cst.BaseCompOp,
    right_node: cst.BaseExpression,
    right: Value,
) -> Test:
    kind = operator.__class__
    if kind is cst.Is or kind is cst.IsNot:
        return _identity(machine, frame, left_node, left, right, kind is cst.IsNot)
    if kind is cst.In or kind is cst.NotIn:
        return _membership(machine, frame, node, left_node, left, right, kind is cst.NotIn)
    return _ordered(machine, frame, node, left_node, left, _ORDER[kind], right)


def _identity(
    machine: Machine, frame: Frame, node: cst.BaseExpression, left: Value, right: Value, negate: bool
) -> Test:
    name = _target(node)
    if not (isinstance(right, Const) and (right.value is None or isinstance(right.value, bool))):
        return Test(None)
    same = [m for m in members(left) if isinstance(m, Unknown) or _may_be(m, right)]
    other = [m for m in members(left) if not (isinstance(m, Const) and m.value is right.value)]
    known: bool | None = None
    if not same:
        known = False
    elif not other:
        known = True
    yes: Facts = {name: right} if name else {}
    rest = union_of(other)
    no: Facts = {name: rest} if name and rest is not None else {}
    return Test(None if known is None else not known, no, yes) if negate else Test(known, yes, no)


def _may_be(value: Value, const: Const) -> bool:
    if isinstance(value, Const):
        return value.value is const.value
    if isinstance(value, Plain):
        return value.type in ("", "bool") if isinstance(const.value, bool) else value.type == ""
    return False


def _membership(
    machine: Machine,
    frame: Frame,
    node: cst.Comparison,
    left_node: cst.BaseExpression,
    left: Value,
    right: Value,
    negate: bool,
) -> Test:
    if machine.listens(frame, "compare"):
        answer = machine.emit(frame, "compare", Compare(node, "not in" if negate else "in", left, right))
        if answer is not None:
            return Test(None)
    known = _contains(left, right)
    if known is None:
        return Test(None)
    return Test(known is not negate)


def _contains(left: Value, right: Value) -> bool | None:
    if isinstance(right, Sequence) and right.kind == "tuple" and right.items == []:
        return False
    if not isinstance(left, Const):
        return None
    if isinstance(right, Mapping):
        if left.value in right.items:
            return True
        return False if right.exact and right.elem is None else None
    if isinstance(right, Sequence) and right.items is not None and all(isinstance(i, Const) for i in right.items):
        return any(i.value == left.value for i in right.items if isinstance(i, Const))
    if isinstance(right, Const) and isinstance(right.value, str) and isinstance(left.value, str):
        return left.value in right.value
    return None


RARE_DEVICES = {"mps", "xpu", "hpu", "npu", "xla", "tpu"}
HALF = {"torch.float16", "torch.bfloat16", "torch.half", "torch.float8_e4m3fn", "torch.float8_e5m2"}


def _ordered(
    machine: Machine,
    frame: Frame,
    node: cst.Comparison,
    left_node: cst.BaseExpression,
    left: Value,
    symbol: str,
    right: Value,
) -> Test:
    if as_tensor(left) is not None or as_tensor(right) is not None:
        if not (symbol in ("==", "!=") and (is_none(right) or type_name(right) == "str")):
            return Test(None, value=tensors.compare(machine, frame, symbol, left, right, node))
    if _has_own_order(left) or _has_own_order(right):
        if machine.listens(frame, "operator"):
            machine.emit(frame, "operator", Operator(node, symbol, left, right))
        found = _own_comparison(machine, frame, symbol, left, right, node)
        if found is not None:
            return Test(None, value=found)
    known = _order_known(left, symbol, right)
    if known is not None:
        return Test(known)
    if isinstance(left, Plain) and left.type == "dtype" and isinstance(right, External):
        if machine.knowledge.canonical(right.dotted) in HALF:  # inputs are float32 unless somebody says otherwise
            return Test(symbol == "!=")
    if isinstance(left_node, cst.Attribute) and left_node.attr.value == "type" and symbol in ("==", "!="):
        if isinstance(right, Const) and right.value in RARE_DEVICES:  # nor are they elsewhere
            return Test(symbol == "!=")
    if isinstance(left, Class | External) and isinstance(right, Class | External) and symbol in ("==", "!="):
        return (
            Test((left is right) is (symbol == "=="))
            if isinstance(left, Class) and isinstance(right, Class)
            else Test(None)
        )
    if isinstance(left, DataScalar) or isinstance(right, DataScalar):
        return Test(None, value=DataScalar("bool"))
    if (
        isinstance(left, Unknown)
        and isinstance(right, Const | Unknown | Plain)
        and not is_none(right)
        and type_name(right) not in ("str", "bool")
    ):
        return Test(None, value=Unknown(COMPARISON))
    counted = ranks.measured(left_node)
    if counted and isinstance(right, Const) and isinstance(right.value, int) and symbol in ("==", "!="):
        ranked = ranks.with_rank(frame.env.names.get(counted), right.value)
        learnt: Facts = {counted: ranked} if ranked is not None else {}
        return Test(None, learnt) if symbol == "==" else Test(None, {}, learnt)
    if not (isinstance(left, Plain) and isinstance(right, Const) and symbol in ("==", "!=")):
        return Test(None)
    name = _target(left_node)
    fact: Facts = {name: right} if name else {}
    if symbol == "!=":
        return Test(None, {}, fact)
    return Test(None, fact, value=Plain("bool", off=left.symbolic))  # a size is seldom just this number


def _has_own_order(value: Value) -> bool:
    """True for values whose comparison rules may want to see: addresses, library objects, objects of classes."""
    return (isinstance(value, Plain) and value.type == "data_ptr") or isinstance(value, External | Instance)


def _own_comparison(
    machine: Machine, frame: Frame, symbol: str, left: Value, right: Value, node: cst.CSTNode
) -> Value | None:
    """The value of a comparison that the class of the left object defines."""
    from gblint.interpreter import classes

    name = {"==": "__eq__", "!=": "__ne__", "<": "__lt__", ">": "__gt__", "<=": "__le__", ">=": "__ge__"}[symbol]
    method = (
        classes.class_attr(machine, left.cls, name) if isinstance(left, Instance) and left.cls is not None else None
    )
    return machine.call(frame, method, [left, right], {}, node) if isinstance(method, Function) else None


def _order_known(left: Value, symbol: str, right: Value) -> bool | None:
    """How two values compare that are known well enough to tell."""
    if isinstance(left, Const) and isinstance(right, Const):
        return _order_constants(left.value, symbol, right.value)
    if isinstance(right, Sequence) and right.kind == "tuple":
        if isinstance(left, Sequence) and left.kind == "tuple":
            return _order_tuples(left, symbol, right)
        if isinstance(left, Const) and isinstance(left.value, Release):
            numbers = _constants(right)
            return _order_constants(left.value, symbol, numbers) if numbers is not None else None
    return symbol == "!=" if symbol in ("==", "!=") and _number_and_text(left, right) else None


def _constants(value: Sequence) -> tuple[object, ...] | None:
    if value.items is None or not all(isinstance(item, Const) for item in value.items):
        return None
    return tuple(item.value for item in value.items if isinstance(item, Const))


def _order_tuples(left: Sequence, symbol: str, right: Sequence) -> bool | None:
    """How tuples compare that start with constants which tell (`sys.version_info >= (3, 11)`)."""
    wanted = _constants(right)
    if wanted is None or left.items is None:
        return None
    first = _constants(Sequence("tuple", left.items[: len(wanted)]))
    if first is None:
        return None
    if len(left.items) > len(wanted) and first == wanted:  # the longer one is greater
        return symbol in ("!=", ">", ">=")
    return _order_constants(first, symbol, wanted)


_NUMBERS = ("int", "float", "bool", "number")


def _number_and_text(left: Value, right: Value) -> bool:
    """Whether a number is compared with a string, which it never equals (`zero_division == "warn"`)."""
    if isinstance(left, Const):
        left, right = right, left
    return (
        isinstance(left, Plain) and left.type in _NUMBERS and isinstance(right, Const) and isinstance(right.value, str)
    )


def _order_constants(a: object, symbol: str, b: object) -> bool | None:
    try:
        if symbol == "==":
            return bool(a == b)
        if symbol == "!=":
            return bool(a != b)
        if symbol == "<":
            return bool(a < b)  # type: ignore[operator]
        if symbol == ">":
            return bool(a > b)  # type: ignore[operator]
        if symbol == "<=":
            return bool(a <= b)  # type: ignore[operator]
        return bool(a >= b)  # type: ignore[operator]
    except TypeError:
        return None


# -- isinstance and friends ---------------------------------------------------------------------------------------


def _call_facts(machine: Machine, frame: Frame, node: cst.BaseExpression, value: Value) -> tuple[Facts, Facts] | None:
    """What `isinstance(x, C)`, `torch.is_tensor(x)` teach about x on either side."""
    if not isinstance(node, cst.Call) or not node.args:
        return None
    name = _target(node.args[0].value)
    if not name:
        return None
    func = node.func
    if isinstance(func, cst.Name) and func.value == "isinstance" and len(node.args) == 2:
        from gblint.interpreter.expressions import evaluate_silently

        subject = evaluate_silently(machine, frame, node.args[0].value)
        wanted = evaluate_silently(machine, frame, node.args[1].value)
        return split_by_class(machine, name, subject, wanted)
    if isinstance(func, cst.Attribute) and func.attr.value == "isscalar":
        from gblint.interpreter.expressions import evaluate_silently

        return _split_scalars(name, evaluate_silently(machine, frame, node.args[0].value))
    if isinstance(func, cst.Attribute) and func.attr.value == "is_tensor":
        from gblint.interpreter.expressions import evaluate_silently

        subject = evaluate_silently(machine, frame, node.args[0].value)
        return split_by_class(machine, name, subject, External("torch.Tensor"))
    return None


def _split_scalars(name: str, subject: Value) -> tuple[Facts, Facts]:
    """The members of `subject` that `np.isscalar` may take for numbers, and the others: tensors are none."""
    yes = union_of(m for m in members(subject) if not is_tensor_proper(m))
    no = union_of(m for m in members(subject) if not isinstance(m, Const) or is_none(m))
    return ({name: yes} if yes is not None else {}), ({name: no} if no is not None else {})


def is_tensor_proper(value: Value) -> bool:
    """True for a tensor that is no NumPy array."""
    return isinstance(value, Tensor) and value.subclass != "ndarray"


def split_by_class(machine: Machine, name: str, subject: Value, wanted: Value) -> tuple[Facts, Facts]:
    """The members of `subject` that are, and that are not, instances of `wanted`."""
    from gblint.interpreter import classes

    yes: list[Value] = []
    no: list[Value] = []
    for member in members(subject):
        verdict = classes.is_instance(machine, member, wanted)
        if verdict is not False:
            yes.append(classes.narrowed(machine, member, wanted) if verdict is None else member)
        if verdict is not True:
            no.append(member)
    then = union_of(yes)
    other = union_of(no)
    return ({name: then} if then is not None else {}), ({name: other} if other is not None else {})


def instance_test(machine: Machine, subject: Value, wanted: Value) -> bool | None:
    """The truth of isinstance(subject, wanted)."""
    from gblint.interpreter import classes

    found = {classes.is_instance(machine, m, wanted) for m in members(subject)}
    return found.pop() if len(found) == 1 else None
