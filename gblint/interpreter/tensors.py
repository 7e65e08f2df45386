"""Tensors: what operators, methods, attributes and torch functions give back, from the knowledge of torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from gblint.interpreter import leaving
from gblint.interpreter.events import Call, Operator
from gblint.interpreter.frame import Frame
from gblint.interpreter.ranks import rank_of, reduced
from gblint.interpreter.values import (
    NONE,
    Bound,
    Const,
    DataScalar,
    External,
    Instance,
    Origin,
    Plain,
    Sequence,
    Stream,
    Tensor,
    Union,
    Unknown,
    Value,
    as_tensor,
    is_none,
    tensor_certainty,
    type_name,
)
from gblint.knowledge import Return, Variant

if TYPE_CHECKING:
    from gblint.interpreter.machine import Machine

ORDER = {"bool": 0, "int": 1, "float": 2, "complex": 3}


def promoted(dtypes: list[str]) -> str:
    """The common dtype kind; "" if one is unknown (unless a wider one is certain)."""
    if "complex" in dtypes:
        return "complex"
    if "float" in dtypes:
        return "float"
    if "" in dtypes or not dtypes:
        return ""
    return max(dtypes, key=lambda d: ORDER.get(d, 0))


def element_dtype(value: Value) -> str:
    """The dtype kind a value contributes to an elementwise operation."""
    tensor = as_tensor(value)
    if tensor is not None:
        return tensor.dtype
    name = type_name(value)
    return name if name in ORDER else ""


def _operand_certainty(values: list[Value]) -> float:
    return max(
        (max(tensor_certainty(v), t.c * 0.9 if (t := as_tensor(v)) is not None else 0.0) for v in values), default=0.0
    )


def _rank_of(values: list[Value]) -> int | None:
    ranks: list[int] = []
    for value in values:
        tensor = as_tensor(value)
        if tensor is not None:
            if tensor.rank is None:
                return None
            ranks.append(tensor.rank)
        elif not isinstance(value, Const | Plain | DataScalar):
            return None
    return max(ranks) if ranks else None


def _subclass_of(values: list[Value]) -> str:
    """The subclass of a result; a random number of Python, an array of NumPy or a sparse tensor among plain ones leaves
    them plain (a product with a sparse matrix is dense)."""
    found = [t.subclass for v in values if (t := as_tensor(v)) is not None]
    if "" in found and ("ndarray" in found or "sparse" in found):
        return ""
    return next((s for s in found if s and (s != "random" or len(found) == 1)), "")


def elementwise(machine: Machine, frame: Frame, symbol: str, left: Value, right: Value, node: cst.CSTNode) -> Value:
    """The tensor an arithmetic or bitwise operator gives when one side is a tensor."""
    kinds = [element_dtype(left), element_dtype(right)]
    dtype = _arithmetic_dtype(symbol, kinds)
    rank = None if symbol == "@" else _rank_of([left, right])
    certainty = _operand_certainty([left, right])
    return Tensor(certainty, dtype, rank, "result", _subclass_of([left, right]), Origin("result of", node, frame.chunk))


def _arithmetic_dtype(symbol: str, kinds: list[str]) -> str:
    if symbol in ("&", "|", "^"):
        return "bool" if "bool" in kinds and "int" not in kinds else promoted(kinds)
    dtype = promoted(kinds)
    if symbol == "/":
        return "complex" if dtype == "complex" else "float"
    return "int" if dtype == "bool" and symbol in ("+", "-", "**", "//", "%") and kinds != ["bool", "bool"] else dtype


def compare(machine: Machine, frame: Frame, symbol: str, left: Value, right: Value, node: cst.CSTNode) -> Tensor:
    """The boolean tensor a comparison gives."""
    if machine.listens(frame, "operator"):
        machine.emit(frame, "operator", Operator(node, symbol, left, right))
    origin = Origin("result of", node, frame.chunk)
    return Tensor(
        _operand_certainty([left, right]),
        "bool",
        _rank_of([left, right]),
        "result",
        _subclass_of([left, right]),
        origin,
    )


# -- attributes ---------------------------------------------------------------------------------------------------


def attribute(machine: Machine, frame: Frame, receiver: Tensor, name: str, node: cst.CSTNode) -> Value:
    """The value of an attribute of a tensor; a method comes bound."""
    from gblint.interpreter.attributes import note_get

    owner = "torch.Tensor" if receiver.subclass != "ndarray" else "numpy.ndarray"
    answer = note_get(machine, frame, receiver, name, owner, node)
    if answer is not None:
        return answer
    kind = machine.knowledge.tensor_attributes.get(name)
    if kind is None:
        return Bound(External(f"{owner}.{name}"), receiver)
    return _attribute_value(receiver, name, kind, Origin("attribute", node, frame.chunk))


def _attribute_value(receiver: Tensor, name: str, kind: str, origin: Origin) -> Value:
    if kind == "tensor":
        if name == "grad":
            return Union((Tensor(receiver.c, receiver.dtype, receiver.rank, "", receiver.subclass, origin), NONE))
        dtype = "float" if name in ("real", "imag") else receiver.dtype
        return Tensor(
            receiver.c, dtype, receiver.rank, receiver.role if name == "data" else "result", receiver.subclass, origin
        )
    if kind == "size":
        known = receiver.rank is not None and receiver.rank < 8
        items: list[Value] | None = [Plain("int", True) for _ in range(receiver.rank or 0)] if known else None
        return Sequence("size", items, Plain("int", True))
    if kind == "int":
        return Const(receiver.rank) if name == "ndim" and receiver.rank is not None else Plain("int", True)
    if kind in ("bool", "float", "str", "dtype", "device", "layout"):
        return Plain(kind)
    if kind == "none":
        return NONE
    return Plain("") if kind == "any" else Unknown(f"attribute {name} of a tensor")


# -- results ------------------------------------------------------------------------------------------------------


def method(
    machine: Machine,
    frame: Frame,
    name: str,
    receiver: Tensor | Value,
    args: list[Value],
    kwargs: dict[str, Value],
    node: cst.CSTNode,
    opaque: bool,
) -> Value:
    """The value of receiver.name(args) for a tensor method; rules are told first."""
    tensor = as_tensor(receiver) or Tensor()
    base = "numpy.ndarray" if tensor.subclass == "ndarray" else "torch.Tensor"
    callee = machine.knowledge.canonical(f"{base}.{name}")
    used = name != "requires_grad_" or not leaving.stays(machine, frame, node)
    answer = machine.emit_call(frame, Call(node, callee, args, kwargs, receiver, opaque, used=used))
    if answer is not None and answer.result is not None:
        return answer.result
    if name == "requires_grad_":
        machine.gradients = True
    if name in machine.knowledge.tensor_only_names:
        tensor = proven(frame, node, tensor)
    value = method_value(machine, frame, name, tensor, args, kwargs, node)
    if opaque and name in ("view", "reshape") and isinstance(value, Tensor):
        value.rank = None  # sizes that are not known are among the arguments
    return value


def proven(frame: Frame, node: cst.CSTNode, tensor: Tensor) -> Tensor:
    """A method only tensors have was called: from here on the variable is a tensor for sure."""
    if tensor.c >= 0.97:
        return tensor
    sure = Tensor(0.97, tensor.dtype, tensor.rank, tensor.role, tensor.subclass, tensor.origin)
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and isinstance(node.func.value, cst.Name):
        name = node.func.value.value
        if name in frame.env.names:
            frame.env.names[name] = sure
    return sure


def method_value(
    machine: Machine,
    frame: Frame,
    name: str,
    tensor: Tensor,
    args: list[Value],
    kwargs: dict[str, Value],
    node: cst.CSTNode,
) -> Value:
    """The value of a tensor method, without events."""
    special = _SPECIAL_METHODS.get(name)
    if special is not None:
        value = special(machine, tensor, args, kwargs)
        if value is not None:
            return with_origin(value, node, frame)
    if tensor.subclass == "ndarray":
        return ndarray_method(machine, frame, name, tensor, node)
    found = machine.knowledge.returns(f"torch.Tensor.{name}")
    if found is None:
        return Unknown(f"result of .{name}()")
    found = choose(machine, f"torch.Tensor.{name}", found, args, kwargs)
    return from_return(machine, frame, f"torch.Tensor.{name}", found, [tensor, *args], kwargs, node, method=True)


def ndarray_method(machine: Machine, frame: Frame, name: str, tensor: Tensor, node: cst.CSTNode) -> Value:
    """Methods of a NumPy array inside a region: Dynamo traces them as tensor operations."""
    dtype = "bool" if name in ("all", "any") else tensor.dtype
    return Tensor(tensor.c, dtype, None, "result", "ndarray", Origin("result of", node, frame.chunk))


def with_origin(value: Value, node: cst.CSTNode, frame: Frame) -> Value:
    if isinstance(value, Tensor) and value.origin is None:
        value.origin = Origin("result of", node, frame.chunk)
    return value


def choose(machine: Machine, qualified: str, usual: Return, args: list[Value], kwargs: dict[str, Value]) -> Return:
    """The variant of a result that the arguments select."""
    for variant in machine.knowledge.variants(qualified):
        given = kwargs.get(variant.parameter)
        if given is None and variant.position is not None and variant.position < len(args):
            candidate = args[variant.position]
            if not variant.kinds or _is_kind(candidate, variant.kinds):
                given = candidate
        if given is None or is_none(given):
            continue
        if variant.equals is None or _equals(given, variant):
            return variant.returns
    return usual


def _equals(given: Value, variant: Variant) -> bool:
    return isinstance(given, Const) and repr(given.value) == variant.equals


def _is_kind(value: Value, kinds: tuple[str, ...]) -> bool:
    if as_tensor(value) is not None:
        return "tensor" in kinds
    name = type_name(value)
    if name in ("int", "bool"):
        return "int" in kinds or name in kinds or "number" in kinds
    if isinstance(value, Sequence):
        return "size" in kinds or "tensors" in kinds
    return name in kinds


def from_return(
    machine: Machine,
    frame: Frame,
    qualified: str,
    found: Return,
    args: list[Value],
    kwargs: dict[str, Value],
    node: cst.CSTNode,
    method: bool = False,
) -> Value:
    """The abstract value of a result described by the knowledge."""
    origin = Origin("result of", node, frame.chunk)
    if isinstance(node, cst.Call) and any(arg.star for arg in node.args):
        qualified = ""  # how many arguments there are may not be known, so nothing is said of dimensions
    if found.kind == "tensor":
        return _tensor_result(machine, qualified, found, found.dtype, args, kwargs, origin)
    if found.kind == "tensors":
        return _tensor_tuple(machine, qualified, found, args, kwargs, origin)
    if found.kind == "self":
        first = args[0] if args else Unknown("nothing")
        return first if as_tensor(first) is not None else Tensor(1.0, origin=origin)
    if found.kind == "size":
        return Sequence("size", None, Plain("int", True))
    if found.kind == "list_int":
        return Sequence("list", None, Plain("int", True))
    if found.kind in ("int", "float", "bool", "number", "str", "dtype", "device"):
        return Plain(found.kind, symbolic=found.kind == "int")
    if found.kind == "none":
        return NONE
    return Unknown(f"result of {qualified}")


def _tensor_inputs(args: list[Value], kwargs: dict[str, Value]) -> list[Value]:
    flat: list[Value] = []
    for value in (*args, *kwargs.values()):
        if isinstance(value, Sequence | Stream):
            inner = value.element()
            if as_tensor(inner) is not None:
                flat.append(inner)
        elif as_tensor(value) is not None:
            flat.append(value)
    return flat


def _tensor_result(
    machine: Machine,
    qualified: str,
    found: Return,
    dtype: str | None,
    args: list[Value],
    kwargs: dict[str, Value],
    origin: Origin,
) -> Tensor:
    inputs = _tensor_inputs(args, kwargs)
    kind = given_dtype(machine, kwargs, args) or _result_dtype(dtype, inputs, args, kwargs)
    certainty = 1.0
    if inputs and args and as_tensor(args[0]) is not None and as_tensor(args[0]).c < 1.0:  # type: ignore[union-attr]
        certainty = max(0.95, as_tensor(args[0]).c)  # type: ignore[union-attr]
    rank = _result_rank(found.rank, inputs, args, kwargs) if found.rank else rank_of(qualified, args, kwargs)
    return Tensor(certainty, kind, rank, "result", _subclass_of(inputs), origin)


def given_dtype(machine: Machine, kwargs: dict[str, Value], args: list[Value]) -> str:
    """The dtype kind asked for by `dtype=`, or ""."""
    value = kwargs.get("dtype")
    return dtype_of(machine, value) if value is not None else ""


def dtype_of(machine: Machine, value: Value) -> str:
    """The element kind a dtype value names, or ""."""
    if isinstance(value, External):
        return machine.knowledge.dtype_kind(value.dotted) or {
            "builtins.bool": "bool",
            "builtins.int": "int",
            "builtins.float": "float",
        }.get(value.dotted, "")
    return ""


def _result_dtype(rule: str | None, inputs: list[Value], args: list[Value], kwargs: dict[str, Value]) -> str:
    if rule in ORDER:
        return str(rule)
    first = element_dtype(inputs[0]) if inputs else ""
    if rule == "same":
        return first
    if rule == "same+int":
        return "int" if first == "bool" else first
    if rule == "same+float":
        return "float" if first in ("bool", "int") else first
    if rule in ("promote", "promote+float"):
        kinds = [
            element_dtype(v) for v in [*args, *kwargs.values()] if as_tensor(v) is not None or type_name(v) in ORDER
        ]
        kinds += [element_dtype(v) for v in inputs if v not in args]
        dtype = promoted(kinds)
        return "float" if rule == "promote+float" and dtype in ("bool", "int") else dtype
    if rule == "arg":
        return _factory_dtype(args)
    return ""


def _factory_dtype(args: list[Value]) -> str:
    """The dtype a factory gives without `dtype=`: of the values given (torch.tensor, full), else torch's default."""
    if not args:
        return "float"
    first = args[0]
    element = first.element() if isinstance(first, Sequence) and (first.items or first.elem is not None) else first
    if isinstance(element, Sequence):
        element = element.element()
    return element_dtype(element)


def _result_rank(rule: str | None, inputs: list[Value], args: list[Value], kwargs: dict[str, Value]) -> int | None:
    tensor = as_tensor(inputs[0]) if inputs else None
    if rule == "0":
        return 0
    if rule == "same":
        return tensor.rank if tensor is not None else None
    if rule == "promote":
        return _rank_of(inputs)
    if rule == "reduce":
        return reduced(tensor, args, kwargs)
    return None


def _tensor_tuple(
    machine: Machine, qualified: str, found: Return, args: list[Value], kwargs: dict[str, Value], origin: Origin
) -> Value:
    def one(position: int) -> Tensor:
        dtype = found.dtypes[position] if position < len(found.dtypes) else found.dtype
        return _tensor_result(machine, qualified, found, dtype, args, kwargs, origin)

    if found.names:
        fields: dict[str, Value] = {name: one(i) for i, name in enumerate(found.names)}
        result = Instance(None, "torch.return_types", fields)
        result.flags.add("namedtuple")
        return result
    if found.count:
        return Sequence("tuple", [one(i) for i in range(found.count)])
    return Sequence("tuple", None, one(0))


# -- methods the knowledge cannot describe ------------------------------------------------------------------------


def _cast(dtype: str):  # type: ignore[no-untyped-def]
    def apply(machine: Machine, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return Tensor(max(tensor.c, 0.97), dtype, tensor.rank, "result", tensor.subclass)

    return apply


def _to(machine: Machine, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Value:
    candidates = [*args, *kwargs.values()]
    dtype = tensor.dtype
    for value in candidates:
        named = dtype_of(machine, value)
        other = as_tensor(value)
        if named:
            dtype = named
        elif other is not None:
            dtype = other.dtype
        elif isinstance(value, Plain) and value.type in ("dtype", ""):
            dtype = (
                dtype
                if value.type == "" and dtype in ("bool", "int") and len(candidates) > 1
                else ("" if value.type == "dtype" and tensor.dtype != "float" else dtype)
            )
    return Tensor(tensor.c, dtype, tensor.rank, "result", tensor.subclass)


def _size(machine: Machine, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if args or kwargs:
        return Plain("int", True)
    return Sequence("size", [Plain("int", True)] * tensor.rank if tensor.rank is not None else None, Plain("int", True))


def _symbolic_int(machine: Machine, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Plain("int", True)


def _dim(machine: Machine, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Const(tensor.rank) if tensor.rank is not None else Plain("int", True)


def _flat(machine: Machine, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    if args or kwargs:
        return None
    return Tensor(tensor.c, tensor.dtype, 1, "result", tensor.subclass)


def _data_ptr(machine: Machine, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Plain("data_ptr")


def _storage(machine: Machine, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Instance(None, "torch.UntypedStorage", open=True)


def _item(machine: Machine, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if machine.context.enabled("capture_scalar_outputs"):
        return DataScalar(tensor.dtype if tensor.dtype in ORDER else "number", tensor.origin)
    return Plain(tensor.dtype if tensor.dtype in ORDER else "number")


def _tolist(machine: Machine, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Value:
    number = Plain(tensor.dtype if tensor.dtype in ORDER else "number")
    return (
        number
        if tensor.rank == 0
        else Sequence("list", None, number if tensor.rank in (None, 1) else Sequence("list", None, number))
    )


def _numpy(machine: Machine, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Tensor(tensor.c, tensor.dtype, tensor.rank, "result", "ndarray")


def _ranked(delta: int):  # type: ignore[no-untyped-def]
    def apply(machine: Machine, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
        if not args and not kwargs and delta < 0:
            return Tensor(tensor.c, tensor.dtype, None, "result", tensor.subclass)
        rank = tensor.rank + delta if tensor.rank is not None else None
        return Tensor(tensor.c, tensor.dtype, rank, "result", tensor.subclass)

    return apply


def _view(machine: Machine, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Value:
    sizes: list[Value] | None = args or None
    if len(args) == 1 and isinstance(args[0], Sequence):
        sizes = args[0].items
    rank = None if sizes is None or any(map(_is_shape, sizes)) else len(sizes)
    if len(args) == 1 and dtype_of(machine, args[0]):
        return Tensor(tensor.c, dtype_of(machine, args[0]), tensor.rank, "result", tensor.subclass)
    return Tensor(tensor.c, tensor.dtype, rank, "result", tensor.subclass)


def _is_shape(size: Value) -> bool:
    """Whether what is given for a size is a whole shape, of unknown length."""
    return isinstance(size, Unknown | Plain) and getattr(size, "type", "") == "size"


def _requires_grad(machine: Machine, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return tensor


_SPECIAL_METHODS = {
    "bool": _cast("bool"), "float": _cast("float"), "double": _cast("float"), "half": _cast("float"), "bfloat16":
    _cast("float"),
    "long": _cast("int"), "int": _cast("int"), "short": _cast("int"), "byte": _cast("int"), "char": _cast("int"),
    "to": _to, "type": _to, "type_as": _to, "size": _size, "numel": _symbolic_int, "nelement": _symbolic_int,
    "element_size": _symbolic_int, "stride": _size, "dim": _dim, "ndimension": _dim, "__len__": _symbolic_int, "item":
    _item, "tolist": _tolist,
    "flatten": _flat, "ravel": _flat, "data_ptr": _data_ptr, "untyped_storage": _storage,
    "numpy": _numpy, "unsqueeze": _ranked(1), "squeeze": _ranked(-1), "view": _view, "reshape": _view,
    "requires_grad_": _requires_grad, "to_sparse": lambda m, t, a, k: Tensor(t.c, t.dtype, t.rank, "result", "sparse"),
    "to_dense": lambda m, t, a, k: Tensor(t.c, t.dtype, t.rank, "result", ""),
}  # fmt: skip
