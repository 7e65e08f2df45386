"""A test that turns a mask which masks nothing into None is dropped: the mask is always used.

What it does:
    `if mask.all(): mask = None`, `mask if (mask == 0).any() else None` and their forms with `return` ask about the
    contents of a mask only to leave it away where it has no effect. The question goes, facts about Python stay.
Applicability:
    Unsafe: whoever takes the mask must treat one that masks nothing as he treats None, and a faster kernel for None is
    no longer chosen.
Preconditions:
    The test asks about the very tensor that is given or left away, by `any`, `all`, a count or a search.
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
    conjuncts,
    is_tensor_test,
    require,
    tested,
    walk,
)

MESSAGE = "always use the mask: wrong where none and one that masks nothing are not treated alike"


class KeepMask(Codemod):
    """Masks that become None by what they hold."""

    meta = CodemodMeta(
        name="keep-mask",
        summary="a mask is used even if it masks nothing",
        fixes=("branch-on-tensor", "read-tensor-value"),
        rank=12,
    )

    EXAMPLES = (
        Example(
            """
import torch
from torch.nn.functional import scaled_dot_product_attention

def prepare(padding):
    if padding is not None and (padding == 0).any():
        return padding[:, None, None, :].bool()
    return None

@torch.compile
def attend(x, padding=None):
    return scaled_dot_product_attention(x, x, x, attn_mask=prepare(padding))

torch.manual_seed(0)
x = torch.rand(2, 1, 3, 4)
for padding in (torch.ones(2, 3), torch.tensor([[1, 1, 0], [1, 1, 1]])):
    print(f"checksum {attend(x, padding).sum().item():.4f}")
""",
            """
import torch
from torch.nn.functional import scaled_dot_product_attention

def prepare(padding):
    if padding is not None:
        return padding[:, None, None, :].bool()
    return None

@torch.compile
def attend(x, padding=None):
    return scaled_dot_product_attention(x, x, x, attn_mask=prepare(padding))

torch.manual_seed(0)
x = torch.rand(2, 1, 3, 4)
for padding in (torch.ones(2, 3), torch.tensor([[1, 1, 0], [1, 1, 1]])):
    print(f"checksum {attend(x, padding).sum().item():.4f}")
""",
            "unsafe",
        ),
        Example(
            """
import torch

@torch.compile
def fill(x, mask=None):
    if mask is not None and torch.all(mask):
        mask = None
    if mask is not None:
        x = x.masked_fill(~mask, -1.0)
    return x.softmax(-1)

for mask in (torch.tensor([True, True]), torch.tensor([True, False])):
    print(f"checksum {fill(torch.ones(2), mask)[0].item():.4f}")
""",
            """
import torch

@torch.compile
def fill(x, mask=None):
    if mask is not None:
        x = x.masked_fill(~mask, -1.0)
    return x.softmax(-1)

for mask in (torch.tensor([True, True]), torch.tensor([True, False])):
    print(f"checksum {fill(torch.ones(2), mask)[0].item():.4f}")
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def f(x: torch.Tensor, mask: torch.Tensor, flag: bool):
    kept = None if flag and mask.all() else mask
    return x if kept is None else x * kept

f(torch.ones(2), torch.ones(2), True)
""",
            "decide together on None",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        if not isinstance(site.node, cst.BaseExpression):
            return None
        holder, _ = tested(site)
        if isinstance(holder, cst.IfExp):
            return _chosen_mask(site, holder)
        return _optional_mask(site, holder) if isinstance(holder, cst.If) else None


def _is_none(node: cst.CSTNode | None) -> bool:
    return node is None or (isinstance(node, cst.Name) and node.value == "None")


def _asks_of(site: Site, test: cst.BaseExpression, mask: cst.BaseExpression) -> bool:
    """Whether the tensor parts of a test ask about the contents of the mask that is given."""
    given = {n.value for n in walk(mask) if isinstance(n, cst.Name)}
    for part in conjuncts(test):
        if is_tensor_test(site, part):
            names = {site.text(c.func).rpartition(".")[2] for c in walk(part) if isinstance(c, cst.Call)}
            used = {n.value for n in walk(part) if isinstance(n, cst.Name)} - {"torch"}
            member = isinstance(part, cst.Comparison) and isinstance(part.comparisons[0].operator, cst.In | cst.NotIn)
            asks = names & {"any", "all", "sum", "min", "max", "eq", "equal", "count_nonzero"} or member
            if not asks or not (used & given):
                return False
    return True


def _chosen_mask(site: Site, holder: cst.IfExp) -> Repair | None:
    """`mask if (mask == 0).any() else None`."""
    sides = [s for s in (holder.body, holder.orelse) if not _is_none(s)]
    if len(sides) != 1 or not _asks_of(site, holder.test, sides[0]):
        return None
    python = [p for p in conjuncts(holder.test) if not is_tensor_test(site, p)]
    require(not python or sides[0] is holder.body, "Python facts and the mask decide together on None")
    text = site.flat(sides[0])
    if python:
        text += f" if {' and '.join(site.operand(p) for p in python)} else None"
    return Repair("unsafe", MESSAGE, [site.replace(holder, text)])


def _optional_mask(site: Site, holder: cst.If) -> Repair | None:
    """`if mask.all(): mask = None`, and `return` in the place of the assignment."""
    if not isinstance(holder.body, cst.IndentedBlock) or len(holder.body.body) != 1:
        return None
    line = holder.body.body[0]
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
    above = site.parent(holder)
    if isinstance(above, cst.If) and above.orelse is holder:
        return None
    if isinstance(small, cst.Assign) and _is_none(small.value) and holder.orelse is None:
        target = small.targets[0].target
        if not _asks_of(site, holder.test, target):
            return None
        return Repair("unsafe", MESSAGE, [site.remove(holder)])
    if isinstance(small, cst.Return) and holder.orelse is None:
        return _returned_mask(site, holder, small)
    return None


def _returned_mask(site: Site, holder: cst.If, small: cst.Return) -> Repair | None:
    following = site.following(holder)
    after = following[0].body[0] if following and isinstance(following[0], cst.SimpleStatementLine) else None
    if (
        _is_none(small.value)
        and isinstance(after, cst.Return)
        and after.value is not None
        and not _is_none(after.value)
    ):
        if _asks_of(site, holder.test, after.value):
            return Repair("unsafe", MESSAGE, [site.remove(holder)])
    if (
        small.value is not None
        and not _is_none(small.value)
        and isinstance(after, cst.Return)
        and _is_none(after.value)
    ):
        if not _asks_of(site, holder.test, small.value):
            return None
        python = [p for p in conjuncts(holder.test) if not is_tensor_test(site, p)]
        if python:
            test = " and ".join(site.operand(p) if len(python) > 1 else site.flat(p) for p in python)
            return Repair("unsafe", MESSAGE, [site.replace(holder.test, test)])
        body = [s for s in holder.body.body if isinstance(s, cst.SimpleStatementLine)]
        return Repair("unsafe", MESSAGE, [site.replace_lines(holder, following[0], site.body_text(list(body), ""))])
    return None
