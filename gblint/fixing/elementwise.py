"""Which functions work element by element, so that computing with all elements gives, at each, what computing with some
of them does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from gblint.interpreter.functions import tree_of
from gblint.interpreter.values import Bound, Function, Instance, Value
from gblint.interpreter.walk import walk

if TYPE_CHECKING:
    from gblint.fixing.site import Site

# What a discarded element adds to a gradient is exactly nothing, even where the element is infinite or NaN: the slope
# is a constant, or is selected instead of computed.
GENTLE = frozenset(
    "add sub subtract neg negative positive clamp clip clamp_min clamp_max maximum minimum relu relu6 leaky_relu "
    "hardtanh floor ceil round trunc sign sgn where logical_and logical_or logical_not logical_xor isnan isinf "
    "isfinite eq ne lt le gt ge bitwise_and bitwise_or bitwise_not bitwise_xor float long int bool double half "
    "bfloat16 to type clone detach contiguous nan_to_num isclose zeros_like ones_like".split()
)
# Element by element too, but an infinite element may spoil the gradient, or whole numbers may raise.
STEEP = frozenset(
    "abs absolute elu selu celu gelu silu mish softplus logsigmoid hardsigmoid hardswish sigmoid tanh sin cos erf atan "
    "arctan square mul multiply div divide true_divide floor_divide remainder fmod pow float_power exp exp2 expm1 log "
    "log2 log10 log1p sqrt rsqrt reciprocal tan asin acos sinh cosh asinh acosh atanh erfinv erfc lgamma digamma logit "
    "sinc atan2 arctan2 hypot logaddexp logaddexp2 xlogy addcmul addcdiv lerp fmax fmin heaviside frac softsign "
    "tanhshrink threshold copysign special_expit".split()
)
PREFIXES = ("torch.", "torch.Tensor.", "torch.nn.functional.", "torch.special.")
DEPTH = 3


def kind_of(site: Site, call: cst.Call) -> str:
    """What a call does with tensors of one shape: "gentle" or "steep" (see above) where it works element by element,
    "" where it does not or that is not known. Functions of the project are read."""
    name = site.callee(call)
    if name:
        return named(name)
    value = site.value(call.func)
    function = value.function if isinstance(value, Bound) else value
    return _of_function(site, function, DEPTH)


def named(dotted: str) -> str:
    """As `kind_of`, for a library function."""
    base, _, last = dotted.rpartition(".")
    if f"{base}." not in PREFIXES and base != "builtins":
        return ""
    if base == "builtins":
        return "steep" if last == "abs" else ""
    return "gentle" if last in GENTLE else "steep" if last in STEEP else ""


def _of_function(site: Site, function: Value | None, depth: int) -> str:
    """A function made of assignments and one return, all of it element by element."""
    if not isinstance(function, Function) or depth == 0:
        return ""
    tree = tree_of(site._machine, function)
    if tree is None or tree.is_generator or tree.is_async or not isinstance(tree.node, cst.FunctionDef):
        return ""
    expressions = _straight_line(tree.node)
    if expressions is None:
        return ""
    return "steep" if all(_elementwise(site, e, depth) for e in expressions) else ""


def _straight_line(node: cst.FunctionDef) -> list[cst.BaseExpression] | None:
    """The expressions of a body that assigns and then returns; None for any other body."""
    if not isinstance(node.body, cst.IndentedBlock):
        return None
    found: list[cst.BaseExpression] = []
    lines = [line for line in node.body.body if not isinstance(line, cst.EmptyLine)]
    for line in lines:
        if not isinstance(line, cst.SimpleStatementLine):
            return None
        for small in line.body:
            if isinstance(small, cst.Expr) and isinstance(small.value, cst.SimpleString):
                continue
            value = small.value if isinstance(small, cst.Assign | cst.Return) else None
            if value is None or (isinstance(small, cst.Return) and line is not lines[-1]):
                return None
            found.append(value)
    return found


def _elementwise(site: Site, node: cst.BaseExpression, depth: int) -> bool:
    if isinstance(node, cst.Name | cst.BaseNumber):
        return True
    if isinstance(node, cst.Attribute):
        return site.is_plain(node)
    if isinstance(node, cst.UnaryOperation):
        return not isinstance(node.operator, cst.Not) and _elementwise(site, node.expression, depth)
    if isinstance(node, cst.BinaryOperation):
        if isinstance(node.operator, cst.MatrixMultiply):
            return False
        return _elementwise(site, node.left, depth) and _elementwise(site, node.right, depth)
    if isinstance(node, cst.Comparison):
        parts = [node.left, *(c.comparator for c in node.comparisons)]
        return len(node.comparisons) == 1 and all(_elementwise(site, p, depth) for p in parts)
    if isinstance(node, cst.Call):
        kind = named(site.callee(node)) or _of_function(site, site.value(node.func), depth - 1)
        base = [node.func.value] if isinstance(node.func, cst.Attribute) and _is_method(site, node) else []
        return bool(kind) and all(_elementwise(site, p, depth) for p in [*base, *(a.value for a in node.args)])
    return False


def _is_method(site: Site, call: cst.Call) -> bool:
    return site.callee(call).startswith("torch.Tensor.")


# What looks at several rows at once, unless told to stay within the last dimension.
MIXING = frozenset(
    "sum mean max min amax amin prod std var norm softmax log_softmax sort argsort topk argmax argmin cumsum cumprod "
    "logsumexp cdist bmm cat stack flip roll median mode unique nonzero any all batch_norm normalize interpolate "
    "scaled_dot_product_attention cov corrcoef".split()
)
_ROW_BY_ROW_NOT = (
    "torch.nn.BatchNorm",
    "torch.nn.SyncBatchNorm",
    "torch.nn.MultiheadAttention",
    "torch.nn.Transformer",
)


def mixes_rows(site: Site, call: cst.Call, depth: int = DEPTH) -> bool:
    """Whether a call is known to compute with several rows at once: a reduction over the first dimension or all of
    them, batch normalization, or a function of the project that does either or compares rows with each other."""
    name = site.callee(call)
    if name:
        last = name.rpartition(".")[2]
        return last in MIXING and not any(site.text(a.value) in ("-1", "(-1,)") for a in call.args)
    value = site.value(call.func)
    if isinstance(value, Instance):
        return value.base.startswith(_ROW_BY_ROW_NOT)
    function = value.function if isinstance(value, Bound) else value
    if not isinstance(function, Function) or depth == 0:
        return False
    tree = tree_of(site._machine, function)
    if tree is None or not isinstance(tree.node, cst.FunctionDef):
        return False
    return any(_mixes(site, part, depth) for part in walk(tree.node.body))


def _mixes(site: Site, node: cst.CSTNode, depth: int) -> bool:
    if isinstance(node, cst.Call):
        return mixes_rows(site, node, depth - 1)
    if not isinstance(node, cst.Subscript):
        return False
    indices = [e.slice.value for e in node.slice if isinstance(e.slice, cst.Index)]
    return any(isinstance(i, cst.Name) and i.value == "None" for i in indices)
