"""Writes through a mask: whether they fit, so that one through an empty mask does nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from gblint.fixing.forms import applied, number_type, same_form, shape

if TYPE_CHECKING:
    from gblint.fixing.site import Site


def bare(site: Site, node: cst.CSTNode) -> str:
    """The text of an expression without parentheses around it."""
    text = site.text(node)
    for _ in getattr(node, "lpar", ()):
        text = text[1:-1].strip()
    return text


def indexed_by(site: Site, target: cst.BaseExpression, mask: str) -> bool:
    """Whether a target is a subscript with a mask, given as text, among its indices."""
    if not isinstance(target, cst.Subscript):
        return False
    indices = [e.slice.value for e in target.slice if isinstance(e.slice, cst.Index)]
    return any(bare(site, i) == mask for i in indices)


def fits_mask(site: Site, small: cst.BaseSmallStatement, mask: cst.BaseExpression) -> bool:
    """Whether a write through a mask surely raises no error: the mask has the shape of the tensor, and
    the values can be converted to its type."""
    if isinstance(small, cst.Expr):
        written, _, value = applied(site, small.value)[1]
    else:
        assert isinstance(small, cst.Assign | cst.AugAssign)
        target = small.target if isinstance(small, cst.AugAssign) else small.targets[0].target
        if not isinstance(target, cst.Subscript) or len(target.slice) != 1:
            return False
        written, value = target.value, small.value
    form = shape(site, written)
    if form is None or form != shape(site, mask):
        return False
    tensor = site.tensor(written)
    if number_type(site, value):
        return isinstance(small, cst.Assign) or (tensor is not None and tensor.dtype == "float")
    whole = isinstance(value, cst.Subscript) and indexed_by(site, value, bare(site, mask))
    return isinstance(value, cst.Subscript) and whole and same_form(site, value.value, written)
