"""Signatures of torch's functions from its stubs, its Python source, its operator schemas and its docstrings."""

from __future__ import annotations

import ast
import inspect
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import torch

from gblint.knowledge.model import Param, Return, Variant

ROOT = Path(torch.__file__).parent

_SIMPLE = {
    "Tensor": "tensor", "Parameter": "tensor", "TensorBase": "tensor", "LongTensor": "tensor", "FloatTensor": "tensor",
    "TensorLike": "tensor", "TensorLikeType": "tensor",
    "_int": "int", "int": "int", "SymInt": "int", "IntLikeType": "int", "SupportsIndex": "int", "DimsType": "int",
    "_float": "float", "float": "float", "FloatLikeType": "float", "SymFloat": "float",
    "_bool": "bool", "bool": "bool", "BoolLikeType": "bool", "SymBool": "bool",
    "Number": "number", "_complex": "number", "complex": "number", "NumberType": "number", "_Number": "number",
    "Size": "size", "_size": "size", "_symsize": "size", "ShapeType": "size",
    "str": "str", "_str": "str", "dtype": "dtype", "_dtype": "dtype",
    "device": "device", "_device": "device", "Device": "device", "DeviceLikeType": "device",
}  # fmt: skip
_MIXED = {
    "_TensorOrTensors": ("tensor", "tensors"), "_TensorOrOptionalTensors": ("tensor", "tensors"),
    "BroadcastingList1": ("int", "size"), "BroadcastingList2": ("int", "size"), "BroadcastingList3": ("int", "size"),
    "_ratio_any_t": ("float",), "_tensor_list_t": ("tensor", "tensors"), "_layer_shape_t": ("int", "size"),
    "_Index": ("any",), "_maybe_indices_t": ("tensor", "tensors"), "_shape_t": ("int", "size"),
}  # fmt: skip
# What torch calls so means the same everywhere; used only where neither annotation nor default tells.
_KIND_BY_NAME = {
    "dtype": ("dtype",), "device": ("device",), "dim": ("int", "size"), "dims": ("int", "size"), "out": ("tensor",),
    "generator": ("any",), "layout": ("any",),
}  # fmt: skip
_SIZES = re.compile(r"^_size_(\d|any)(_opt)?_t$|^_scalar_or_tuple_\w+_t$|^_ratio_\d_t$|^_maybe_\w+_t$")
_SEQUENCES = {"list", "List", "Sequence", "tuple", "Tuple", "Iterable", "Iterator", "Generator"}


@dataclass(frozen=True)
class Signature:
    """One overload: parameters, result, where both were read; literals: parameters annotated with one fixed value."""

    parameters: tuple[Param, ...]
    returns: Return | None
    source: str
    literals: tuple[tuple[str, str], ...] = ()


def kinds_of(node: ast.expr | None) -> tuple[str, ...]:
    """Kinds that an annotation admits, None left out; ("any",) for what has no kind of its own."""
    if node is None:
        return ()
    found = list(dict.fromkeys(_kinds(node)))
    return tuple(found)


def _kinds(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Constant):
        return _constant_kinds(node)
    if isinstance(node, ast.BinOp):
        return _kinds(node.left) + _kinds(node.right)
    if isinstance(node, ast.Subscript):
        return _subscript_kinds(node)
    name = _last(node)
    if name in _SIMPLE:
        return [_SIMPLE[name]]
    if name in _MIXED:
        return list(_MIXED[name])
    return ["int", "size"] if _SIZES.match(name) else ["any"]


def _constant_kinds(node: ast.Constant) -> list[str]:
    if node.value is None:
        return []
    if isinstance(node.value, str):
        return _kinds(ast.parse(node.value, mode="eval").body)
    return ["any"]


def _subscript_kinds(node: ast.Subscript) -> list[str]:
    head, inside = _last(node.value), node.slice
    items = inside.elts if isinstance(inside, ast.Tuple) else [inside]
    if head in ("Optional", "Union", "Annotated", "Final", "Required"):
        return [k for item in (items[:1] if head == "Annotated" else items) for k in _kinds(item)]
    if head.lstrip("_") in ("TypeIs", "TypeGuard"):
        return ["bool"]
    if head == "Literal":
        return sorted({type(i.value).__name__ for i in items if isinstance(i, ast.Constant) and i.value is not None})
    if head in _MIXED:
        return list(_MIXED[head])
    if head in _SEQUENCES:
        element = {k for item in items for k in _kinds(item)} - {"any"} or {"any"}
        return {frozenset({"tensor"}): ["tensors"], frozenset({"int"}): ["size"]}.get(frozenset(element), ["any"])
    return ["any"]


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def return_of(node: ast.expr | None) -> Return | None:
    """The result that a return annotation promises; None where there is none."""
    if node is None:
        return None
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        node = ast.parse(node.value, mode="eval").body
    if isinstance(node, ast.Constant) and node.value is None:
        return Return("none")
    named = _named_tuple(node)
    if named:
        return named
    if isinstance(node, ast.Subscript) and _last(node.value) in ("tuple", "Tuple"):
        return _tuple_return(node)
    kinds = kinds_of(node)
    return _single_return(node, kinds)


def _single_return(node: ast.expr, kinds: tuple[str, ...]) -> Return:
    text = ast.unparse(node)
    if "None" in text or len(kinds) != 1:
        return Return("number") if set(kinds) <= {"int", "float", "bool", "number"} and kinds else Return("any")
    if kinds[0] == "size" and "Size" not in text:
        return Return("list_int")
    return Return(kinds[0])


def _tuple_return(node: ast.Subscript) -> Return:
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    open_ended = bool(items) and isinstance(items[-1], ast.Constant) and items[-1].value is Ellipsis
    kinds = {k for item in items if not (isinstance(item, ast.Constant)) for k in _kinds(item)}
    if kinds == {"tensor"}:
        return Return("tensors", count=None if open_ended else len(items))
    return Return("list_int") if kinds == {"int"} else Return("any", count=None if open_ended else len(items))


def _named_tuple(node: ast.expr) -> Return | None:
    """torch.return_types.max and its like: named tuples of tensors."""
    if not (isinstance(node, ast.Attribute) and _last(node.value) == "return_types"):
        return None
    fields = _return_types().get(node.attr)
    return Return("tensors", count=len(fields), names=fields) if fields else None


@lru_cache(maxsize=1)
def _return_types() -> dict[str, tuple[str, ...]]:
    found = {}
    for cls in ast.parse((ROOT / "return_types.pyi").read_text()).body:
        if isinstance(cls, ast.ClassDef):
            names = [f.name for f in cls.body if isinstance(f, ast.FunctionDef) and _is_property(f)]
            found[cls.name] = tuple(names)
    return found


def _is_property(node: ast.FunctionDef) -> bool:
    return any(_last(d) == "property" for d in node.decorator_list)


@lru_cache(maxsize=1)
def stub_functions() -> dict[str, list[ast.FunctionDef]]:
    """All functions and methods of torch's stub files by dotted name."""
    files = {
        "_C/_VariableFunctions.pyi": "torch", "_C/__init__.pyi": "torch._C", "_C/_nn.pyi": "torch._C._nn",
        "nn/functional.pyi": "torch.nn.functional", "_C/_distributed_c10d.pyi": "torch._C._distributed_c10d",
        "_C/_functions.pyi": "torch._C._functions", "_C/_autograd.pyi": "torch._C._autograd",
    }  # fmt: skip
    found: dict[str, list[ast.FunctionDef]] = defaultdict(list)
    for path, prefix in files.items():
        if (ROOT / path).exists():
            _collect(ast.parse((ROOT / path).read_text()).body, prefix, found)
    return found


def _collect(body: list[ast.stmt], prefix: str, found: dict[str, list[ast.FunctionDef]]) -> None:
    for node in body:
        if isinstance(node, ast.FunctionDef):
            found[f"{prefix}.{node.name}"].append(node)
        elif isinstance(node, ast.ClassDef):
            _collect(node.body, f"{prefix}.{node.name}", found)


@cache
def _source_functions(path: str) -> dict[tuple[str, int], ast.FunctionDef]:
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            found[node.name, first] = node
    return found


def source_function(value: Any) -> ast.FunctionDef | None:
    """The definition of a Python function in its source, through wrappers; None for what is not written in Python."""
    code = getattr(inspect.unwrap(value), "__code__", None) if callable(value) else None
    if code is None or not code.co_filename.endswith(".py"):
        return None
    return _source_functions(code.co_filename).get((code.co_name, code.co_firstlineno))


def signatures(name: str, value: Any) -> list[Signature]:
    """Overloads of a function, from the best source that knows it."""
    stubs = stub_functions()
    own = stubs.get(name) or stubs.get(_native_name(value))
    node = source_function(value) or _dispatched(value)
    if own and not (node is not None and _elided(own)):
        return [signature_of(o, "stubs") for o in own]
    if node is not None:
        return [signature_of(node, "source")]
    return _schemas(value) or _from_docstring(value)


def _elided(overloads: list[ast.FunctionDef]) -> bool:
    """Whether a stub hides its defaults behind `...`: then the source says more."""
    defaults = [d for o in overloads for d in (*o.args.defaults, *o.args.kw_defaults)]
    return any(isinstance(d, ast.Constant) and d.value is Ellipsis for d in defaults)


def _native_name(value: Any) -> str:
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", "")
    return f"{module or 'torch._C'}.{name}" if module != "torch" else f"torch._C.{name}"


def _dispatched(value: Any) -> ast.FunctionDef | None:
    """The first branch of a function that torch chooses by a flag (`return_indices=False`): the plain form."""
    cells = getattr(value, "__closure__", None) or ()
    names = getattr(getattr(value, "__code__", None), "co_freevars", ())
    contents = {n: c.cell_contents for n, c in zip(names, cells, strict=True)}
    return source_function(contents["if_false"]) if "if_false" in contents else None


def signature_of(node: ast.FunctionDef, source: str, *, method: bool = False) -> Signature:
    """Reads parameters and result of one definition; method: leave out its first parameter."""
    args = [*node.args.posonlyargs, *node.args.args]
    defaults: list[ast.expr | None] = [None] * (len(args) - len(node.args.defaults)) + list(node.args.defaults)
    if method:
        args, defaults = args[1:], defaults[1:]
    params = [_param(a, d, i) for i, (a, d) in enumerate(zip(args, defaults, strict=True))]
    if node.args.vararg:
        params.append(_variadic(node.args.vararg, len(params)))
    params += [_param(a, d, None) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]
    literals = {a.arg: text for a in (*args, *node.args.kwonlyargs) if (text := _literal(a.annotation))}
    return Signature(tuple(params), return_of(node.returns), source, tuple(literals.items()))


def _literal(annotation: ast.expr | None) -> str | None:
    if isinstance(annotation, ast.Subscript) and _last(annotation.value) == "Literal":
        return ast.unparse(annotation.slice) if isinstance(annotation.slice, ast.Constant) else None
    return None


def _param(arg: ast.arg, default: ast.expr | None, position: int | None) -> Param:
    elided = isinstance(default, ast.Constant) and default.value is Ellipsis
    text = ast.unparse(default) if default is not None and not elided else None
    kinds = kinds_of(arg.annotation) or _kinds_of_default(default) or _KIND_BY_NAME.get(arg.arg, ())
    return Param(arg.arg, kinds, text, default is None, position)


def _variadic(arg: ast.arg, position: int) -> Param:
    """`*size: int` takes one int or a whole sequence: filed as "*size"."""
    kinds = kinds_of(arg.annotation)
    kinds = ("int", "size") if kinds == ("int",) else kinds
    return Param(f"*{arg.arg}", kinds, None, False, position)


def _kinds_of_default(default: ast.expr | None) -> tuple[str, ...]:
    """A flag or a string tells the kind where no annotation does; a number tells nothing (`0` may be a tensor)."""
    if isinstance(default, ast.Constant) and isinstance(default.value, (bool, str)):
        return ("bool",) if isinstance(default.value, bool) else ("str",)
    return ()


_SCHEMA_TYPES = {
    "Tensor": "tensor", "int": "int", "SymInt": "int", "float": "float", "bool": "bool", "str": "str",
    "Scalar": "number", "number": "number", "ScalarType": "dtype", "Device": "device", "List[Tensor]": "tensors",
    "List[Optional[Tensor]]": "tensors", "List[int]": "size", "List[SymInt]": "size",
}  # fmt: skip


def _schemas(value: Any) -> list[Signature]:
    """Overloads of a native operator that torch.ops.aten knows under the function's own name."""
    packet = getattr(torch.ops.aten, getattr(value, "__name__", "") or "-", None)
    if packet is None or not isinstance(value, type(torch.linalg.det)):
        return []
    schemas = [getattr(packet, overload)._schema for overload in packet.overloads()]
    return [_from_schema(s) for s in schemas if not s.overload_name.endswith("out") and "(a!)" not in str(s)]


def _from_schema(schema: Any) -> Signature:
    params = []
    for position, arg in enumerate(schema.arguments):
        text = str(arg.real_type)
        plain = re.sub(r"^Optional\[(.*)\]$", r"\1", text)
        default = repr(arg.default_value) if arg.has_default_value() else None
        where = None if arg.kwarg_only else position
        name = "input" if arg.name == "self" else arg.name
        params.append(Param(name, (_SCHEMA_TYPES.get(plain, "any"),), default, default is None, where))
    return Signature(tuple(params), _schema_return(schema.returns), "schema")


def _schema_return(returns: list[Any]) -> Return:
    kinds = [_SCHEMA_TYPES.get(str(r.type), "any") for r in returns]
    if len(kinds) == 1:
        return Return({"size": "list_int"}.get(kinds[0], kinds[0]))
    if kinds and set(kinds) == {"tensor"}:
        names = tuple(r.name for r in returns) if all(r.name for r in returns) else ()
        return Return("tensors", count=len(kinds), names=names)
    return Return("none") if not kinds else Return("any", count=len(kinds))


def _from_docstring(value: Any) -> list[Signature]:
    """The signature that heads a docstring (torch's own or pybind11's): `name(args) -> Tensor`."""
    doc = inspect.getdoc(value) or ""
    match = re.search(r"^[\w.]+(\(.*?\))\s*->\s*([\w.\[\], |()]+)", doc[:600], re.M)
    if not match or inspect.isclass(value):
        return []
    result = match[2].strip().rstrip(".")
    if result.startswith("("):
        result = f"tuple[{result.strip('()')}]"
    try:
        returned = return_of(ast.parse(result, mode="eval").body)
    except SyntaxError:
        return []
    return [Signature((), returned, "docstring")]


def merge_parameters(overloads: list[Signature]) -> tuple[Param, ...]:
    """One list of parameters for all overloads; required where every overload requires it."""
    merged: dict[str, list[Param]] = {}
    for overload in overloads:
        for param in overload.parameters:
            merged.setdefault(param.name, []).append(param)
    return tuple(_merge(params, len(overloads)) for params in merged.values())


def _merge(params: list[Param], overloads: int) -> Param:
    kinds = tuple(dict.fromkeys(k for p in params for k in p.kinds))
    positions = [p.position for p in params if p.position is not None]
    default = next((p.default for p in params if p.default is not None), None)
    required = len(params) == overloads and all(p.required for p in params)
    return Param(params[0].name, kinds, default, required, min(positions, default=None))


def plain_return(overloads: list[Signature]) -> Return | None:
    """Result of the overload with the fewest required parameters: the plain call."""
    known = [o for o in overloads if o.returns is not None]
    plain = min(known, key=_required, default=None)
    return plain.returns if plain else None


def _required(overload: Signature) -> int:
    return sum(p.required for p in overload.parameters)


def variants(overloads: list[Signature]) -> tuple[Variant, ...]:
    """Overloads with another result than the plain one, by a required parameter that only they have."""
    plain = min((o for o in overloads if o.returns), key=_required, default=None)
    if plain is None:
        return ()
    found: dict[str, Variant] = {}
    for overload in overloads:
        variant = _variant(overload, plain)
        if variant is not None:
            found.setdefault(variant.parameter, variant)
    return tuple(found.values())


def _variant(overload: Signature, plain: Signature) -> Variant | None:
    """What tells an overload from the plain form: a literal value, else a parameter that only it requires."""
    if overload.returns is None or overload.returns == plain.returns:
        return None
    usual, fixed = {p.name for p in plain.parameters if p.required}, dict(plain.literals)
    literals = {n: v for n, v in overload.literals if fixed.get(n) != v}
    for param in overload.parameters:
        if param.name in literals:
            return Variant(param.name, overload.returns, literals[param.name], param.position, param.kinds)
    for param in overload.parameters:
        if param.required and param.name not in usual:
            return Variant(param.name, overload.returns, None, param.position, param.kinds)
    return None
