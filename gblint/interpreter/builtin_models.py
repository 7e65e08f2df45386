"""What Python's builtins give back."""

from __future__ import annotations

import builtins

import libcst as cst

from gblint.interpreter import attributes, classes, conditions
from gblint.interpreter.externals import Site, construct_external, model
from gblint.interpreter.values import (
    FALSE,
    MAX_CALLABLES,
    NONE,
    TRUE,
    Bound,
    Class,
    Compiled,
    Const,
    External,
    Function,
    Instance,
    Mapping,
    Partial,
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


def _bool(value: bool | None) -> Value:
    return Plain("bool") if value is None else Const(value)


_TEXT = ("builtins.str", "builtins.bytes")


@model("builtins.isinstance")
def _isinstance(site: Site) -> Value:
    if len(site.args) != 2:
        return Plain("bool")
    known = conditions.instance_test(site.machine, site.args[0], site.args[1])
    if known is None and isinstance(site.args[1], External) and site.args[1].dotted in _TEXT:
        return Plain("bool", off=True)  # what a model is given is seldom text where it may be something else
    return _bool(known)


@model("builtins.issubclass")
def _issubclass(site: Site) -> Value:
    if len(site.args) == 2 and isinstance(site.args[0], Class) and isinstance(site.args[1], Class):
        return Const(site.args[1] in classes.mro(site.machine, site.args[0]))
    return Plain("bool")


@model("builtins.callable")
def _callable(site: Site) -> Value:
    value = site.args[0] if site.args else Unknown("")
    if isinstance(value, Function | Bound | Class | Partial | External | Compiled):
        return TRUE
    return FALSE if isinstance(value, Const | Tensor | Sequence | Mapping) else Plain("bool")


@model("builtins.len")
def _len(site: Site) -> Value:
    value = site.args[0] if site.args else Unknown("")
    if isinstance(value, Sequence) and value.items is not None:
        return Const(len(value.items))
    if isinstance(value, Mapping) and value.exact and value.elem is None:
        return Const(len(value.items))
    if isinstance(value, Const) and isinstance(value.value, str):
        return Const(len(value.value))
    if isinstance(value, Instance) and value.cls is not None:
        method = classes.class_attr(site.machine, value.cls, "__len__")
        if isinstance(method, Function):
            site.call(method, [value])
    return Plain("int", symbolic=True)


@model("builtins.hasattr")
def _hasattr(site: Site) -> Value:
    if len(site.args) < 2 or not isinstance(site.args[1], Const):
        return Plain("bool")
    found = {_has(site, m, str(site.args[1].value)) for m in members(site.args[0])}
    return _bool(found.pop() if len(found) == 1 else None)


def _has(site: Site, value: Value, name: str) -> bool | None:
    if isinstance(value, Tensor):
        known = name in site.machine.knowledge.tensor_names or name in site.machine.knowledge.tensor_attributes
        return known if value.c > 0.6 else None
    if isinstance(value, Const):
        return hasattr(value.value, name)
    if isinstance(value, Plain) and value.type in ("int", "float", "bool", "str"):
        return hasattr(getattr(builtins, value.type), name)
    if isinstance(value, Instance):
        if name in value.attrs or (
            value.cls is not None and classes.class_attr(site.machine, value.cls, name) is not None
        ):
            return True
        return None
    if isinstance(value, Sequence | Mapping):
        kind = value.kind if value.kind in ("list", "tuple", "dict", "set") else "list"
        return hasattr(getattr(builtins, kind), name)
    if isinstance(value, External) and value.dotted.startswith("torch"):
        return True if site.machine.knowledge.what(f"{value.dotted}.{name}") is not None else None
    return None


@model("builtins.getattr")
def _getattr(site: Site) -> Value:
    if len(site.args) < 2:
        return Unknown("getattr")
    receiver, name = site.args[0], site.args[1]
    default = site.args[2] if len(site.args) > 2 else None
    if not isinstance(name, Const) or not isinstance(name.value, str):
        return Plain("") if isinstance(receiver, Plain) else _named_alike(site, receiver)
    if default is not None:
        known = {_has(site, m, name.value) for m in members(receiver)}
        if known == {False}:
            return default
        if known != {True}:
            value = (
                Plain("")
                if isinstance(receiver, Plain)
                else attributes.load(site.machine, site.frame, receiver, name.value, site.node)
            )
            if isinstance(value, Bound) and isinstance(value.function, External):
                return Unknown("getattr with a default")
            return (
                value
                if isinstance(value, Unknown)
                and isinstance(receiver, Unknown)
                and not is_none(default)
                and not isinstance(default, Const)
                else join(value, default)
            )
    return attributes.load(site.machine, site.frame, receiver, name.value, site.node)


def _named_alike(site: Site, receiver: Value) -> Value:
    """What an object has under a computed name: where the source says how the name begins or ends, all methods and
    attributes of such names are meant (`getattr(self, f"forward_{mode}")`)."""
    found = _ends(site.node.args[1].value) if isinstance(site.node, cst.Call) and len(site.node.args) > 1 else None
    if not isinstance(receiver, Instance) or receiver.cls is None or found is None:
        return Unknown("getattr of a computed name")
    start, end = found
    names = sorted(
        name
        for name in classes.names_of(site.machine, receiver)
        if name.startswith(start) and name.endswith(end) and len(name) > len(start) + len(end)
    )
    if not 0 < len(names) <= MAX_CALLABLES:
        return Unknown("getattr of a computed name")
    meant = join_all(attributes.load(site.machine, site.frame, receiver, name, site.node) for name in names)
    return Union(meant.members, all=True) if isinstance(meant, Union) else meant


def _ends(node: cst.BaseExpression) -> tuple[str, str] | None:
    """How a text begins and ends, as far as its expression says; None if it says neither."""
    start = end = ""
    if isinstance(node, cst.FormattedString) and node.parts:
        first, last = node.parts[0], node.parts[-1]
        start = first.value if isinstance(first, cst.FormattedStringText) else ""
        end = last.value if isinstance(last, cst.FormattedStringText) else ""
    elif isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
        start, end = _literal(node.left), _literal(node.right)
    elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "format":
        start, _, rest = _literal(node.func.value).partition("{")
        end = rest.rpartition("}")[2]
    return (start, end) if start or end else None


def _literal(node: cst.BaseExpression) -> str:
    value = node.evaluated_value if isinstance(node, cst.SimpleString) else ""
    return value if isinstance(value, str) else ""


@model("builtins.setattr")
def _setattr(site: Site) -> Value:
    if len(site.args) == 3 and isinstance(site.args[1], Const):
        attributes.store(site.machine, site.frame, site.args[0], str(site.args[1].value), site.args[2], site.node)
    elif site.args and isinstance(site.args[0], Instance):
        site.args[0].open = True
    return NONE


@model("builtins.type")
def _type(site: Site) -> Value:
    value = site.args[0] if site.args else Unknown("")
    if len(site.args) == 3:
        return Unknown("class made by type()")
    if isinstance(value, Instance):
        return value.cls if value.cls is not None else External(value.base)
    if isinstance(value, Tensor):
        return External("torch.Tensor") if value.c > 0.8 and not value.subclass else Unknown("type of a value")
    if isinstance(value, Sequence):
        return External(f"builtins.{value.kind}")
    if isinstance(value, Mapping):
        return External("builtins.dict")
    name = type_name(value)
    return External(f"builtins.{name}") if name in ("int", "float", "bool", "str") else Unknown("type of a value")


@model("builtins.super")
def _super(site: Site) -> Value:
    if len(site.args) == 2 and isinstance(site.args[0], Class):
        return Super(site.args[0], site.args[1])
    from gblint.interpreter.expressions import super_value

    return super_value(site.machine, site.frame)


def _numeric(kind: str):  # type: ignore[no-untyped-def]
    def apply(site: Site) -> Value:
        value = site.args[0] if site.args else Const(0)
        if isinstance(value, Const) and isinstance(value.value, int | float | str):
            try:
                return Const(getattr(builtins, kind)(value.value))
            except (ValueError, OverflowError):
                return Plain(kind)
        if isinstance(value, Instance) and value.cls is not None:
            method = classes.class_attr(site.machine, value.cls, f"__{kind}__")
            if isinstance(method, Function):
                site.call(method, [value])
        return Plain(kind, symbolic=bool(getattr(value, "symbolic", False)))

    return apply


for _kind in ("int", "float"):
    model(f"builtins.{_kind}")(_numeric(_kind))


@model("builtins.bool")
def _to_bool(site: Site) -> Value:
    return _bool(conditions.truth(site.machine, site.args[0]) if site.args else False)


@model(
    "builtins.str", "builtins.repr", "builtins.format", "builtins.chr", "builtins.hex", "builtins.ascii", "builtins.bin"
)
def _text(site: Site) -> Value:
    return Plain("str")


@model("builtins.id", "builtins.hash", "builtins.ord")
def _integer(site: Site) -> Value:
    return Plain("int")


@model("builtins.range")
def _range(site: Site) -> Value:
    if site.args and all(isinstance(a, Const) and isinstance(a.value, int) for a in site.args):
        values = [a.value for a in site.args if isinstance(a, Const)]
        try:
            count = len(range(*values))
        except (TypeError, ValueError):
            return Stream("range", Plain("int"))
        if count <= 4:
            return Stream("range", None, [Const(i) for i in range(*values)])
    return Stream("range", Plain("int", symbolic=True))


@model("builtins.zip")
def _zip(site: Site) -> Value:
    found = [site.iterate(a) for a in site.args]
    if found and all(isinstance(f, list) for f in found):
        rows = zip(*found, strict=False)
        return Stream("zip", None, [Sequence("tuple", list(row)) for row in rows])
    parts = [f if isinstance(f, Value) else (join_all(f) if f else Unknown("empty")) for f in found]
    return Stream("zip", Sequence("tuple", parts))


@model("builtins.enumerate")
def _enumerate(site: Site) -> Value:
    found = site.iterate(site.args[0]) if site.args else Unknown("")
    if isinstance(found, list):
        return Stream("enumerate", None, [Sequence("tuple", [Const(i), v]) for i, v in enumerate(found)])
    return Stream("enumerate", Sequence("tuple", [Plain("int"), found]))


@model("builtins.reversed")
def _reversed(site: Site) -> Value:
    found = site.iterate(site.args[0]) if site.args else Unknown("")
    return Stream("reversed", None, found[::-1]) if isinstance(found, list) else Stream("reversed", found)


MOST_MAPPED = 4  # constants that a function is applied to one by one


@model("builtins.map")
def _map(site: Site) -> Value:
    if len(site.args) < 2:
        return Stream("map", Unknown("map"))
    if len(site.args) == 2 and isinstance(site.args[0], External) and isinstance(site.args[1], Sequence):
        items = site.args[1].items
        if items and len(items) <= MOST_MAPPED and all(isinstance(item, Const) for item in items):
            return Stream("map", None, [site.call(site.args[0], [item]) for item in items])
    elements = [site.element(a) for a in site.args[1:]]
    return Stream("map", site.call(site.args[0], elements))


@model("builtins.filter")
def _filter(site: Site) -> Value:
    if len(site.args) < 2:
        return Stream("filter", Unknown("filter"))
    element = site.element(site.args[1])
    if not is_none(site.args[0]):
        site.call(site.args[0], [element])
    return Stream("filter", element)


@model("builtins.iter")
def _iter(site: Site) -> Value:
    found = site.iterate(site.args[0]) if site.args else Unknown("")
    return Stream("iterator", None, found) if isinstance(found, list) else Stream("iterator", found)


@model("builtins.next")
def _next(site: Site) -> Value:
    value = site.args[0] if site.args else Unknown("")
    if isinstance(value, Stream):
        element = value.items[0] if value.items else value.element()
        return join(element, site.args[1]) if len(site.args) > 1 else element
    if isinstance(value, Instance) and value.cls is not None:
        method = classes.class_attr(site.machine, value.cls, "__next__")
        if isinstance(method, Function):
            return site.call(method, [value])
    return Unknown("next()")


def _sequence(kind: str):  # type: ignore[no-untyped-def]
    def apply(site: Site) -> Value:
        if not site.args:
            return Sequence(kind, [])
        found = site.iterate(site.args[0])
        if isinstance(found, list) and kind != "set":
            return Sequence(kind, list(found))
        element = found if isinstance(found, Value) else (join_all(found) if found else None)
        return Sequence(kind, None, element)

    return apply


for _kind in ("list", "tuple", "set", "frozenset"):
    model(f"builtins.{_kind}")(_sequence(_kind if _kind != "frozenset" else "set"))


@model("builtins.sorted")
def _sorted(site: Site) -> Value:
    element = site.element(site.args[0]) if site.args else Unknown("")
    key = site.kwargs.get("key")
    if key is not None and not is_none(key):
        site.compare(site.call(key, [element]), "sort")
    return Sequence("list", None, element)


@model("builtins.dict", "collections.OrderedDict")
def _dict(site: Site) -> Value:
    result = Mapping({}, None, not site.opaque, "dict" if site.name == "builtins.dict" else "OrderedDict")
    if site.args:
        source = site.args[0]
        if isinstance(source, Mapping):
            result.items.update(source.items)
            result.elem, result.exact = source.elem, source.exact
        else:
            pair = site.element(source)
            result.exact = False
            result.elem = (
                pair.items[1]
                if isinstance(pair, Sequence) and pair.items and len(pair.items) == 2
                else Unknown("value")
            )
    result.items.update(site.kwargs)
    return result


@model("builtins.sum")
def _sum(site: Site) -> Value:
    element = site.element(site.args[0]) if site.args else Unknown("")
    if isinstance(element, Tensor) and element.dtype == "bool":
        return Tensor(element.c, "int", element.rank, "result", element.subclass, site.origin())
    return element


@model("builtins.min", "builtins.max")
def _extreme(site: Site) -> Value:
    values = list(site.args)
    if len(values) == 1:
        values = [site.element(values[0])]
    tensor = next((as_tensor(v) for v in values if as_tensor(v) is not None), None)
    if tensor is not None:
        return Tensor(tensor.c, tensor.dtype, tensor.rank, "result", tensor.subclass, site.origin())
    return join_all(values) if values else Unknown("min or max")


@model("builtins.any", "builtins.all")
def _any(site: Site) -> Value:
    from gblint.interpreter.events import Branch

    element = site.element(site.args[0]) if site.args else Unknown("")
    if as_tensor(element) is not None:
        site.machine.emit(
            site.frame, "branch", Branch(site.node, "or" if site.name.endswith("any") else "and", element)
        )
    return Plain("bool")


@model("builtins.abs", "builtins.round", "builtins.pow", "builtins.divmod")
def _arithmetic(site: Site) -> Value:
    tensor = next((as_tensor(v) for v in site.args if as_tensor(v) is not None), None)
    if tensor is not None:
        return Tensor(tensor.c, tensor.dtype, tensor.rank, "result", tensor.subclass, site.origin())
    if site.name == "builtins.divmod":
        return Sequence("tuple", [Plain("number"), Plain("number")])
    value = site.args[0] if site.args else Plain("number")
    if site.name == "builtins.abs" and isinstance(value, Const) and isinstance(value.value, int | float):
        return Const(abs(value.value))
    return Plain(
        type_name(value) if type_name(value) in ("int", "float") and site.name != "builtins.round" else "number",
        bool(getattr(value, "symbolic", False)),
    )


@model("builtins.slice")
def _slice(site: Site) -> Value:
    from gblint.interpreter.values import Slice

    parts: list[Value] = [*site.args, NONE, NONE, NONE]
    return Slice(NONE, parts[0], NONE) if len(site.args) == 1 else Slice(*parts[:3])


@model("builtins.print")
def _print(site: Site) -> Value:
    return NONE


@model("builtins.vars", "builtins.locals", "builtins.globals")
def _namespace(site: Site) -> Value:
    if site.name == "builtins.locals":
        return Mapping(dict(site.frame.env.names), exact=False)
    if site.args and isinstance(site.args[0], Instance):
        return Mapping(dict(site.args[0].attrs), exact=False)
    return Mapping({}, Unknown("namespace"), exact=False)


@model("builtins.property", "builtins.staticmethod", "builtins.classmethod", "gblint.identity")
def _identity(site: Site) -> Value:
    return site.args[0] if site.args else Unknown("")


@model("gblint.no_op", quiet=True)
def _no_op(site: Site) -> Value:
    return NONE


@model("gblint.module_call", quiet=True)
def _module_call(site: Site) -> Value:
    from gblint.interpreter import modules

    if isinstance(site.receiver, Instance):
        return modules.forward(site.machine, site.frame, site.receiver, site.args, site.kwargs, site.node, site.opaque)
    return Unknown("module call")


for _name in dir(builtins):
    _object = getattr(builtins, _name)
    if isinstance(_object, type) and issubclass(_object, BaseException):
        model(f"builtins.{_name}")(lambda site: construct_external(site, site.name))
