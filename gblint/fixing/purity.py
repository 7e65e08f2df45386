"""What running code can do besides giving a value: side effects, names it changes, errors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import libcst as cst

from gblint.interpreter.values import Const, DataScalar, Mapping, Plain, Sequence, Tensor, Value, members
from gblint.interpreter.walk import only, walk, walk_scope

if TYPE_CHECKING:
    from gblint.fixing.site import Site

# Builtins that only look at what they get.
_BUILTINS = frozenset(
    "abs bool dict divmod enumerate float frozenset getattr hasattr id int isinstance issubclass len list max min "
    "range repr reversed round set slice sorted str sum tuple type zip".split()
)
_RANDOM = ("rand", "bernoulli", "multinomial", "normal", "poisson", "dropout", "gumbel", "rrelu")
_NAMESPACES = ("torch.", "math.", "operator.", "numpy.")
_IMPURE = ("torch.save", "torch.load", "torch.manual_seed", "torch.set_", "torch.use_", "torch.seed", "torch._dynamo")
_BINDERS = (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.For, cst.CompFor, cst.Del)
_NAMERS = (cst.AsName, cst.FunctionDef, cst.ClassDef)
_KNOWN = (Tensor, Const, Plain, DataScalar, Sequence, Mapping)


def is_pure(site: Site, nodes: Iterable[cst.CSTNode]) -> bool:
    """Whether evaluating expressions changes nothing, draws no random number and calls only what is known to do
    neither: operators and functions of torch and a few builtins. Attribute and item access of tensors, numbers and
    containers is pure; that of unknown objects is taken to be."""
    return all(_pure(site, node) for node in walk_all(nodes))


def walk_all(nodes: Iterable[cst.CSTNode]) -> Iterable[cst.CSTNode]:
    """As `walk`, for several nodes."""
    for node in nodes:
        yield from walk(node)


def _pure(site: Site, node: cst.CSTNode) -> bool:
    if isinstance(node, cst.Await | cst.Yield | cst.NamedExpr):
        return False
    if not isinstance(node, cst.Call):
        return True
    name = site.callee(node)
    last = name.rpartition(".")[2]
    if name.startswith("builtins."):
        return last in _BUILTINS
    if not name.startswith(_NAMESPACES) or name.startswith(_IMPURE):
        return False
    if last.endswith("_") and not last.startswith("__"):
        return False
    if any(word in name.removeprefix("torch.Tensor.") for word in _RANDOM):
        return False
    return not any(a.keyword is not None and a.keyword.value in ("out", "inplace") for a in node.args)


def raises_nothing(site: Site, node: cst.BaseExpression) -> bool:
    """Whether an expression is a name, a literal, or elementwise arithmetic and comparison of known values: what can be
    run where it did not run before without a new error."""
    for part in walk(node):
        if isinstance(part, cst.Call | cst.Subscript | cst.Await | cst.Yield):
            return False
        if isinstance(part, cst.BinaryOperation):
            if isinstance(part.operator, cst.FloorDivide | cst.Modulo | cst.Divide | cst.MatrixMultiply):
                left, right = site.value(part.left), site.value(part.right)
                if not (_is_tensor(left) or _is_tensor(right)) or isinstance(part.operator, cst.MatrixMultiply):
                    return False
            elif not (_known(site.value(part.left)) and _known(site.value(part.right))):
                return False
    return True


def _is_tensor(value: Value | None) -> bool:
    return value is not None and all(isinstance(m, Tensor) for m in members(value))


def _known(value: Value | None) -> bool:
    return value is not None and all(isinstance(m, _KNOWN) for m in members(value))


def changed_names(nodes: Iterable[cst.CSTNode]) -> set[str]:
    """Variables that statements bind (nested functions left out): assignments, loops, imports, `with`, `del`."""
    found: set[str] = set()
    for node in only(walk_scope(list(nodes)), *_BINDERS, *_NAMERS, cst.ImportAlias):
        if isinstance(node, _BINDERS):
            found.update(_targets(node.target))
        elif isinstance(node, _NAMERS) or (isinstance(node, cst.ImportAlias) and node.asname is None):
            found.update(_targets(node.name))
    return found


def _targets(target: cst.CSTNode) -> Iterable[str]:
    if isinstance(target, cst.Name):
        yield target.value
    elif isinstance(target, cst.Tuple | cst.List):
        for element in target.elements:
            yield from _targets(element.value)
    elif isinstance(target, cst.StarredElement):
        yield from _targets(target.value)


def call_is_pure(site: Site, call: cst.Call) -> bool:
    """As `is_pure` for the call alone: what its arguments do is another question."""
    return _pure(site, call)
