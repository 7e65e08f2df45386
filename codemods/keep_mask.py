"""A test that turns a mask which masks nothing into None is dropped: the mask is always used.

What it does:
    `if mask.all(): mask = None`, `mask if (mask == 0).any() else None` and their forms with `return` ask about the
    contents of a mask only to leave it away where it has no effect. The question goes, facts about Python stay.
Applicability:
    Unsafe: whoever takes the mask must treat one that masks nothing as he treats None, and a faster kernel for None is
    no longer chosen.
Preconditions:
    The test asks about the very tensor that is given or left away, by `any`, `all`, a count or a search, and compares
    with no other numbers than 0 and 1.
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
    changes_state,
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
        Example(
            """
import torch

def unless_full(mask):
    if 0 not in mask:
        return None
    return mask.bool()

def if_any(mask):
    if mask.max() > 0:
        return -mask
    return

def if_asked(mask, training, deep):
    if (training or deep) and mask.sum() > 0 and deep:
        return mask + 1
    return None

def if_else(mask, training):
    first = None if mask.min() > 0 else mask
    return first, (mask * 2 if training and (mask.count_nonzero() > 0 and training) else None)

@torch.compile
def f(x, mask):
    for kept in (unless_full(mask), if_any(mask), if_asked(mask, True, True), *if_else(mask, True)):
        x = x if kept is None else x * kept
    return x

mask = torch.tensor([0.0, 1.0])
print("checksum", f(torch.ones(2), mask).sum().item())
""",
            """
import torch

def unless_full(mask):
    return mask.bool()

def if_any(mask):
    return -mask

def if_asked(mask, training, deep):
    if (training or deep) and deep:
        return mask + 1
    return None

def if_else(mask, training):
    first = mask
    return first, (mask * 2 if training and training else None)

@torch.compile
def f(x, mask):
    for kept in (unless_full(mask), if_any(mask), if_asked(mask, True, True), *if_else(mask, True)):
        x = x if kept is None else x * kept
    return x

mask = torch.tensor([0.0, 1.0])
print("checksum", f(torch.ones(2), mask).sum().item())
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
        Declined(
            """
import torch

def other(x, mask):
    if mask.all():
        x = None
    return x

def read(x, mask):
    if mask.tolist():
        mask = None
    return mask

def more(x, mask):
    if mask.all():
        mask = None
        x = x + 1
    return mask

def otherwise(x, mask):
    if mask.all():
        mask = None
    else:
        mask = mask + 1
    return mask

def second(x, mask, flag):
    if flag:
        mask = mask + 1
    elif mask.all():
        mask = None
    return mask

def two(x, mask):
    return x if mask.any() else mask

def none(x, mask):
    if mask.any():
        return None
    return None

def both(x, mask):
    if mask.any():
        return mask
    return x

def early(x, mask):
    if mask.any():
        return x
    return None

def late(x, mask):
    if mask.any():
        return None
    return x

def last(x, mask):
    if mask.any():
        return mask

def called(x, mask):
    if mask.any():
        print("any")
    return mask

def branch(x, mask):
    if mask.any():
        return mask
    if x is None:
        return None
    return x

def inside(x, mask):
    if mask.all():
        for mask in [None]:
            pass
    return mask

def beside(x, mask):
    if mask.all():
        mask = None; x = x + 1
    return mask

def twice(x, mask):
    if mask.all():
        x = mask = None
    return mask

def apart(x, mask):
    return mask if (x > 0).all() else None

@torch.compile
def f(x: torch.Tensor, mask: torch.Tensor, flag: bool):
    kept = None if flag and mask.all() else mask
    both(x, mask), early(x, mask), late(x, mask), last(x, mask), called(x, mask), branch(x, mask), inside(x, mask)
    other(x, mask), read(x, mask), more(x, mask), otherwise(x, mask), second(x, mask, not flag), two(x, mask)
    none(x, mask), beside(x, mask), twice(x, mask), apart(x, mask)
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
            numbers = {n.value for n in walk(part) if isinstance(n, cst.Integer | cst.Float)}
            require(numbers <= {"0", "1", "0.0", "1.0"}, f"`{site.text(part)}` asks for more than whether it masks")
            asks = names & {"any", "all", "sum", "min", "max", "count_nonzero"} or member
            if not asks or not (used & given):
                return False
    return True


def _check_making(site: Site, mask: cst.BaseExpression) -> None:
    """Refuses where giving the mask does more than that, which would now always be done."""
    require(not changes_state(site, [mask]), f"`{site.text(mask)}` changes what outlives it")


def _chosen_mask(site: Site, holder: cst.IfExp) -> Repair | None:
    """`mask if (mask == 0).any() else None`."""
    sides = [s for s in (holder.body, holder.orelse) if not _is_none(s)]
    if len(sides) != 1 or not _asks_of(site, holder.test, sides[0]):
        return None
    _check_making(site, sides[0])
    python = [p for p in conjuncts(holder.test) if not is_tensor_test(site, p)]
    require(not python or sides[0] is holder.body, "Python facts and the mask decide together on None")
    text = site.flat(sides[0])
    if python:
        text += f" if {' and '.join(site.operand(p) for p in python)} else None"
    return Repair("unsafe", MESSAGE, [site.replace(holder, text)])


def _optional_mask(site: Site, holder: cst.If) -> Repair | None:
    """`if mask.all(): mask = None`, and `return` in the place of the assignment."""
    above = site.parent(holder)
    if holder.orelse is not None or (isinstance(above, cst.If) and above.orelse is holder):
        return None
    small = _only(holder.body)
    if isinstance(small, cst.Return):
        return _returned_mask(site, holder, small)
    if not isinstance(small, cst.Assign) or len(small.targets) != 1 or not _is_none(small.value):
        return None
    if not _asks_of(site, holder.test, small.targets[0].target):
        return None
    return Repair("unsafe", MESSAGE, [site.remove(holder)])


def _only(body: cst.BaseSuite) -> cst.BaseSmallStatement | None:
    """The one simple statement of a block, if there is no other."""
    line = body.body[0] if len(body.body) == 1 else None
    return line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None


def _returned_mask(site: Site, holder: cst.If, small: cst.Return) -> Repair | None:
    """`if mask.any(): return mask` in front of `return None`, or the other way round."""
    following = site.following(holder)
    after = following[0].body[0] if following and isinstance(following[0], cst.SimpleStatementLine) else None
    if not isinstance(after, cst.Return) or _is_none(small.value) == _is_none(after.value):
        return None
    mask = after.value if _is_none(small.value) else small.value
    assert mask is not None
    if not _asks_of(site, holder.test, mask):
        return None
    _check_making(site, mask)
    if mask is after.value:
        return Repair("unsafe", MESSAGE, [site.remove(holder)])
    python = [p for p in conjuncts(holder.test) if not is_tensor_test(site, p)]
    if python:
        test = " and ".join(site.operand(p) if len(python) > 1 else site.flat(p) for p in python)
        return Repair("unsafe", MESSAGE, [site.replace(holder.test, test)])
    text = site.body_text([line for line in holder.body.body if isinstance(line, cst.SimpleStatementLine)], "")
    return Repair("unsafe", MESSAGE, [site.replace_lines(holder, following[0], text)])
