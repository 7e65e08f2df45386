"""A conditional expression, `and`, `or`, `any()` or `all()` on tensors becomes an operation on tensors.

What it does:
    `a if c else b` becomes `torch.where(c, a, b)`. Where the value is used, `a and b` of boolean tensors becomes
    `a & b`, and `all(x < y for …)` becomes `torch.stack([x < y for …]).all()`.
Applicability:
    Safe where both sides have provably one shape and dtype, raise nothing, have no effect, and leave the gradients as
    they are. Unsafe otherwise: the message says what could differ.
Preconditions:
    Both sides are tensors or numbers without effects or random draws; a number that becomes a tensor is only used in
    arithmetic with tensors. The sides of `and` and `or` are boolean.
Instead:
    Keep the flag a Python bool.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Choice,
    Codemod,
    CodemodMeta,
    Declined,
    Example,
    Refusal,
    Repair,
    Selector,
    Site,
    becomes_tensor,
    calls_of,
    closed,
    condition,
    is_number,
    quantified,
    reads,
    require,
    tested,
)

MESSAGE = "compute both sides and choose with torch.where"


class WhereForExpression(Codemod):
    """Expressions that choose a value."""

    meta = CodemodMeta(
        name="where-for-expression",
        summary="torch.where, &, | in the place of expressions that branch",
        fixes=("branch-on-tensor", "tensor-membership", "read-tensor-value"),
        rank=30,
    )

    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
@torch.no_grad()
def scale(x: torch.Tensor):
    peak = x.abs().max()
    y = (x * 2 if peak > 1 else x + 1) - 1
    return y * 2

print("checksum", scale(torch.ones(2)).sum().item(), scale(torch.ones(2) * 3).sum().item())
""",
            """
import torch

@torch.compile
@torch.no_grad()
def scale(x: torch.Tensor):
    peak = x.abs().max()
    y = torch.where(peak > 1, x * 2, x + 1) - 1
    return y * 2

print("checksum", scale(torch.ones(2)).sum().item(), scale(torch.ones(2) * 3).sum().item())
""",
        ),
        Example(
            """
import torch

@torch.compile
def louder(x: torch.Tensor):
    return x * (2.0 if x.sum() > 3 else 1.0)

print("checksum", louder(torch.ones(2)).sum().item(), louder(torch.ones(2) * 3).sum().item())
""",
            """
import torch

@torch.compile
def louder(x: torch.Tensor):
    return x * torch.where(x.sum() > 3, 2.0, 1.0)

print("checksum", louder(torch.ones(2)).sum().item(), louder(torch.ones(2) * 3).sum().item())
""",
            "unsafe",
        ),
        Example(
            """
import torch

@torch.compile
def rising(x: torch.Tensor):
    positive = (x > 0).all() and x.sum() < 9
    return x * positive, all(a < b for a, b in zip(x[:-1], x[1:]))

for x in (torch.arange(3.0) + 1, torch.ones(3)):
    y, up = rising(x)
    print("checksum", y.sum().item(), bool(up))
""",
            """
import torch

@torch.compile
def rising(x: torch.Tensor):
    positive = (x > 0).all() & (x.sum() < 9)
    return x * positive, torch.stack([a < b for a, b in zip(x[:-1], x[1:])]).all()

for x in (torch.arange(3.0) + 1, torch.ones(3)):
    y, up = rising(x)
    print("checksum", y.sum().item(), bool(up))
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def f(x: torch.Tensor):
    return x[:-1] if x[-1] == 0 else x

f(torch.ones(2))
""",
            "different shapes",
        ),
        Declined(
            """
import torch

@torch.compile
def f(x: torch.Tensor):
    name = "big" if x.sum() > 0 else "small"
    return x + len(name)

f(torch.ones(2))
""",
            "which `torch.where` cannot choose",
        ),
        Declined(
            """
import torch

@torch.compile
def f(x: torch.Tensor):
    n = 3 if x.sum() > 0 else 2
    return torch.ones(n) * x.sum()

f(torch.ones(2))
""",
            "used where a tensor does not go",
        ),
        Declined(
            """
import torch

@torch.compile
def f(x: torch.Tensor):
    return x + (x.sum() or x.max())

f(torch.ones(2))
""",
            "is no boolean",
        ),
        Declined(
            """
import torch

@torch.compile
def long_side(x: torch.Tensor, flag: bool):
    return x * 2 if flag and x.sum() > 0 else x.abs() * 3

long_side(torch.ones(2), True)
""",
            "stand there twice",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        if not isinstance(site.node, cst.BaseExpression):
            return None
        holder, test = tested(site)
        if isinstance(holder, cst.IfExp):
            return _ternary(site, holder)
        if holder is None and site.finding.name != "read-tensor-value":
            return _value(site, test)
        return None


def _value(site: Site, test: cst.BaseExpression) -> Repair | None:
    """`a and b` of boolean tensors, or `all(… for …)`, whose value is used."""
    if isinstance(test, cst.BooleanOperation):
        for side in (test.left, test.right):
            tensor = site.tensor(side)
            boolean = tensor is None or tensor.dtype == "bool"
            require(boolean, f"`{site.text(side)}` is no boolean, and `and` and `or` give one of their sides")
    elif quantified(site, test) is None:
        return None
    found = condition(site, test)
    require(not found.python, "the value may be a Python fact or a tensor")
    above = site.parent(test)
    loose = isinstance(above, cst.BinaryOperation | cst.UnaryOperation | cst.Comparison | cst.Attribute)
    text = found.operand if loose and not test.lpar else found.tensor
    doubts = list(dict.fromkeys(["the value is a tensor, and all tests are computed", *found.doubts]))
    message = "; ".join(["combine the tests as tensors", *doubts[:3]])
    return Repair("unsafe", message, [site.replace(test, text), *found.imports])


def _ternary(site: Site, holder: cst.IfExp) -> Repair:
    found = condition(site, holder.test)
    yes, no = Choice(site.flat(holder.body), [holder.body]), Choice(site.flat(holder.orelse), [holder.orelse])
    selector = Selector(site, found, found.tensor, "")
    selector.note_calls(calls_of(site, [holder.body, holder.orelse]))
    text = selector.select(yes, no)
    if all(is_number(site, arm) for arm in (holder.body, holder.orelse)):
        require(becomes_tensor(site, holder), "the number is used where a tensor does not go")
    _check_number(site, holder)
    if not isinstance(site.parent(holder), cst.BinaryOperation | cst.UnaryOperation | cst.Comparison):
        selector.note_result([yes, no])
    if found.python:
        require(
            _is_short(holder.orelse), "a Python fact is part of the test, and the other side would stand there twice"
        )
        text = f"{text} if {found.python} else {no.text}"
    edit = site.replace(holder, text) if found.python else closed(site, holder, text)
    return Repair(selector.applicability, selector.message(MESSAGE), [edit, *selector.imports])


def _check_number(site: Site, holder: cst.IfExp) -> None:
    """Refuses where a number stands for a tensor, and what the function gives back shows which of them it was."""
    arms = (holder.body, holder.orelse)
    numbers = [arm for arm in arms if is_number(site, arm)]
    tensors = [t for arm in arms if (t := site.tensor(arm)) is not None and t.rank != 0]
    if not numbers or not tensors:
        return
    try:
        places = reads(site, holder)
    except Refusal:
        return
    given = (cst.Return, cst.Yield, cst.Element, cst.DictElement)
    shown = any(isinstance(site.parent(place), given) for place in places)
    require(not shown, f"`{site.flat(numbers[0])}` is one number, and the result would have the shape of the tensor")


def _is_short(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name | cst.Attribute | cst.BaseNumber)
