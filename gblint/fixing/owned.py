"""Whether a variable holds a tensor that nothing else refers to: binding it anew is as good as a change in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from gblint.fixing.flow import reads
from gblint.fixing.forms import gives_new
from gblint.fixing.masked import bound_to, mask_of
from gblint.fixing.site import Refusal
from gblint.interpreter.values import Const, Instance, Mapping, Plain, Sequence, members
from gblint.interpreter.walk import walk

if TYPE_CHECKING:
    from gblint.fixing.site import Site

# What gives a tensor of its own.
MAKERS = frozenset(
    "clone zeros ones empty full rand randn arange zeros_like ones_like empty_like full_like rand_like randn_like "
    "new_zeros new_ones new_empty new_full where cat stack masked_fill".split()
)
READERS = MAKERS | {"sum", "mean", "max", "min", "any", "all", "exp", "log", "size"}


def is_own(site: Site, name: cst.BaseExpression) -> bool:
    """Whether a place names a variable of the function whose tensor was made there and has been handed to nothing that
    could keep it."""
    if not isinstance(name, cst.Name) or _is_captured(site, name.value):
        return False
    made = bound_to(site, name)
    if made is None or not _makes(site, made):
        return False
    loop = site.loop(name)
    begin = site.statement(made)
    for use in site.loads(name.value):
        early = use in site.after(begin) and name in site.after(use)
        if (early or (loop is not None and loop in site.ancestors(use))) and not _is_harmless(site, use):
            return False
    return True


VIEWS = frozenset(
    "view reshape flatten unflatten squeeze unsqueeze t transpose permute expand expand_as view_as diagonal unbind "
    "chunk split narrow select detach contiguous to float type".split()
)
_VIEWED = ("T", "mT", "H", "mH", "data", "real", "imag")


def viewed(node: cst.BaseExpression) -> cst.BaseExpression:
    """What an expression is a view of, or may be: `x` for `x.detach()[0].T`."""
    while True:
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in VIEWS:
            node = node.func.value
        elif isinstance(node, cst.Subscript) or (isinstance(node, cst.Attribute) and node.attr.value in _VIEWED):
            node = node.value
        else:
            return node


def views(site: Site, name: str) -> set[str]:
    """The variables that a variable is another name for or a view of, or may be."""
    assigns = [site.parent(site.parent(store) or store) for store in site.stores(name)]
    sources = [viewed(a.value) for a in assigns if isinstance(a, cst.Assign)]
    return {source.value for source in sources if isinstance(source, cst.Name)}


def only_read(site: Site, node: cst.BaseExpression) -> bool:
    """Whether the tensor that an expression gives is used as an operand or an argument and no more: nothing changes it,
    and nothing that could is given it. Then it makes no difference if it shares memory."""
    try:
        return all(_is_reader(site, place) for place in reads(site, node))
    except Refusal:
        return False


def _is_reader(site: Site, place: cst.BaseExpression) -> bool:
    above = site.parent(place)
    if isinstance(above, cst.BinaryOperation | cst.UnaryOperation | cst.Comparison | cst.ComparisonTarget):
        return True
    call = site.parent(above) if isinstance(above, cst.Attribute | cst.Arg) else None
    if isinstance(above, cst.Attribute) and above.attr.value in ("shape", "dtype", "device"):
        return True
    if not isinstance(call, cst.Call) or not site.callee(call).startswith("torch."):
        return False
    last = site.callee(call).rpartition(".")[2]
    return only_read(site, call) if last in VIEWS else not last.endswith("_")


def may_change(site: Site, node: cst.BaseExpression) -> bool:
    """Whether the tensor that an expression gives may share memory with something that the function changes in place,
    or hands to code that could: what is read from it now and what is read later may differ."""
    if isinstance(node, cst.BinaryOperation | cst.UnaryOperation | cst.Comparison) or gives_new(site, node):
        return False
    own = isinstance(node, cst.Name) and _has_one_name(site, node)
    written = [w for n in walk(site.function.body) for w in _written(site, n)]
    return any(not own or any(isinstance(n, cst.Name) and n.value == site.text(node) for n in walk(w)) for w in written)


def _has_one_name(site: Site, name: cst.Name) -> bool:
    """Whether the tensor of a variable was made by an operation for it, and no other variable can refer to it."""
    made = None if _is_captured(site, name.value) else bound_to(site, name)
    if made is None or not (isinstance(made, cst.BinaryOperation) or gives_new(site, made)):
        return False
    for use in site.loads(name.value):
        above = site.parent(use)
        viewed = isinstance(above, cst.Attribute) and above.attr.value in VIEWS
        if viewed or isinstance(above, cst.Subscript | cst.Assign | cst.AnnAssign | cst.NamedExpr | cst.IfExp):
            return False
    return True


def _written(site: Site, node: cst.CSTNode) -> list[cst.CSTNode]:
    """What a node may change in place: tensors, and what is given to code that is not known."""
    if isinstance(node, cst.AugAssign):
        return [] if site.is_plain(node.target) else [node.target]
    if isinstance(node, cst.AssignTarget):
        return [node.target] if isinstance(node.target, cst.Subscript) and _is_tensor(site, node.target.value) else []
    if not isinstance(node, cst.Call):
        return []
    value = site.value(node.func)
    modules = value is not None and all(
        isinstance(m, Instance) and m.cls is None and m.base.startswith("torch.nn.") for m in members(value)
    )
    callee = site.callee(node)
    if modules or callee.startswith("builtins."):
        return []
    known = callee.startswith(("torch.", "math.", "numpy.")) and not callee.endswith("_")
    return [] if known and not any(a.keyword and a.keyword.value in ("out", "inplace") for a in node.args) else [node]


def _is_tensor(site: Site, node: cst.CSTNode) -> bool:
    value = site.value(node)
    return value is None or not all(isinstance(m, Mapping | Sequence | Plain | Const) for m in members(value))


def _is_captured(site: Site, name: str) -> bool:
    inner = (n for n in walk(site.function.body) if isinstance(n, cst.FunctionDef | cst.Lambda))
    return any(isinstance(n, cst.Name) and n.value == name for f in inner for n in walk(f))


def _makes(site: Site, node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.BinaryOperation):
        return site.tensor(node) is not None
    return site.callee(node).rpartition(".")[2] in MAKERS and site.callee(node).startswith("torch.")


def _is_harmless(site: Site, use: cst.Name) -> bool:
    """Whether a use keeps no reference to the tensor: an operand, a masked read or write, an elementwise method."""
    above = site.parent(use)
    if isinstance(above, cst.BinaryOperation | cst.UnaryOperation | cst.Comparison | cst.ComparisonTarget):
        return True
    if isinstance(above, cst.Subscript) and above.value is use:
        holder = site.parent(above)
        stored = isinstance(holder, cst.AssignTarget | cst.AugAssign) and holder.target is above
        return stored or mask_of(site, above) is not None
    call = site.parent(above) if isinstance(above, cst.Attribute | cst.Arg) else None
    if isinstance(call, cst.Call):
        name = site.callee(call)
        return name.rpartition(".")[2] in READERS
    return isinstance(above, cst.Attribute) and above.attr.value in ("shape", "dtype", "device")
