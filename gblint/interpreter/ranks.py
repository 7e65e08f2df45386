"""How many dimensions results have, where that follows from the arguments and the tables of torch do not say it."""

from __future__ import annotations

import libcst as cst

from gblint.interpreter.values import (
    NONE,
    Const,
    Plain,
    Sequence,
    Tensor,
    Value,
    as_tensor,
    is_none,
    is_true,
    type_name,
)

DIM_NAMES = ("dim", "axis")
_ALIKE = frozenset({
    "sort", "topk", "cummax", "cummin", "split", "chunk", "tensor_split", "split_with_sizes", "unsafe_chunk",
    "unsafe_split",
})  # fmt: skip
_FLAT = frozenset({"arange", "linspace", "logspace", "randperm", "masked_select", "bincount", "histc"})
_OF_SIZES = frozenset({
    "zeros", "ones", "empty", "rand", "randn", "full", "new_zeros", "new_ones", "new_empty", "new_full", "expand",
    "repeat",
})  # fmt: skip
_FILLED = frozenset({"full", "new_full"})  # the size is one argument, a value follows
_REDUCED = frozenset({"max", "min", "median", "nanmedian", "mode"})


def rank_of(qualified: str, args: list[Value], kwargs: dict[str, Value]) -> int | None:
    """The dimensions of each tensor in the result of a function or method of torch; None if they are not known.

    args: with the receiver of a method first.
    """
    name = qualified.rpartition(".")[2]
    if name in _FLAT:
        return 1
    if name in _OF_SIZES:
        is_method = qualified.startswith("torch.Tensor.")
        return _of_sizes(args[1:] if is_method else args, kwargs.get("size"), name in _FILLED)
    if name == "reshape":
        return _of_sizes(args[1:], kwargs.get("shape"), filled=False)
    first = as_tensor(args[0]) if args else None
    if name == "stack":
        return _stacked(args)
    if name == "nonzero":
        return 1 if is_true(kwargs.get("as_tuple")) else 2
    if first is None or first.rank is None:
        return None
    if name == "unbind":
        return first.rank - 1
    if name in _REDUCED:
        return reduced(first, args, kwargs)
    return first.rank if name in _ALIKE else None


def reduced(tensor: Tensor | None, args: list[Value], kwargs: dict[str, Value]) -> int | None:
    """The dimensions left by a reduction: none if it is told no `dim`. args: with the tensor first."""
    dims = next((kwargs[d] for d in DIM_NAMES if d in kwargs), args[1] if len(args) > 1 else NONE)
    if is_none(dims):
        return 0
    if tensor is None or tensor.rank is None or is_true(kwargs.get("keepdim", args[2] if len(args) > 2 else None)):
        return tensor.rank if tensor is not None else None
    if isinstance(dims, Sequence):
        return max(tensor.rank - len(dims.items), 0) if dims.items else None
    return max(tensor.rank - 1, 0)


def measured(node: cst.BaseExpression) -> str:
    """The variable whose dimensions an expression counts: `x.ndim`, `x.dim()`, `len(x.shape)`; "" for others."""
    if isinstance(node, cst.Call):
        if isinstance(node.func, cst.Attribute) and not node.args:
            return _owner(node.func, ("dim", "ndimension"))
        if isinstance(node.func, cst.Name) and node.func.value == "len" and len(node.args) == 1:
            return sized(node.args[0].value)
        return ""
    return _owner(node, ("ndim",))


def sized(node: cst.BaseExpression) -> str:
    """The variable whose sizes an expression gives: `x.shape`, `x.size()`; "" for others."""
    if isinstance(node, cst.Call):
        return "" if node.args else _owner(node.func, ("size",))
    return _owner(node, ("shape",))


def _owner(node: cst.BaseExpression, names: tuple[str, ...]) -> str:
    if isinstance(node, cst.Attribute) and node.attr.value in names and isinstance(node.value, cst.Name):
        return node.value.value
    return ""


def with_rank(value: Value | None, rank: int) -> Value | None:
    """A tensor that is known to have so many dimensions; None for what is no tensor, or has others."""
    if not isinstance(value, Tensor) or value.rank is not None:
        return None
    return Tensor(value.c, value.dtype, rank, value.role, value.subclass, value.origin)


def _of_sizes(args: list[Value], size: Value | None, filled: bool) -> int | None:
    given = size if size is not None else args[0] if args else None
    if isinstance(given, Sequence):
        return len(given.items) if given.items is not None else None
    sizes = args[:1] if filled else args
    numbers = all(isinstance(a, Const | Plain) and type_name(a) in ("int", "number") for a in sizes)
    return len(sizes) if sizes and numbers else None


def _stacked(args: list[Value]) -> int | None:
    parts = args[0] if args else None
    tensor = as_tensor(parts.element()) if isinstance(parts, Sequence) else None
    return tensor.rank + 1 if tensor is not None and tensor.rank is not None else None
