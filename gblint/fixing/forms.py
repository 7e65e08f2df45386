"""Proofs about tensors from the source alone: equal shapes and dtypes, gradients, errors, aliases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from gblint.fixing.purity import is_pure
from gblint.interpreter.values import Const, Plain, Tensor, members, type_name
from gblint.interpreter.walk import walk

if TYPE_CHECKING:
    from gblint.fixing.site import Site

# Functions of one tensor (and numbers) whose result has its shape and dtype, for any dtype …
_KEEPS = frozenset("abs neg negative positive clone contiguous detach relu sign flip roll nan_to_num square".split())
_FILLS = frozenset("zeros_like ones_like full_like empty_like".split())
_FACTORIES = frozenset(
    "zeros ones full empty arange linspace eye rand randn tensor new_zeros new_ones new_full".split()
)
_BOUNDS = frozenset("clamp clamp_min clamp_max clip".split())
# … and for floating point ones.
_FLOAT = frozenset(
    "tanh sigmoid exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan atan asinh erf reciprocal floor ceil "
    "round trunc frac softmax log_softmax silu gelu leaky_relu elu softplus mish hardtanh relu6 logsigmoid selu "
    "normalize".split()
)
_REDUCES = frozenset("sum mean max min amax amin norm std var prod".split())
_TESTS = frozenset("isnan isinf isfinite logical_not isneginf isposinf signbit".split())
_METADATA = frozenset("shape dtype device ndim requires_grad is_cuda layout names".split())
_NEW = frozenset(
    "where masked_fill any all cat stack matmul mm bmm cumsum size dim numel argmax argmin count_nonzero item isin "
    "add_ sub_ mul_ div_ fill_ zero_ clamp_ masked_fill_ copy_ finfo pow add sub mul div".split()
)
_ALIASING = frozenset("contiguous detach flip nan_to_num positive".split())
# Functions whose gradient is finite wherever the argument is finite, and 0 or a number where it is not.
_SMOOTH = frozenset(
    "abs neg negative positive clone contiguous relu clamp clamp_min clamp_max clip tanh sigmoid masked_fill where "
    "flip roll leaky_relu nan_to_num".split()
) | _FILLS  # fmt: skip
_ELEMENTWISE = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide, cst.Power, cst.Modulo, cst.FloorDivide)
_NO_GRAD = ("torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad", "torch.autograd.grad_mode.no_grad")

Shape = str | None
_SCALAR = "()"


def number_type(site: Site, node: cst.CSTNode) -> str:
    """ "int", "float" or "bool" for what surely is such a Python number; "" for anything else."""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        return number_type(site, node.expression)
    if isinstance(node, cst.Integer):
        return "int"
    if isinstance(node, cst.Float):
        return "float"
    value = site.value(node)
    kinds = {type_name(m) for m in members(value) if isinstance(m, Const | Plain)} if value is not None else set()
    if value is None or len(kinds) != 1 or any(not isinstance(m, Const | Plain) for m in members(value)):
        return ""
    (kind,) = kinds
    return kind if kind in ("int", "float", "bool") else ""


def applied(site: Site, node: cst.CSTNode) -> tuple[str, list[cst.BaseExpression]]:
    """A call of a torch function or tensor method as (short name, tensor and other arguments); ("", []) otherwise."""
    if not isinstance(node, cst.Call):
        return "", []
    name = site.callee(node)
    if not name.startswith(("torch.Tensor.", "torch.nn.functional.")) and name.count(".") != 1:
        return "", []
    if not name.startswith("torch."):
        return "", []
    args = [a.value for a in node.args if a.keyword is None and not a.star]
    keywords = {a.keyword.value: a.value for a in node.args if a.keyword is not None}
    if keywords.keys() & {"dtype", "out", "device", "layout"} or any(a.star for a in node.args):
        return "", []
    if name.startswith("torch.Tensor.") and isinstance(node.func, cst.Attribute):
        args.insert(0, node.func.value)
    return name.rpartition(".")[2], [*args, *keywords.values()]


def shape(site: Site, node: cst.CSTNode) -> Shape:
    """A text that is equal for expressions of provably equal shapes ("()" for numbers and tensors without dimensions);
    None where nothing is proved."""
    if number_type(site, node) or _rank(site, node) == 0:
        return _SCALAR
    if isinstance(node, cst.Name) and (made := _definition(site, node)) is not None:
        return shape(site, made) or (node.value if site.tensor(node) is not None else None)
    if isinstance(node, cst.Name | cst.Attribute):
        return site.text(node) if site.tensor(node) is not None else None
    if isinstance(node, cst.UnaryOperation):
        return shape(site, node.expression)
    if isinstance(node, cst.BinaryOperation):
        return _meet(shape(site, node.left), shape(site, node.right)) if _is_elementwise(node) else None
    if isinstance(node, cst.Comparison):
        return _meet(*(shape(site, n) for n in (node.left, *(t.comparator for t in node.comparisons))))
    name, args = applied(site, node)
    if not args:
        return None
    if name in ("where", "masked_fill") and len(args) == 3:
        return _meet(*(shape(site, a) for a in args))
    if name in _BOUNDS or name == "pow":
        return _meet(*(shape(site, a) for a in args))
    if name in _KEEPS | _FILLS | _FLOAT | _TESTS and _are_plain(site, args[1:]):
        return shape(site, args[0])
    return None


def _definition(site: Site, name: cst.Name) -> cst.BaseExpression | None:
    """The expression that a variable surely still is the value of: it is bound once, on every way to here, and nothing
    that the expression reads has been bound or changed in place since."""
    stores = site.stores(name.value)
    if len(stores) != 1 or name not in set(site.loads(name.value)):
        return None
    target = site.parent(stores[0])
    made = site.parent(target) if isinstance(target, cst.AssignTarget) else None
    if not isinstance(made, cst.Assign) or len(made.targets) != 1 or site.loop(made) is not site.loop(name):
        return None
    block = site.parent(site.statement(made))
    first, last = site.span(made)[0], site.span(name)[0]
    if first >= last or not any(a is block for a in site.ancestors(name)):
        return None
    read = {n.value for n in walk(made.value) if isinstance(n, cst.Name)}
    bound = (site.span(s)[0] for r in read for s in site.stores(r))
    return None if any(first <= row < last for row in bound) or name.value in read else made.value


def _meet(*shapes: Shape) -> Shape:
    """The shape of an elementwise result."""
    found = {s for s in shapes if s != _SCALAR}
    if None in found or len(found) > 1:
        return None
    return found.pop() if found else _SCALAR


def dtype(site: Site, node: cst.CSTNode) -> str | None:
    """A text that is equal for expressions of provably equal dtypes (and devices): "int", "float", "bool" for Python
    numbers, else that of a tensor the dtype comes from; None where nothing is proved."""
    number = number_type(site, node)
    if number:
        return number
    if isinstance(node, cst.Comparison) or applied(site, node)[0] in _TESTS:
        return "tensor of bool"
    if isinstance(node, cst.Name) and (made := _definition(site, node)) is not None:
        return dtype(site, made) or (f"of {node.value}" if site.tensor(node) is not None else None)
    if isinstance(node, cst.Name | cst.Attribute):
        return f"of {site.text(node)}" if site.tensor(node) is not None else None
    if isinstance(node, cst.UnaryOperation):
        return dtype(site, node.expression)
    if isinstance(node, cst.Subscript):
        return dtype(site, node.value) if site.tensor(node.value) is not None else None
    if isinstance(node, cst.BinaryOperation):
        return _arithmetic(site, node, node.left, node.right) if _is_elementwise(node) else None
    name, args = applied(site, node)
    if not args:  # a mistake in the program: `torch.relu()`
        return None
    if name == "where" and len(args) == 3:
        return _arithmetic(site, None, *args[1:])
    if (name == "masked_fill" and len(args) == 3) or name in _KEEPS | _FILLS:
        return dtype(site, args[0])
    if name in _FLOAT | _REDUCES and _family(site, args[0]) == "float":
        return dtype(site, args[0])
    if name in _BOUNDS | {"pow"} and all(number_type(site, a) for a in args[1:]):
        floats = any(number_type(site, a) == "float" for a in args[1:])
        return dtype(site, args[0]) if not floats or _family(site, args[0]) == "float" else None
    return None


def _arithmetic(
    site: Site, operation: cst.BinaryOperation | None, left: cst.BaseExpression, right: cst.BaseExpression
) -> str | None:
    a, b = dtype(site, left), dtype(site, right)
    if a is None or b is None:
        return None
    divides = operation is not None and isinstance(operation.operator, cst.Divide | cst.Power)
    if a == b:
        return None if divides and _family(site, left) != "float" else a
    for tensor, node, other, scalar in ((a, left, b, right), (b, right, a, left)):
        family = _family(site, node)
        if not tensor.startswith("of ") or (divides and family != "float"):
            continue
        if other in ("int", "bool") and family in ("int", "float"):
            return tensor
        if other == "float" and family == "float":
            return tensor
        wide = (_rank(site, node) or 0) > 0 and _rank(site, scalar) == 0
        if wide and family == "float" and _family(site, scalar) in ("float", "int", "bool"):
            return tensor
    return None


def same_form(site: Site, one: cst.BaseExpression, other: cst.BaseExpression) -> bool:
    """Whether two tensors computed in the same place have provably the same shape, dtype and device."""
    if site.text(one) == site.text(other):
        return site.tensor(one) is not None
    form = shape(site, one), dtype(site, one)
    return None not in form and form == (shape(site, other), dtype(site, other))


def keeps_dtype(site: Site, tensor: cst.BaseExpression, value: cst.BaseExpression) -> bool:
    """Whether `torch.where` of a tensor and another value provably has the tensor's dtype."""
    own = dtype(site, tensor)
    return own is not None and _arithmetic(site, None, tensor, value) == own


def raises_no_error(site: Site, node: cst.BaseExpression) -> bool:
    """Whether computing a tensor surely raises nothing: all of it is elementwise arithmetic of forms that are known."""
    if number_type(site, node) and not any(isinstance(n, cst.Call | cst.Subscript) for n in walk(node)):
        return not any(isinstance(n, cst.Divide | cst.FloorDivide | cst.Modulo | cst.Power) for n in walk(node))
    known = shape(site, node) is not None and dtype(site, node) is not None
    return known and is_pure(site, [node]) and not any(isinstance(n, cst.Subscript) for n in walk(node))


def keeps_gradients(site: Site, arms: list[cst.BaseExpression]) -> bool:
    """Whether choosing between the arms leaves the gradients as they are: none are computed, or the arms depend on the
    same tensors in ways whose gradient is finite."""
    if without_gradients(site) or all(_family(site, a) in ("int", "bool") for a in arms):
        return True
    carriers = [_carriers(site, a) for a in arms]
    return all(c == carriers[0] for c in carriers) and all(_smooth(site, a) for a in arms)


def without_gradients(site: Site) -> bool:
    """Whether the site stands under `no_grad` or `inference_mode`, as a decorator or a `with`."""
    if any(_is_no_grad(site, d.decorator) for d in site.function.decorators):
        return True
    above = [a for a in site.ancestors(site.node) if isinstance(a, cst.With)]
    return any(_is_no_grad(site, item.item) for w in above for item in w.items)


def _is_no_grad(site: Site, node: cst.BaseExpression) -> bool:
    return site.dotted(node.func if isinstance(node, cst.Call) else node) in _NO_GRAD


def _carriers(site: Site, node: cst.CSTNode) -> set[str]:
    """The tensors that a gradient goes back to."""
    name, args = applied(site, node)
    if name in _FILLS | _TESTS | {"detach"} or isinstance(node, cst.Comparison):
        return set()
    if name == "where" and len(args) == 3:
        return _carriers(site, args[1]) | _carriers(site, args[2])
    if name == "masked_fill" and args:
        return _carriers(site, args[0])
    if isinstance(node, cst.Name | cst.Attribute) and not number_type(site, node):
        return {site.text(node)}
    inner = args if args else _parts(node)
    return {found for part in inner for found in _carriers(site, part)}


def _parts(node: cst.CSTNode) -> list[cst.CSTNode]:
    if isinstance(node, cst.BinaryOperation):
        return [node.left, node.right]
    if isinstance(node, cst.UnaryOperation):
        return [node.expression]
    if isinstance(node, cst.Call):
        return [a.value for a in node.args]
    return []


def _smooth(site: Site, node: cst.CSTNode) -> bool:
    if isinstance(node, cst.Name | cst.Attribute | cst.Comparison) or number_type(site, node):
        return True
    if isinstance(node, cst.UnaryOperation):
        return _smooth(site, node.expression)
    if isinstance(node, cst.BinaryOperation):
        sides = [node.left, node.right]
        if isinstance(node.operator, cst.Add | cst.Subtract):
            return all(_smooth(site, s) for s in sides)
        numbers = [s for s in sides if number_type(site, s)]
        if isinstance(node.operator, cst.Multiply):
            return bool(numbers) and all(_smooth(site, s) for s in sides)
        return isinstance(node.operator, cst.Divide) and _nonzero(node.right) and _smooth(site, node.left)
    name, args = applied(site, node)
    return name in _SMOOTH and all(_smooth(site, a) for a in args)


def _nonzero(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Integer | cst.Float) and float(node.evaluated_value) != 0


def is_fresh(site: Site, name: str, before: cst.CSTNode) -> bool:
    """Whether a variable surely holds a tensor that nothing else refers to: every assignment to it up to a statement is
    arithmetic or a function that makes a new tensor, and it is not handed out in between."""
    first = site.span(before)[0]
    stores = [s for s in site.stores(name) if site.span(s)[0] < first]
    if not stores or name in site.parameters():
        return False
    return all(_makes_new(site, site.parent(site.parent(s) or s)) for s in stores) and not _handed_out(
        site, name, before
    )


def is_new(site: Site, node: cst.BaseExpression) -> bool:
    """Whether an expression surely gives a number, or a tensor that nothing else refers to."""
    if isinstance(node, cst.Name):
        return is_fresh(site, node.value, site.statement(node)) or bool(number_type(site, node))
    if isinstance(node, cst.BinaryOperation | cst.UnaryOperation | cst.Comparison | cst.BooleanOperation):
        return True
    return gives_new(site, node) or bool(number_type(site, node))


def _makes_new(site: Site, statement: cst.CSTNode | None) -> bool:
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return False
    value = statement.value
    if isinstance(value, cst.BinaryOperation):
        return site.tensor(value) is not None
    last = site.callee(value).rpartition(".")[2]
    if site.callee(value).startswith("torch.") and last in _FILLS | _FACTORIES:
        return True
    name = applied(site, value)[0]
    return name in (_KEEPS | _FILLS | _FLOAT | _REDUCES | {"where", "masked_fill"}) - _ALIASING


def _handed_out(site: Site, name: str, before: cst.CSTNode) -> bool:
    """Whether something else may hold a variable's tensor, or a view of it, when a statement starts: another variable,
    a container, an attribute, unknown code, a nested function."""
    first = site.span(before)[0]
    loop = site.loop(before)
    for load in site.loads(name):
        earlier = site.span(load)[0] < first or (loop is not None and any(a is loop for a in site.ancestors(load)))
        if earlier and not _leaves_no_alias(site, load):
            return True
    return any(
        isinstance(n, cst.Name) and n.value == name
        for f in walk(site.function.body)
        if isinstance(f, cst.FunctionDef | cst.Lambda)
        for n in walk(f)
    )


def _leaves_no_alias(site: Site, node: cst.CSTNode) -> bool:
    """Whether what is done with a tensor makes no second holder of its contents."""
    above = site.parent(node)
    if isinstance(above, cst.BinaryOperation | cst.UnaryOperation | cst.Comparison | cst.ComparisonTarget | cst.If):
        return True
    if isinstance(above, cst.Subscript):
        return isinstance(site.parent(above), cst.AssignTarget | cst.AugAssign) or _leaves_no_alias(site, above)
    if isinstance(above, cst.Element):
        return _leaves_no_alias(site, above)
    if isinstance(above, cst.Tuple | cst.List):
        return _leaves_no_alias(site, above) if isinstance(site.parent(above), cst.Arg | cst.Return) else False
    if isinstance(above, cst.Return | cst.Assert | cst.AugAssign):
        return True
    if isinstance(above, cst.Attribute):
        call = site.parent(above)
        return above.attr.value in _METADATA or (isinstance(call, cst.Call) and _gives_new(site, call))
    call = site.parent(above) if isinstance(above, cst.Arg) else None
    return isinstance(call, cst.Call) and _gives_new(site, call)


def gives_new(site: Site, node: cst.CSTNode) -> bool:
    """Whether an expression is a call of a torch function whose result shares nothing with its arguments."""
    return isinstance(node, cst.Call) and not is_in_place(node) and _gives_new(site, node)


def is_in_place(call: cst.Call) -> bool:
    """Whether a call is one of a method that changes its object: `x.add_(1)`, whose result is `x`."""
    name = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
    return name.endswith("_") and not name.endswith("__")


def _gives_new(site: Site, call: cst.Call) -> bool:
    """Whether a call is one of a torch function whose result shares nothing with its arguments."""
    name = site.callee(call)
    last = name.rpartition(".")[2]
    own = _KEEPS | _FILLS | _BOUNDS | _FLOAT | _REDUCES | _TESTS | _NEW
    return name.startswith("torch.") and last in own - _ALIASING


def _is_elementwise(node: cst.BinaryOperation) -> bool:
    return isinstance(node.operator, _ELEMENTWISE)


def _are_plain(site: Site, nodes: list[cst.BaseExpression]) -> bool:
    return all(site.is_plain(n) or number_type(site, n) for n in nodes)


def _rank(site: Site, node: cst.CSTNode) -> int | None:
    tensor = site.tensor(node)
    return tensor.rank if tensor is not None else None


def _family(site: Site, node: cst.CSTNode) -> str:
    """ "float", "int", "bool" or "" of a tensor or number."""
    tensor = site.tensor(node)
    return tensor.dtype if isinstance(tensor, Tensor) else number_type(site, node)
