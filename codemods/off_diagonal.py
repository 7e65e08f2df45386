"""Reads through the mask of a diagonal, or of all but the diagonal, as views: where the elements stand is known.

What it does:
    With `mask = torch.eye(n, dtype=torch.bool)`, `x[mask]` becomes `x.diagonal()`, and `x[~mask]` becomes
    `x.flatten()[1:].view(n - 1, n + 1)[:, :-1].flatten()`, which has the same elements in the same order;
    `x[..., mask]` likewise over the last two dimensions.
Applicability:
    Safe where `x` is known to have two dimensions and the result is only read. Unsafe where `x` is taken to, or where
    the result, which may share memory with `x`, is handed on.
Preconditions:
    The mask is `torch.eye` of one size, its negation, or either as booleans, perhaps held in a variable that is bound
    once in front.
Instead:
    `torch.where` with the mask, or indices made once outside the compiled region.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Declined,
    Example,
    Repair,
    Site,
    as_tensor,
    bound_to,
    may_change,
    only_read,
    put,
    require,
)

CASTS = ("bool", "to", "type")


class OffDiagonal(Codemod):
    """Masks that come from `torch.eye`."""

    meta = CodemodMeta(
        name="off-diagonal",
        summary="read a diagonal, or all but it, by position instead of by a mask",
        fixes=("boolean-mask-read",),
        rank=5,
    )
    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
def similarities(a, b):
    n = a.shape[0]
    diagonal = torch.eye(n, dtype=torch.bool, device=a.device)
    sim = a @ b.t()
    positive = sim[diagonal]
    negative = sim[~diagonal].view(n, -1)
    return positive, negative

print("checksum", similarities(torch.ones(3, 2), torch.arange(6.0).view(3, 2)))
""",
            """
import torch

@torch.compile
def similarities(a, b):
    n = a.shape[0]
    diagonal = torch.eye(n, dtype=torch.bool, device=a.device)
    sim = a @ b.t()
    positive = sim.diagonal()
    negative = sim.flatten()[1:].view(n - 1, n + 1)[:, :-1].flatten().view(n, -1)
    return positive, negative

print("checksum", similarities(torch.ones(3, 2), torch.arange(6.0).view(3, 2)))
""",
            "unsafe",
        ),
        Example(
            """
import torch

@torch.compile
def redundancy(c: torch.Tensor):
    away = ~torch.eye(3).bool()
    return c[..., away].sum(-1)

print("checksum", redundancy(torch.arange(18.0).view(2, 3, 3)))
""",
            """
import torch

@torch.compile
def redundancy(c: torch.Tensor):
    away = ~torch.eye(3).bool()
    return c.flatten(-2)[..., 1:].unflatten(-1, (2, 4))[..., :-1].flatten(-2).sum(-1)

print("checksum", redundancy(torch.arange(18.0).view(2, 3, 3)))
""",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def picked(x, mask):
    return x[mask] * 2

picked(torch.ones(3, 3), torch.eye(3, dtype=torch.bool))
""",
            "is not known to come from `torch.eye`",
        ),
        Declined(
            """
import torch

@torch.compile
def wide(x):
    return x[torch.eye(2, 3, dtype=torch.bool)] * 2

wide(torch.ones(2, 3))
""",
            "is not known to be square",
        ),
        Declined(
            """
import torch

@torch.compile
def doubled(x):
    x = x.clone()
    x[torch.eye(3, dtype=torch.bool)] *= 2
    return x

doubled(torch.ones(3, 3))
""",
            "is written",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        node = site.node.target if isinstance(site.node, cst.AugAssign) else site.node
        require(isinstance(node, cst.Subscript), "the tensor is read in another way than by a subscript")
        assert isinstance(node, cst.Subscript)
        mask, leading = _mask(node)
        eye, off = _eye(site, mask, True)
        require(eye is not None, f"`{site.flat(mask)}` is not known to come from `torch.eye`")
        assert eye is not None
        sizes = [a for a in eye.args if a.keyword is None]
        require(len(sizes) == 1 and not sizes[0].star, f"`{site.flat(eye)}` is not known to be square")
        above = site.parent(node)
        require(not isinstance(above, cst.AugAssign | cst.AssignTarget), f"`{site.flat(node)}` is written")
        text = _text(site, node, sizes[0].value, leading, off)
        tensor = as_tensor(site.value(node.value))
        known = leading or (tensor is not None and tensor.rank == 2)
        doubt = "" if known else "takes the tensor to have two dimensions"
        if known and not only_read(site, node):
            doubt = "the result may share memory with the tensor"
        return Repair(
            "unsafe" if doubt else "safe",
            f"read by position; {doubt}" if doubt else "read by position",
            put(site, site.statement(node), {node: text}),
        )


def _mask(node: cst.Subscript) -> tuple[cst.BaseExpression, bool]:
    """The mask, and whether an ellipsis stands in front of it."""
    parts = [e.slice for e in node.slice]
    leading = len(parts) == 2 and isinstance(parts[0], cst.Index) and isinstance(parts[0].value, cst.Ellipsis)
    last = parts[-1]
    require(isinstance(last, cst.Index) and (len(parts) == 1 or leading), "the mask stands among other indices")
    assert isinstance(last, cst.Index)
    return last.value, leading


def _eye(site: Site, node: cst.BaseExpression, follow: bool, off: bool = False) -> tuple[cst.Call | None, bool]:
    """The call of `torch.eye` that a mask is made of, and whether it is negated."""
    if isinstance(node, cst.Name) and follow:
        value = bound_to(site, node)
        found = _eye(site, value, True, off) if value is not None else (None, off)
        require(found[0] is None or not may_change(site, node), f"`{node.value}` may be changed in place")
        return found
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.BitInvert):
        return _eye(site, node.expression, follow, not off)
    if not isinstance(node, cst.Call):
        return None, off
    name = site.callee(node)
    if name == "torch.eye":
        return node, off
    if name == "torch.logical_not" and node.args:
        return _eye(site, node.args[0].value, follow, not off)
    if isinstance(node.func, cst.Attribute) and node.func.attr.value in CASTS:
        return _eye(site, node.func.value, follow, off)
    return None, off


def _text(site: Site, node: cst.Subscript, size: cst.BaseExpression, leading: bool, off: bool) -> str:
    base, n = site.operand(node.value), site.operand(size)
    if not off:
        return f"{base}.diagonal(dim1=-2, dim2=-1)" if leading else f"{base}.diagonal()"
    less, more = (str(int(n) - 1), str(int(n) + 1)) if n.isdigit() else (f"{n} - 1", f"{n} + 1")
    if leading:
        return f"{base}.flatten(-2)[..., 1:].unflatten(-1, ({less}, {more}))[..., :-1].flatten(-2)"
    return f"{base}.flatten()[1:].view({less}, {more})[:, :-1].flatten()"
