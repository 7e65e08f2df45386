"""The parts of an `and` or `or` change places: facts that Python settles come first.

What it does:
    `if (x > 0).any() and self.training:` becomes `if self.training and (x > 0).any():`. Where the fact decides, the
    tensor is never asked and nothing breaks.
Applicability:
    Safe where all parts are without effect, and neither those that move in front nor those behind them raise an error.
    Unsafe where one of them may: an error that a part kept away is raised, or one that was raised goes unnoticed.
Preconditions:
    A fact about Python stands behind a test of a tensor; no part has an effect.
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
    is_pure,
    is_tensor_test,
    raises_nothing,
    require,
    tested,
    walk,
)

_TOTAL = frozenset({"sum", "any", "all", "isnan", "isinf", "isfinite", "numel"})  # of any tensor


class FactsFirst(Codemod):
    """Tests that ask a tensor before they ask Python."""

    meta = CodemodMeta(
        name="facts-first",
        summary="facts that Python settles are tested before tensors",
        fixes=("branch-on-tensor", "read-tensor-value"),
        rank=5,
    )

    EXAMPLES = (
        Example(
            """
import torch
from torch import nn

class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.clip = False
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        x = self.linear(x)
        if (x > 3).any() and self.clip:
            x = x.clamp(max=3)
        return x

torch.manual_seed(0)
head = torch.compile(Head())
print(f"checksum {head(torch.ones(1, 2)).sum().item():.4f}")
""",
            """
import torch
from torch import nn

class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.clip = False
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        x = self.linear(x)
        if self.clip and (x > 3).any():
            x = x.clamp(max=3)
        return x

torch.manual_seed(0)
head = torch.compile(Head())
print(f"checksum {head(torch.ones(1, 2)).sum().item():.4f}")
""",
        ),
        Example(
            """
import torch

@torch.compile
def f(x: torch.Tensor, always: bool):
    y = x + 1
    if y.sum() < 0 or (y > 9).any() or always:
        y = y * 2
    return y

print("checksum", f(torch.ones(2), True).sum().item())
""",
            """
import torch

@torch.compile
def f(x: torch.Tensor, always: bool):
    y = x + 1
    if always or y.sum() < 0 or (y > 9).any():
        y = y * 2
    return y

print("checksum", f(torch.ones(2), True).sum().item())
""",
        ),
        Example(
            """
import torch

@torch.compile
def f(x: torch.Tensor, few: bool, many: bool):
    if torch.any(x > 3) or few and many:
        x = x + 1
    if not (x > 3).any() and not few:
        x = x + 2
    if 0 < x.sum() and (not few or not many):
        x = x + 3
    if (torch.sum(x).item() > 99 and not many) and few:
        x = x + 4
    if few and x.sum() > 0 and not many:
        x = x + 5
    return x

print("checksum", f(torch.ones(2), True, True).sum().item())
""",
            """
import torch

@torch.compile
def f(x: torch.Tensor, few: bool, many: bool):
    if (few and many) or torch.any(x > 3):
        x = x + 1
    if not few and not (x > 3).any():
        x = x + 2
    if (not few or not many) and 0 < x.sum():
        x = x + 3
    if (not many and torch.sum(x).item() > 99) and few:
        x = x + 4
    if few and not many and x.sum() > 0:
        x = x + 5
    return x

print("checksum", f(torch.ones(2), True, True).sum().item())
""",
        ),
        Example(
            """
import torch

@torch.compile
def f(x: torch.Tensor, names: list, count, scale):
    if x and not names:
        x = x + 1
    if x.mean() > 0 and names[0]:
        x = x + 2
    if (x > scale).all() and count.off:
        x = x + 3
    if torch.max(x, 0).values > 9 and not names:
        x = x + 4
    return x

class Count:
    off = False

print("checksum", f(torch.ones(1), [""], Count(), torch.ones(1)).sum().item())
""",
            """
import torch

@torch.compile
def f(x: torch.Tensor, names: list, count, scale):
    if not names and x:
        x = x + 1
    if names[0] and x.mean() > 0:
        x = x + 2
    if count.off and (x > scale).all():
        x = x + 3
    if not names and torch.max(x, 0).values > 9:
        x = x + 4
    return x

class Count:
    off = False

print("checksum", f(torch.ones(1), [""], Count(), torch.ones(1)).sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

def noted(names):
    names.append("x")
    return False

@torch.compile
def f(x: torch.Tensor, names: list):
    if x.sum() > 0 and noted(names):
        x = x + 1
    return x * 2

f(torch.ones(2), [])
""",
            "may have an effect",
        ),
        Declined(
            """
import torch

def noted(names, x):
    names.append(x)
    return False

@torch.compile
def f(x: torch.Tensor, names: list, flag: bool):
    if flag and x.sum() > 0:
        x = x + 1
    if flag and not x.sum() or flag:
        x = x + 2
    if x.sum() > 0 and x.sum() < 9:
        x = x + 3
    while noted(names, (x > 0).any() and flag):
        x = x + 4
    if [(x > 0).any() and flag]:
        x = x + 5
    if x.any() or noted(names, x):
        x = x + 6
    return x * 2

f(torch.ones(2), [], True)
""",
            "may have an effect",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        if not isinstance(site.node, cst.BaseExpression):
            return None
        holder, _ = tested(site)
        if holder is None:
            return None
        whole = _innermost(site, site.node)
        if whole is None:
            return None
        parts = _parts(whole, type(whole.operator))
        asked = [is_tensor_test(site, p) for p in parts]
        if True not in asked:
            return None
        first = asked.index(True)
        late = [p for p, tensor in zip(parts, asked, strict=True) if not tensor and parts.index(p) > first]
        if not late:
            return None
        require(is_pure(site, parts), "a part of the test may have an effect")
        rest = [p for p in parts if p not in late]
        ordered = [*parts[:first], *late, *rest[first:]]
        doubt = "" if all(_is_total(site, p) for p in late) else "; an error in a part that was skipped would be raised"
        if not all(_is_sound(site, p) for p in rest[first:]):
            doubt += "; an error in the test of a tensor may go unnoticed"
        word = " and " if isinstance(whole.operator, cst.And) else " or "
        text = word.join(_operand(site, p) for p in ordered)
        message = f"test facts about Python before tensors{doubt}"
        return Repair("unsafe" if doubt else "safe", message, [site.replace(whole, text)])


def _innermost(site: Site, node: cst.CSTNode) -> cst.BooleanOperation | None:
    """The `and` or `or` that a test of a tensor is part of, with all its operands of the same kind."""
    above = site.parent(node)
    while above is not None and not isinstance(above, cst.BooleanOperation):
        if not isinstance(above, cst.UnaryOperation | cst.Comparison | cst.ComparisonTarget | cst.Call | cst.Arg):
            return None
        above = site.parent(above)
    outer = site.parent(above) if above is not None else None
    while (
        isinstance(above, cst.BooleanOperation)
        and isinstance(outer, cst.BooleanOperation)
        and type(outer.operator) is type(above.operator)
        and not above.lpar
    ):
        above, outer = outer, site.parent(outer)
    return above if isinstance(above, cst.BooleanOperation) else None


def _parts(node: cst.BaseExpression, operator: type[cst.BaseBooleanOp]) -> list[cst.BaseExpression]:
    if isinstance(node, cst.BooleanOperation) and isinstance(node.operator, operator):
        return [*_parts(node.left, operator), *_parts(node.right, operator)]
    return [node]


def _operand(site: Site, node: cst.BaseExpression) -> str:
    loose = isinstance(node, cst.BooleanOperation) and not node.lpar
    return f"({site.flat(node)})" if loose else site.flat(node)


def _is_sound(site: Site, node: cst.BaseExpression) -> bool:
    """Whether a test surely has a truth value, that of one element, and raises nothing on the way to it."""
    if isinstance(node, cst.BooleanOperation):
        return _is_sound(site, node.left) and _is_sound(site, node.right)
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
        return _is_sound(site, node.expression)
    sides = [node.left, *(t.comparator for t in node.comparisons)] if isinstance(node, cst.Comparison) else [node]
    return _raises_nothing(site, node) and all(_is_single(site, side) for side in sides)


def _is_single(site: Site, node: cst.BaseExpression) -> bool:
    tensor = site.tensor(node)
    return site.is_plain(node) or (tensor is not None and tensor.rank == 0)


def _raises_nothing(site: Site, node: cst.BaseExpression) -> bool:
    """Names, and reductions and comparisons with numbers that work for tensors of any type and size."""
    if isinstance(node, cst.Comparison):
        sides = [node.left, *(t.comparator for t in node.comparisons)]
        several = [s for s in sides if not _is_single(site, s)]
        return len(several) < 2 and all(_raises_nothing(site, s) for s in sides)
    if isinstance(node, cst.Call):
        space, _, last = site.callee(node).rpartition(".")
        given = [a.value for a in node.args]
        if space == "torch.Tensor" and isinstance(node.func, cst.Attribute):
            given.append(node.func.value)
        tensor = site.tensor(given[0]) if len(given) == 1 and space.startswith("torch") else None
        single = last == "item" and tensor is not None and tensor.rank == 0
        return tensor is not None and (last in _TOTAL or single) and _raises_nothing(site, given[0])
    return _is_total(site, node)


def _is_total(site: Site, node: cst.BaseExpression) -> bool:
    """Whether a fact can be asked for without the tests in front of it: names, attributes of `self`, comparisons."""
    inner = [n.value for n in walk(node) if isinstance(n, cst.Attribute)]
    known = all((isinstance(n, cst.Name) and n.value == "self") or site.value(n) is not None for n in inner)
    return known and raises_nothing(site, node)
