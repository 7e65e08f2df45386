"""What running code can do besides giving a value: side effects, names it changes, errors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import libcst as cst

from gblint.interpreter.functions import tree_of
from gblint.interpreter.values import Const, DataScalar, Function, Mapping, Plain, Sequence, Tensor, Value, members
from gblint.interpreter.walk import base, only, walk, walk_scope

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
_CHANGES = frozenset(
    "append appendleft extend insert remove pop popleft popitem clear add discard update setdefault".split()
)
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


def changed_in_place(site: Site, node: cst.CSTNode) -> cst.Name | None:
    """The variable whose value a node changes in place."""
    target: cst.CSTNode | None = None
    if isinstance(node, cst.AssignTarget | cst.AugAssign) and isinstance(node.target, cst.Subscript | cst.Attribute):
        target = node.target
    elif isinstance(node, cst.AugAssign) and isinstance(node.target, cst.Name):
        if not site.is_plain(node.target):
            target = node.target
    elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        name = node.func.attr.value
        of_container = name in ("append", "extend", "update", "add", "pop") and site.tensor(node.func.value) is None
        if (name.endswith("_") and not name.endswith("__")) or of_container:
            target = node.func.value
    found = base(target) if target is not None else None
    return found if isinstance(found, cst.Name) else None


def _targets(target: cst.CSTNode) -> Iterable[str]:
    if isinstance(target, cst.Name):
        yield target.value
    elif isinstance(target, cst.Tuple | cst.List):
        for element in target.elements:
            yield from _targets(element.value)
    elif isinstance(target, cst.StarredElement):
        yield from _targets(target.value)


def changes_state(site: Site, nodes: Iterable[cst.CSTNode]) -> bool:
    """Whether evaluating expressions calls a function of the project that changes what outlives the call: a global, or
    an object that it has from outside."""
    for node in walk_all(nodes):
        value = site.value(node.func) if isinstance(node, cst.Call) else None
        functions = [m for m in members(value) if isinstance(m, Function)] if value is not None else []
        trees = [tree_of(site.machine, function) for function in functions]
        if any(tree is not None and _writes_outside(tree.node) for tree in trees):
            return True
    return False


def _writes_outside(function: cst.FunctionDef | cst.Lambda) -> bool:
    own = {p.name.value for p in walk(function.params) if isinstance(p, cst.Param)} | changed_names([function.body])
    for node in walk_scope([function.body]):
        if isinstance(node, cst.Global | cst.Nonlocal):
            return True
        changed: cst.CSTNode | None = None
        if isinstance(node, cst.AssignTarget | cst.AugAssign):
            changed = node.target if isinstance(node.target, cst.Attribute | cst.Subscript) else None
        elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in _CHANGES:
            changed = node.func
        owner = base(changed) if changed is not None else None
        if isinstance(owner, cst.Name) and owner.value not in own:
            return True
    return False


def call_is_pure(site: Site, call: cst.Call) -> bool:
    """As `is_pure` for the call alone: what its arguments do is another question."""
    return _pure(site, call)
