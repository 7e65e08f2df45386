"""How a function body uses its names: evidence for what an unannotated parameter is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import libcst as cst

from gblint.interpreter.walk import walk

NOT_TENSOR_KEYWORDS = frozenset({
    "dim", "axis", "dtype", "device", "mode", "reduction", "p", "eps", "training", "inplace", "keepdim", "keepdims",
    "align_corners", "padding_mode", "num_classes", "kernel_size", "stride", "dilation", "groups", "num_heads",
    "approximate", "is_causal", "scale_factor", "diagonal", "descending", "largest", "sorted", "ord", "dropout_p",
    "memory_format", "requires_grad", "non_blocking", "end_dim", "start_dim", "correction", "unbiased",
})  # fmt: skip
SIZE_CALLS = frozenset(
    {
        "range",
        "view",
        "reshape",
        "arange",
        "zeros",
        "ones",
        "empty",
        "randn",
        "rand",
        "full",
        "eye",
        "expand",
        "open",
        "isfile",
        "exists",
        "getenv",
        "Linear",
        "Conv2d",
    }
)


class Uses:
    """Evidence by name. attributes: names read off it; truth: tested bare; strings: compared with or indexed by a
    string; bounds: bound of a slice or compared with a size; plain: passed where no tensor may stand, or compared with
    a whole number to choose a way; called; tensorish: used in an operator with `@`,
    indexed by None or an ellipsis, or passed to a function of torch; masks: called a mask and used as an index;
    made_of: the variables that each is computed of (`c = end - start`)."""

    __slots__ = (
        "attributes", "bounds", "called", "calls_on", "made_of", "masks", "plain", "strings", "tensorish", "truth",
    )  # fmt: skip

    def __init__(self) -> None:
        self.attributes: dict[str, set[str]] = {}
        self.calls_on: dict[str, set[str]] = {}
        self.truth: set[str] = set()
        self.bounds: set[str] = set()
        self.strings: set[str] = set()
        self.plain: set[str] = set()
        self.called: set[str] = set()
        self.tensorish: set[str] = set()
        self.masks: set[str] = set()
        self.made_of: dict[str, set[str]] = {}


def collect(node: cst.CSTNode) -> Uses:
    """One pass over a function tree."""
    uses = Uses()
    for current in walk(node):
        handler = _HANDLERS.get(current.__class__)
        if handler is not None:
            handler(uses, current)
    for name in uses.plain & uses.made_of.keys():
        uses.plain |= uses.made_of[name]
    return uses


def _name(node: object) -> str:
    return node.value if isinstance(node, cst.Name) else ""


def _attribute(uses: Uses, node: cst.Attribute) -> None:
    if isinstance(node.value, cst.Name):
        uses.attributes.setdefault(node.value.value, set()).add(node.attr.value)


def _truth(uses: Uses, test: cst.BaseExpression) -> None:
    if isinstance(test, cst.Name):
        uses.truth.add(test.value)
    elif isinstance(test, cst.BooleanOperation):
        _truth(uses, test.left)
        _truth(uses, test.right)
    elif isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        _truth(uses, test.expression)


def _test(uses: Uses, node: cst.If | cst.While | cst.IfExp | cst.Assert) -> None:
    _truth(uses, node.test)
    uses.plain |= _chosen_by(node.test)


def _chosen_by(test: cst.BaseExpression) -> set[str]:
    """Names that are compared with whole numbers to choose a way: `mode == 3` is no question to ask of a tensor."""
    if isinstance(test, cst.BooleanOperation):
        return _chosen_by(test.left) | _chosen_by(test.right)
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return set()
    (target,) = test.comparisons
    if not isinstance(target.operator, cst.Equal | cst.NotEqual) or not isinstance(target.comparator, cst.Integer):
        return set()
    return {test.left.value} if isinstance(test.left, cst.Name) else set()


def _comparison(uses: Uses, node: cst.Comparison) -> None:
    for target in node.comparisons:
        left, right = node.left, target.comparator
        for one, other in ((left, right), (right, left)):
            if _is_size(one):
                uses.bounds.update(_operands(other))
        if isinstance(target.operator, cst.In | cst.NotIn):
            if isinstance(left, cst.SimpleString) and _name(right):
                uses.strings.add(_name(right))
            elif _name(left) and isinstance(right, cst.Tuple | cst.List | cst.Set):
                uses.plain.add(_name(left))
        elif isinstance(right, cst.SimpleString) and _name(left):
            uses.strings.add(_name(left))
        elif isinstance(right, cst.Name) and right.value in ("True", "False") and _name(left):
            uses.plain.add(_name(left))


def _assign(uses: Uses, node: cst.Assign) -> None:
    if isinstance(node.value, cst.BinaryOperation) and len(node.targets) == 1:
        name, parts = _name(node.targets[0].target), _operands(node.value)
        if name and name not in parts:
            uses.made_of.setdefault(name, set()).update(parts)


def _call(uses: Uses, node: cst.Call) -> None:
    func = node.func
    if isinstance(func, cst.Attribute) and _name(func.value) == "math":  # takes numbers
        for arg in node.args:
            uses.plain.update(_operands(arg.value))
    if isinstance(func, cst.Name):
        uses.called.add(func.value)
    name = _name(func) or (func.attr.value if isinstance(func, cst.Attribute) else "")
    if isinstance(func, cst.Attribute) and isinstance(func.value, cst.Name):
        uses.calls_on.setdefault(func.value.value, set()).add(func.attr.value)
    from_torch = isinstance(func, cst.Attribute) and _name(func.value) in ("torch", "F")
    if name in SIZE_CALLS:
        for arg in node.args:
            if isinstance(arg.value, cst.BinaryOperation) and arg.keyword is None:
                uses.plain.update(_operands(arg.value))
    for arg in node.args:
        value = _name(arg.value)
        if not value:
            continue
        keyword = arg.keyword.value if arg.keyword is not None else ""
        if keyword in NOT_TENSOR_KEYWORDS or (
            name in SIZE_CALLS and not keyword and not (from_torch and name == "expand")
        ):
            uses.plain.add(value)
        elif from_torch and arg is node.args[0] and not keyword and name not in SIZE_CALLS:
            uses.tensorish.add(value)


def _operands(node: cst.BaseExpression) -> set[str]:
    """The names an arithmetic expression is made of: `end - start + 1` gives end and start."""
    if isinstance(node, cst.BinaryOperation):
        return _operands(node.left) | _operands(node.right)
    if isinstance(node, cst.UnaryOperation):
        return _operands(node.expression)
    return {node.value} if isinstance(node, cst.Name) else set()


def _slice(uses: Uses, node: cst.Slice) -> None:
    for part in (node.lower, node.upper, node.step):
        if part is not None:
            uses.bounds.update(_operands(part))


def _is_size(node: cst.BaseExpression) -> bool:
    """True for `x.shape[i]`, `x.size(i)` and `len(x)`."""
    if isinstance(node, cst.Subscript):
        return isinstance(node.value, cst.Attribute) and node.value.attr.value == "shape"
    if isinstance(node, cst.Call):
        func = node.func
        return (isinstance(func, cst.Attribute) and func.attr.value in ("size", "dim", "numel")) or _name(func) == "len"
    return isinstance(node, cst.Attribute) and node.attr.value == "ndim"


def _binary(uses: Uses, node: cst.BinaryOperation) -> None:
    if isinstance(node.operator, cst.MatrixMultiply):
        uses.tensorish.update(n for n in (_name(node.left), _name(node.right)) if n)


def _subscript(uses: Uses, node: cst.Subscript) -> None:
    only = node.slice[0].slice if len(node.slice) == 1 else None
    if isinstance(only, cst.Index) and "mask" in _name(only.value):
        uses.masks.add(_name(only.value))
    base = _name(node.value)
    if not base:
        return
    for element in node.slice:
        index = element.slice
        if isinstance(index, cst.Index):
            if isinstance(index.value, cst.SimpleString):
                uses.strings.add(base)
            elif isinstance(index.value, cst.Ellipsis) or _name(index.value) == "None" or len(node.slice) > 1:
                uses.tensorish.add(base)
        elif len(node.slice) > 1:
            uses.tensorish.add(base)


_HANDLERS: dict[type, Callable[[Uses, Any], None]] = {
    cst.Attribute: _attribute,
    cst.If: _test,
    cst.While: _test,
    cst.IfExp: _test,
    cst.Assert: _test,
    cst.Assign: _assign,
    cst.Comparison: _comparison,
    cst.Call: _call,
    cst.BinaryOperation: _binary,
    cst.Subscript: _subscript,
    cst.Slice: _slice,
}
