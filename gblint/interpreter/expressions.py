"""Evaluating expressions on abstract values, one function per libcst node type."""

from __future__ import annotations

import builtins
import operator as op
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import libcst as cst

from gblint.interpreter import attributes, conditions, externals, failures, subscripts, tensors
from gblint.interpreter.events import Call, Format, Globals, Iterate, Operator
from gblint.interpreter.frame import Frame
from gblint.interpreter.source import code
from gblint.interpreter.values import (
    FALSE,
    NONE,
    NUMERIC,
    TRUE,
    Class,
    Const,
    DataScalar,
    Environment,
    External,
    Function,
    Instance,
    Mapping,
    Origin,
    Plain,
    Sequence,
    Stream,
    Super,
    Tensor,
    Union,
    Unknown,
    Value,
    as_tensor,
    is_none,
    join,
    join_all,
    members,
    type_name,
)

if TYPE_CHECKING:
    from gblint.interpreter.machine import Machine

Evaluator = Callable[["Machine", Frame, Any], Value]
TENSOR_TEXT = "text of a tensor"  # the type of a string that Dynamo could not write out
UNDEFINED = "is not defined in view"
BUILTIN_NAMES = frozenset(dir(builtins))


def evaluate(machine: Machine, frame: Frame, node: cst.BaseExpression) -> Value:
    """The abstract value of an expression; its effects and events happen on the way."""
    handler = _EVALUATORS.get(node.__class__)
    if handler is None:
        return Unknown(type(node).__name__)
    value = handler(machine, frame, node)
    if frame.traced:
        known = machine.values.get(id(node))
        if known is None:
            machine.values[id(node)] = [value]
        elif known[-1] is not value:
            known.append(value)
    return value


def evaluate_silently(machine: Machine, frame: Frame, node: cst.BaseExpression) -> Value:
    """Like `evaluate`, for code Dynamo does not trace (annotations, decorators)."""
    traced, frame.traced = frame.traced, False
    try:
        return evaluate(machine, frame, node)
    finally:
        frame.traced = traced


_PARSED: dict[str, cst.BaseExpression | None] = {}
_LITERALS: dict[str, Value] = {}  # by source text: decoding one costs a call of `ast`


def evaluate_text(machine: Machine, frame: Frame, text: str) -> Value | None:
    """The value of an expression given as text, evaluated silently; None if it does not parse."""
    if text not in _PARSED:
        try:
            _PARSED[text] = cst.parse_expression(text)
        except Exception:
            _PARSED[text] = None
    node = _PARSED[text]
    return evaluate_silently(machine, frame, node) if node is not None else None


# -- names and literals -------------------------------------------------------------------------------------------


def load_name(machine: Machine, frame: Frame, name: str) -> Value:
    """The value of a variable: local, enclosing, global, builtin."""
    value = frame.env.lookup(name) if name not in frame.global_names else None
    if value is None:
        value = machine.load_global(frame.module, name)
    if value is not None:
        return value
    if name in BUILTIN_NAMES:
        return External("builtins." + name)
    return Unknown(f"name {name} {UNDEFINED}")


def _note_unbound(machine: Machine, frame: Frame, node: cst.Name) -> None:
    """Tell the rules of a local that has no value on the only path there is."""
    from gblint.interpreter.functions import tree_of

    if not frame.traced or frame.guards or frame.function is None or machine.root.kind != "explicit":
        return
    tree = tree_of(machine, frame.function)
    if tree is not None and node.value in tree.scope.plainly_bound and machine.listens(frame, "globals"):
        machine.emit(frame, "globals", Globals(node, "unbound", node.value))


_KEYWORDS = {"True": TRUE, "False": FALSE, "None": NONE}


def _name(machine: Machine, frame: Frame, node: cst.Name) -> Value:
    name = node.value
    value = frame.env.names.get(name)
    if value is None or frame.global_names:
        value = _KEYWORDS.get(name) or load_name(machine, frame, name)
    if isinstance(value, Unknown) and value.reason.endswith(UNDEFINED):
        _note_unbound(machine, frame, node)
    return value


def _integer(machine: Machine, frame: Frame, node: cst.Integer) -> Value:
    return _number(node)


def _float(machine: Machine, frame: Frame, node: cst.Float) -> Value:
    return _number(node)


def _number(node: cst.Integer | cst.Float) -> Value:
    value = _LITERALS.get(node.value)
    if value is None:
        value = _LITERALS[node.value] = Const(node.evaluated_value)
    return value


def _imaginary(machine: Machine, frame: Frame, node: cst.Imaginary) -> Value:
    return Plain("complex")


def _string(machine: Machine, frame: Frame, node: cst.SimpleString | cst.ConcatenatedString) -> Value:
    if type(node) is cst.ConcatenatedString:
        for part in (node.left, node.right):
            evaluate(machine, frame, part)
        return _literal(node)
    assert type(node) is cst.SimpleString
    value = _LITERALS.get(node.value)
    if value is None:
        value = _LITERALS[node.value] = _literal(node)
    return value


def _literal(node: cst.SimpleString | cst.ConcatenatedString) -> Value:
    try:
        value = node.evaluated_value
    except Exception:
        value = None
    return Const(value) if isinstance(value, str | bytes) else Plain("str")


def _fstring(machine: Machine, frame: Frame, node: cst.FormattedString) -> Value:
    text = "str"
    for part in node.parts:
        if isinstance(part, cst.FormattedStringExpression):
            value = evaluate(machine, frame, part.expression)
            kind = "repr" if part.conversion == "r" else "fstring"
            text = TENSOR_TEXT if isinstance(value, Tensor) and value.c > 0.6 and frame.traced else text
            if machine.listens(frame, "format"):
                machine.emit(frame, "format", Format(part.expression, kind, value))
    return Plain(text)


def _ellipsis(machine: Machine, frame: Frame, node: cst.Ellipsis) -> Value:
    return Const(...)


# -- containers ---------------------------------------------------------------------------------------------------


def _elements(machine: Machine, frame: Frame, nodes: Any) -> tuple[list[Value] | None, Value | None]:
    """Elements of a display: exact items, or None and the join of what is known."""
    items: list[Value] = []
    exact = True
    for element in nodes:
        value = evaluate(machine, frame, element.value)
        if not isinstance(element, cst.StarredElement):
            items.append(value)
            continue
        inner = iterate(machine, frame, value, element.value)
        if isinstance(inner, list):
            items.extend(inner)
        else:
            exact = False
            items.append(inner)
    return (items, None) if exact else (None, join_all(items) if items else None)


def _tuple(machine: Machine, frame: Frame, node: cst.Tuple) -> Value:
    return Sequence("tuple", *_elements(machine, frame, node.elements))


def _list(machine: Machine, frame: Frame, node: cst.List) -> Value:
    return Sequence("list", *_elements(machine, frame, node.elements))


def _set(machine: Machine, frame: Frame, node: cst.Set) -> Value:
    return Sequence("set", *_elements(machine, frame, node.elements))


def _dict(machine: Machine, frame: Frame, node: cst.Dict) -> Value:
    result = Mapping({})
    for element in node.elements:
        value = evaluate(machine, frame, element.value)
        if isinstance(element, cst.StarredDictElement):
            if isinstance(value, Mapping):
                result.items.update(value.items)
                result.exact = result.exact and value.exact
                result.elem = (
                    join(result.elem, value.elem) if result.elem and value.elem else (result.elem or value.elem)
                )
            else:
                result.exact = False
            continue
        assert isinstance(element, cst.DictElement)
        store_key(result, evaluate(machine, frame, element.key), value)
    return result


def store_key(mapping: Mapping, key: Value, value: Value) -> None:
    """mapping[key] = value on an abstract dict."""
    if isinstance(key, Const) and isinstance(key.value, str | int | float | bool | type(None)):
        mapping.items[key.value] = value
        return
    if isinstance(key, Class | Function | External | Instance):
        mapping.elem = join(mapping.elem, value) if mapping.elem is not None else value
        return
    mapping.exact = False
    mapping.elem = join(mapping.elem, value) if mapping.elem is not None else value


def iterate(machine: Machine, frame: Frame, value: Value, node: cst.CSTNode) -> list[Value] | Value:
    """What iterating a value yields: the exact items in order, or the join of them all."""
    if frame.traced and machine.table.by_kind["iterate"]:
        machine.emit(frame, "iterate", Iterate(node, value))
    if isinstance(value, Union):
        parts = [p for p in members(value) if not is_none(p)]
        if len(parts) == 1:
            return iterate(machine, frame, parts[0], node)
        joined = [
            r if isinstance(r, Value) else (join_all(r) if r else Unknown("empty"))
            for r in (iterate(machine, frame, p, node) for p in parts)
        ]
        return join_all(joined) if joined else Unknown("iteration")
    if isinstance(value, Sequence):
        return list(value.items) if value.items is not None else value.element()
    if isinstance(value, Stream):
        return list(value.items) if value.items is not None else value.element()
    if isinstance(value, Mapping):
        if value.exact and value.elem is None:
            return [Const(k) for k in value.items]
        return Plain("str") if all(isinstance(k, str) for k in value.items) else Plain("")
    if isinstance(value, Tensor):
        rank = value.rank - 1 if value.rank else None
        return Tensor(value.c, value.dtype, rank, "result", value.subclass, Origin("element of", node, frame.chunk))
    if isinstance(value, Const) and isinstance(value.value, str):
        return Plain("str")
    if isinstance(value, Plain):
        return Plain("int", True) if value.type == "range" else Plain("str" if value.type == "str" else "")
    if isinstance(value, Instance):
        from gblint.interpreter import classes

        return classes.iterate_instance(machine, frame, value, node)
    return Unknown("iteration")


# -- operators ----------------------------------------------------------------------------------------------------

_FOLD: dict[str, Callable[[Any, Any], Any]] = {
    "+": op.add, "-": op.sub, "*": op.mul, "/": op.truediv, "//": op.floordiv, "%": op.mod, "|": op.or_, "&": op.and_,
    "^": op.xor, "<<": op.lshift,
}  # fmt: skip
_BINARY = {
    cst.Add: "+", cst.Subtract: "-", cst.Multiply: "*", cst.Divide: "/", cst.FloorDivide: "//", cst.Modulo: "%",
    cst.Power: "**", cst.MatrixMultiply: "@", cst.BitAnd: "&", cst.BitOr: "|", cst.BitXor: "^", cst.LeftShift: "<<",
    cst.RightShift: ">>",
}  # fmt: skip
_INPLACE = {
    cst.AddAssign: "+", cst.SubtractAssign: "-", cst.MultiplyAssign: "*", cst.DivideAssign: "/", cst.ModuloAssign: "%",
    cst.FloorDivideAssign: "//", cst.PowerAssign: "**", cst.MatrixMultiplyAssign: "@", cst.BitAndAssign: "&",
    cst.BitOrAssign: "|", cst.BitXorAssign: "^", cst.LeftShiftAssign: "<<", cst.RightShiftAssign: ">>",
}  # fmt: skip


def _binary(machine: Machine, frame: Frame, node: cst.BinaryOperation) -> Value:
    left = evaluate(machine, frame, node.left)
    right = evaluate(machine, frame, node.right)
    return binary(machine, frame, _BINARY[type(node.operator)], left, right, node)


def inplace(
    machine: Machine, frame: Frame, operator: cst.BaseAugOp, left: Value, right: Value, node: cst.CSTNode
) -> Value:
    """The value of `left op= right`."""
    symbol = _INPLACE[type(operator)]
    if isinstance(left, Sequence) and symbol == "+":
        return _extend(left, right)
    return binary(machine, frame, symbol, left, right, node, suffix="=")


def _extend(left: Sequence, right: Value) -> Value:
    if (
        isinstance(right, Sequence | Stream)
        and left.items is not None
        and right.items is not None
        and len(left.items) + len(right.items) <= 64
    ):
        return Sequence(left.kind, [*left.items, *right.items])
    parts = [p.element() for p in (left, right) if isinstance(p, Sequence | Stream) and (p.items or p.elem is not None)]
    if not isinstance(right, Sequence | Stream):
        parts.append(Unknown("extended"))
    longer = Sequence(left.kind, None, join_all(parts) if parts else None)
    longer.prefix = left.items if left.items is not None else left.prefix
    return longer


def binary(
    machine: Machine, frame: Frame, symbol: str, left: Value, right: Value, node: cst.CSTNode, suffix: str = ""
) -> Value:
    """The value of an arithmetic or bitwise operator."""
    if machine.listens(frame, "operator"):
        answer = machine.emit(frame, "operator", Operator(node, symbol + suffix, left, right))
        if answer is not None and answer.result is not None:
            return answer.result
    if isinstance(left, Const) and isinstance(right, Const):
        return _fold(symbol, left.value, right.value)
    if isinstance(left, Instance):
        found = attributes.special_method(machine, frame, left, symbol, right, node)
        if found is not None:
            return found
    a, b = as_tensor(left), as_tensor(right)
    if a is not None or b is not None:
        return tensors.elementwise(machine, frame, symbol, left, right, node)
    if isinstance(left, Sequence) and symbol == "+":
        return _extend(left, right)
    if isinstance(left, Sequence) and symbol == "*":
        return Sequence(left.kind, None, left.element() if left.items or left.elem is not None else None)
    if isinstance(right, Sequence) and symbol == "*" and isinstance(left, Const | Plain):
        return Sequence(right.kind, None, right.element() if right.items or right.elem is not None else None)
    if isinstance(left, Mapping) and symbol == "|" and isinstance(right, Mapping):
        return Mapping({**left.items, **right.items}, left.elem or right.elem, left.exact and right.exact)
    if isinstance(left, DataScalar) or isinstance(right, DataScalar):
        return DataScalar("number")
    if symbol in "&|" and any(isinstance(v, Const) and v.value is (symbol == "|") for v in (left, right)):
        return Const(symbol == "|")  # one side settles it: flags gathered with `|=`
    return _plain_result(frame, symbol, left, right, node)


def _fold(symbol: str, a: Any, b: Any) -> Value:
    function = _FOLD.get(symbol)
    small = not (isinstance(a, str | bytes) and symbol == "*") and not (
        symbol == "<<" and isinstance(b, int) and b > 64
    )
    if function is not None and small:
        try:
            return Const(function(a, b))
        except Exception:
            return Plain("")
    if symbol == "**" and isinstance(a, int | float) and isinstance(b, int | float) and abs(a) < 1e6 and abs(b) < 64:
        try:
            result = a**b
        except Exception:
            return Plain("float")
        return Const(result) if isinstance(result, int | float) else Plain("complex")
    return Plain("str" if isinstance(a, str) else "")


def _plain_result(frame: Frame, symbol: str, left: Value, right: Value, node: cst.CSTNode) -> Value:
    ta, tb = type_name(left), type_name(right)
    symbolic = bool(getattr(left, "symbolic", False) or getattr(right, "symbolic", False))
    if ta in NUMERIC and tb in NUMERIC:
        if symbol == "/":
            return Plain("float", symbolic)
        return (
            Plain(ta if NUMERIC[ta] >= NUMERIC[tb] else tb, symbolic)
            if ta != "bool" or tb != "bool" or symbol in "&|^"
            else Plain("int", symbolic)
        )
    if ta == "str" or (symbol == "%" and tb == "str"):
        return Plain("str")
    if isinstance(left, (Plain, Const)) and isinstance(right, (Plain, Const)):
        return Plain("number" if ta in (*NUMERIC, "number") and tb in (*NUMERIC, "number") else "", symbolic)
    if symbol in "&|^" and _compared(left) and _compared(right):
        return Tensor(0.7, "bool", None, "result", origin=Origin("result of", node, frame.chunk))
    return Unknown("operator on unknown values")


def _compared(value: Value) -> bool:
    return isinstance(value, Unknown) and value.reason == conditions.COMPARISON


def _unary(machine: Machine, frame: Frame, node: cst.UnaryOperation) -> Value:
    if isinstance(node.operator, cst.Not):
        result = conditions.test(machine, frame, node.expression, "not")
        return Plain("bool") if result.truth is None else Const(not result.truth)
    value = evaluate(machine, frame, node.expression)
    tensor = as_tensor(value)
    if tensor is not None:
        if machine.listens(frame, "operator"):
            machine.emit(
                frame, "operator", Operator(node, "~" if isinstance(node.operator, cst.BitInvert) else "-", value, None)
            )
        return Tensor(
            tensor.c, tensor.dtype, tensor.rank, "result", tensor.subclass, Origin("result of", node, frame.chunk)
        )
    if isinstance(value, Const) and isinstance(value.value, int | float):
        if isinstance(node.operator, cst.Minus):
            return Const(-value.value)
        if isinstance(node.operator, cst.BitInvert) and isinstance(value.value, int):
            return Const(~value.value)
        return value
    if isinstance(node.operator, cst.BitInvert) and _compared(value):
        return Tensor(0.7, "bool", None, "result", origin=Origin("result of", node, frame.chunk))
    return value if isinstance(value, Plain | DataScalar) else Unknown("unary operator")


def _boolean(machine: Machine, frame: Frame, node: cst.BooleanOperation) -> Value:
    return conditions.boolean_value(machine, frame, node)


def _comparison(machine: Machine, frame: Frame, node: cst.Comparison) -> Value:
    return conditions.comparison(machine, frame, node).value


def _ternary(machine: Machine, frame: Frame, node: cst.IfExp) -> Value:
    result = conditions.test(machine, frame, node.test, "ternary")
    if result.truth is True:
        return conditions.under(machine, frame, result.then, lambda: evaluate(machine, frame, node.body))
    if result.truth is False:
        return conditions.under(machine, frame, result.other, lambda: evaluate(machine, frame, node.orelse))
    frame.guards += 1
    frame.inline += 1
    try:
        a = conditions.under(machine, frame, result.then, lambda: evaluate(machine, frame, node.body))
        b = conditions.under(machine, frame, result.other, lambda: evaluate(machine, frame, node.orelse))
    finally:
        frame.guards -= 1
        frame.inline -= 1
    return join(a, b)


def _walrus(machine: Machine, frame: Frame, node: cst.NamedExpr) -> Value:
    from gblint.interpreter.statements import assign

    value = evaluate(machine, frame, node.value)
    assign(machine, frame, node.target, value)
    return value


# -- calls --------------------------------------------------------------------------------------------------------


def call_arguments(machine: Machine, frame: Frame, nodes: Any) -> tuple[list[Value], dict[str, Value], bool]:
    """Positional values, keyword values, and whether unknown `*` or `**` arguments are among them."""
    args: list[Value] = []
    kwargs: dict[str, Value] = {}
    opaque = False
    for arg in nodes:
        value = evaluate(machine, frame, arg.value)
        if not arg.star:
            if arg.keyword is None:
                args.append(value)
            else:
                kwargs[arg.keyword.value] = value
        elif arg.star == "*":
            inner = iterate(machine, frame, value, arg.value)
            if isinstance(inner, list):
                args.extend(inner)
            else:
                args.extend(value.prefix or () if isinstance(value, Sequence) else ())
                opaque = True
        elif isinstance(value, Mapping):
            kwargs.update({k: v for k, v in value.items.items() if isinstance(k, str)})
            opaque = opaque or not value.exact
        else:
            opaque = True
    return args, kwargs, opaque


def _call(machine: Machine, frame: Frame, node: cst.Call) -> Value:
    func = node.func
    if not node.args and func.__class__ is cst.Name and func.value == "super":
        return super_value(machine, frame)
    callee = evaluate(machine, frame, func)
    splits = frame.splits
    args, kwargs, opaque = call_arguments(machine, frame, node.args)
    if isinstance(callee, (Unknown, Plain)):
        return unknown_call(machine, frame, callee, args, kwargs, node)
    if frame.splits > splits and frame.fallen is None:
        machine.emit_waiting(frame, callee, node)
    splits = frame.splits
    value = machine.call(frame, callee, args, kwargs, node, opaque)
    if frame.splits > splits:
        machine.emit_lost_manager(frame, node)
    return value


def super_value(machine: Machine, frame: Frame) -> Value:
    """super() without arguments: the class is that of the enclosing method."""
    current: Frame | None = frame
    function = frame.function
    while function is not None and function.owner is None and current is not None and current.caller is not None:
        current = current.caller
        function = current.function
    if function is None or function.owner is None or current is None:
        return Unknown("super outside a class")
    from gblint.interpreter.functions import tree_of

    tree = tree_of(machine, function)
    first = tree.signature.positional[0] if tree is not None and tree.signature.positional else ""
    receiver = frame.env.lookup(first)
    return Super(function.owner, receiver) if receiver is not None else Unknown("super without self")


MODULE_HOOKS = frozenset((  # methods that nothing but a module has
    "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook",
    "register_full_backward_pre_hook",
))  # fmt: skip


def unknown_call(
    machine: Machine, frame: Frame, callee: Value, args: list[Value], kwargs: dict[str, Value], node: cst.CSTNode
) -> Value:
    """A call of something not resolved: its name may still tell what comes out."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in MODULE_HOOKS:
        name = f"torch.nn.Module.{node.func.attr.value}"
        return externals.call(machine, frame, name, args, kwargs, node, None, False)
    if isinstance(callee, Plain):
        return Plain("")
    if not isinstance(node, cst.Call):
        return Unknown("call of an unknown value")
    name = node.func.attr.value if isinstance(node.func, cst.Attribute) else code(node.func, 40)
    machine.unresolved.add(name)
    if (
        isinstance(node.func, cst.Attribute)
        and name in machine.knowledge.tensor_only_names
        and not _is_object(machine, frame, node.func.value)
    ):
        return tensors.method(machine, frame, name, Tensor(0.7), args, kwargs, node, False)
    return Unknown(f"result of {name}()")


def _is_object(machine: Machine, frame: Frame, node: cst.BaseExpression) -> bool:
    """True for `self` and other objects of classes: what they hold under the name of a tensor method is a module or
    so."""
    return isinstance(evaluate_silently(machine, frame, node), Instance | Class)


# -- attributes and subscripts ------------------------------------------------------------------------------------


def dotted_path(node: cst.BaseExpression) -> str:
    """ "self.a.b" for a chain of attributes on a name, else ""."""
    parts: list[str] = []
    while node.__class__ is cst.Attribute:
        parts.append(node.attr.value)
        node = node.value
    if node.__class__ is not cst.Name:
        return ""
    parts.append(node.value)
    return ".".join(reversed(parts))


def _attribute(machine: Machine, frame: Frame, node: cst.Attribute) -> Value:
    if frame.facts:
        fact = frame.facts.get(dotted_path(node))
        if fact is not None:
            return fact
    if frame.unfilled:
        failures.note_use(machine, frame, node)
    receiver = evaluate(machine, frame, node.value)
    return attributes.load(machine, frame, receiver, node.attr.value, node)


def _subscript(machine: Machine, frame: Frame, node: cst.Subscript) -> Value:
    base = evaluate(machine, frame, node.value)
    index = subscripts.index_values(machine, frame, node)
    if frame.unfilled:
        failures.note_use(machine, frame, node)
    return subscripts.load(machine, frame, base, index, node)


# -- comprehensions and functions ---------------------------------------------------------------------------------


def _comprehension(machine: Machine, frame: Frame, node: Any, element: Callable[[], None]) -> None:
    """Run the loops of a comprehension; `element` evaluates and keeps one element.

    Up to Python 3.11 its body is a function that is called with the outermost iterator, so that the frame can be split
    round that call; since 3.12 it is a loop of the frame. A generator expression is a generator in any case.
    """
    outer = frame.env
    source = evaluate(machine, frame, node.for_in.iter)
    called = machine.context.python < (3, 12) and not isinstance(node, cst.GeneratorExp)
    splits = frame.splits
    frame.env = Environment({}, outer)
    frame.push("function" if called else "comprehension")
    frame.loops += 1
    try:
        _comprehension_loop(machine, frame, node.for_in, source, element)
    finally:
        frame.loops -= 1
        frame.pop()
        frame.env = outer
    if called and frame.splits > splits and frame.fallen is None:
        machine.emit_call(frame, Call(node, "mark:comprehension_iterator", [source]))


def _comprehension_loop(
    machine: Machine, frame: Frame, clause: cst.CompFor, source: Value, element: Callable[[], None]
) -> None:
    from gblint.interpreter.statements import assign

    found = iterate(machine, frame, source, clause.iter)
    values = (
        found
        if isinstance(found, list) and len(found) <= 4
        else [join_all(found)]
        if isinstance(found, list)
        else [found]
    )
    for value in values:
        assign(machine, frame, clause.target, value)
        facts: list[dict[str, Value]] = []
        dead = False
        for condition in clause.ifs:
            result = conditions.test(machine, frame, condition.test, "filter")
            dead = dead or result.truth is False
            facts.append(result.then)
        if dead:
            continue
        before = frame.env.names
        merged = {k: v for f in facts for k, v in f.items()}

        def inner() -> None:
            if clause.inner_for_in is not None:
                inner_source = evaluate(machine, frame, clause.inner_for_in.iter)
                _comprehension_loop(machine, frame, clause.inner_for_in, inner_source, element)
            else:
                element()

        conditions.under(machine, frame, merged, inner)
        frame.env.names = before


def _exact_source(machine: Machine, frame: Frame, node: Any) -> bool:
    """True if every loop runs over few known items without a filter, so that the elements collected are exact."""
    clause = node.for_in
    return clause.inner_for_in is None and not clause.ifs


def _collect(machine: Machine, frame: Frame, node: Any) -> tuple[list[Value], bool]:
    values: list[Value] = []
    count = [0]

    def element() -> None:
        count[0] += 1
        values.append(evaluate(machine, frame, node.elt))

    _comprehension(machine, frame, node, element)
    return values, _exact_source(machine, frame, node)


def _list_comp(machine: Machine, frame: Frame, node: cst.ListComp) -> Value:
    return _sequence_comp(machine, frame, node, "list")


def _set_comp(machine: Machine, frame: Frame, node: cst.SetComp) -> Value:
    return _sequence_comp(machine, frame, node, "set")


def _sequence_comp(machine: Machine, frame: Frame, node: Any, kind: str) -> Value:
    values, exact = _collect(machine, frame, node)
    if exact and 1 < len(values) <= 4:
        return Sequence(kind, values)
    return Sequence(kind, None, join_all(values) if values else None)


def _generator(machine: Machine, frame: Frame, node: cst.GeneratorExp) -> Value:
    values, exact = _collect(machine, frame, node)
    items = values if exact and 1 < len(values) <= 4 else None
    return Stream("generator", join_all(values) if values else None, items)


def _dict_comp(machine: Machine, frame: Frame, node: cst.DictComp) -> Value:
    result = Mapping({})
    result.exact = False

    def element() -> None:
        store_key(result, evaluate(machine, frame, node.key), evaluate(machine, frame, node.value))

    _comprehension(machine, frame, node, element)
    return result


def _lambda(machine: Machine, frame: Frame, node: cst.Lambda) -> Value:
    owner = frame.function.owner if frame.function is not None else None
    where = frame.function.qualname + "." if frame.function is not None else ""
    function = Function(frame.module, where + "<lambda>", None, node, frame.chunk, frame.env, owner)
    machine.closures.append(frame.env)
    function.defaults = nested_defaults(machine, frame, node.params)
    return function


def nested_defaults(machine: Machine, frame: Frame, parameters: cst.Parameters) -> dict[str, Value]:
    """Default values of a function defined inside another, evaluated where it is defined."""
    every = [*parameters.posonly_params, *parameters.params, *parameters.kwonly_params]
    return {p.name.value: evaluate(machine, frame, p.default) for p in every if p.default is not None}


def _await(machine: Machine, frame: Frame, node: cst.Await) -> Value:
    evaluate(machine, frame, node.expression)
    return Unknown("awaited")


def _yield(machine: Machine, frame: Frame, node: cst.Yield) -> Value:
    if node.value is None:
        frame.yields.append(NONE)
    elif isinstance(node.value, cst.From):
        inner = iterate(machine, frame, evaluate(machine, frame, node.value.item), node.value.item)
        frame.yields.extend(inner if isinstance(inner, list) else [inner])
    else:
        frame.yields.append(evaluate(machine, frame, node.value))
    return Unknown("sent value")


_EVALUATORS: dict[type, Evaluator] = {
    cst.Name: _name,
    cst.Integer: _integer,
    cst.Float: _float,
    cst.Imaginary: _imaginary,
    cst.SimpleString: _string,
    cst.ConcatenatedString: _string,
    cst.FormattedString: _fstring,
    cst.Ellipsis: _ellipsis,
    cst.Tuple: _tuple,
    cst.List: _list,
    cst.Set: _set,
    cst.Dict: _dict,
    cst.BinaryOperation: _binary,
    cst.UnaryOperation: _unary,
    cst.BooleanOperation: _boolean,
    cst.Comparison: _comparison,
    cst.IfExp: _ternary,
    cst.NamedExpr: _walrus,
    cst.Call: _call,
    cst.Attribute: _attribute,
    cst.Subscript: _subscript,
    cst.ListComp: _list_comp,
    cst.SetComp: _set_comp,
    cst.DictComp: _dict_comp,
    cst.GeneratorExp: _generator,
    cst.Lambda: _lambda,
    cst.Await: _await,
    cst.Yield: _yield,
}
