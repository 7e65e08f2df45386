"""A list made of a tensor (`t.tolist()`) whose elements may as well be tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from gblint.fixing.flow import reads
from gblint.fixing.scalars import Readers
from gblint.interpreter.values import as_tensor
from gblint.interpreter.walk import walk

if TYPE_CHECKING:
    from gblint.fixing.site import Site

REDUCTIONS = ("sum", "max", "min")
HASHING = ("set", "frozenset", "dict.fromkeys", "collections.Counter")
TAKERS = ("torch.tensor", "torch.as_tensor", "numpy.array", "numpy.asarray", "array.array")
PASSING = ("builtins.zip", "builtins.enumerate", "builtins.reversed", "builtins.list", "builtins.tuple")


def listed(readers: Readers, node: cst.CSTNode) -> None:
    """Take `.tolist()` off and follow the elements. Raises Refusal."""
    site = readers.site
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        readers.refuse("the list is made in another way than by `.tolist()`")
    tensor = node.func.value
    value = as_tensor(site.value(tensor))
    if value is not None and value.rank is not None and value.rank != 1:
        readers.refuse("the list has lists in lists, or is a number")
    readers.kind = value.dtype if value is not None else ""
    text = site.operand(tensor)
    if (value is None or value.dtype not in ("int", "bool")) and not text.endswith(".detach()"):
        text += ".detach()"
    if value is None or value.rank is None:
        readers.doubt(f"takes `{site.flat(tensor)}` to have one dimension")
    readers.texts[node] = f"{text}.unbind()"
    if _is_unpacked(readers, node):
        return
    for place in reads(site, node):
        _place(readers, place, node, text)


def _is_unpacked(readers: Readers, node: cst.Call) -> bool:
    """`a, b = t.tolist()`"""
    above = readers.site.parent(node)
    if not isinstance(above, cst.Assign) or len(above.targets) != 1:
        return False
    target = above.targets[0].target
    if not isinstance(target, cst.Tuple | cst.List):
        return False
    for element in target.elements:
        if not isinstance(element.value, cst.Name):
            readers.refuse(f"`{readers.site.flat(target)}` is no row of variables")
        _uses(readers, element.value.value, above)
    return True


def _uses(readers: Readers, name: str, behind: cst.CSTNode) -> None:
    site = readers.site
    for use in site.after(behind):
        if use.value == name and not site.is_store(use) and use not in readers.seen:
            readers.seen.add(use)
            readers.follow_place(use)


def _place(readers: Readers, place: cst.BaseExpression, node: cst.Call, text: str) -> None:
    """One use of the list."""
    site = readers.site
    above = site.parent(place)
    call = site.parent(above) if isinstance(above, cst.Arg) else None
    if isinstance(above, cst.Subscript) and above.value is place and _is_number(above):
        readers.follow(above)
    elif isinstance(above, cst.For | cst.CompFor) and above.iter is place:
        _looped(readers, above, above.target)
    elif (
        isinstance(call, cst.Call) and site.callee(call).removeprefix("builtins.") in REDUCTIONS and len(call.args) == 1
    ):
        word = site.callee(call).removeprefix("builtins.")
        if place is node:
            readers.texts[call] = f"{text}.{word}()"
        elif word != "sum":  # which takes tensors as well, none of them too
            readers.texts[call] = f"torch.stack({site.flat(place)}).{word}()"
        readers.doubt("what Python computed in double precision is computed in that of the tensor")
        readers.follow(call)
    elif isinstance(call, cst.Call) and site.callee(call) == "builtins.len":
        return
    elif isinstance(call, cst.Call) and site.callee(call).removeprefix("builtins.") in HASHING:
        readers.refuse(f"`{site.flat(call)}` compares elements by their hashes, which tensors have by identity")
    elif isinstance(call, cst.Call) and isinstance(above, cst.Arg) and readers.sizes(call, above):
        readers.refuse(f"`{site.flat(call.func)}` needs numbers")
    elif isinstance(call, cst.Call) and site.callee(call) in PASSING:
        _passed(readers, call, above)
    elif isinstance(call, cst.Call) and site.callee(call) in TAKERS:
        readers.refuse(f"`{site.flat(call)}` takes numbers")
    elif isinstance(above, cst.Subscript) and above.value is place:  # a slice is a list too
        readers.texts[node] = f"list({text}.unbind())"
        for part in reads(site, above):
            _place(readers, part, node, text)
    else:
        readers.texts[node] = f"list({text}.unbind())"
        readers.doubt("who reads the list sees tensors")
        readers.handed_on(place)


def _is_number(subscript: cst.Subscript) -> bool:
    return len(subscript.slice) == 1 and isinstance(subscript.slice[0].slice, cst.Index)


def _passed(readers: Readers, call: cst.Call, arg: cst.CSTNode | None) -> None:
    """`for i, v in enumerate(t.tolist())`, `for a, v in zip(names, t.tolist())`."""
    site = readers.site
    above = site.parent(call)
    if not isinstance(above, cst.For | cst.CompFor) or above.iter is not call:
        readers.refuse(f"`{site.flat(call)}` is no loop over the elements")
    place = list(call.args).index(arg) if site.callee(call) == "builtins.zip" else 1  # type: ignore[arg-type]
    if site.callee(call) in ("builtins.zip", "builtins.enumerate"):
        target = above.target
        if not isinstance(target, cst.Tuple) or len(target.elements) <= place:
            readers.refuse(f"`{site.flat(target)}` is no row of variables")
        _looped(readers, above, target.elements[place].value)
    else:
        _looped(readers, above, above.target)


def _looped(readers: Readers, loop: cst.For | cst.CompFor, target: cst.CSTNode) -> None:
    site = readers.site
    if not isinstance(target, cst.Name):
        readers.refuse(f"`{site.text(target)}` is no variable")
    inside: cst.CSTNode = loop.body if isinstance(loop, cst.For) else _comprehension(site, loop)
    for use in walk(inside):
        if isinstance(use, cst.Name) and use.value == target.value and use is not target and use not in readers.seen:
            if use in site.loads(target.value):
                readers.seen.add(use)
                readers.follow_place(use)


def _comprehension(site: Site, loop: cst.CompFor) -> cst.CSTNode:
    return next(a for a in site.ancestors(loop) if isinstance(a, cst.BaseComp))
