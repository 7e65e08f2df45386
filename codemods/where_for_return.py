"""`if c: return a` on a tensor becomes a `return` of `torch.where`.

What it does:
    Where both ways return at once, one `return torch.where(c, a, b)` takes their place. Where much code follows, it
    runs always, and each later `return` chooses between its own value and the early one.
Applicability:
    Safe where the values have provably one shape and dtype, computing them raises nothing and has no effect, gradients
    are what they were, and no value is a tensor that others hold. Unsafe otherwise: the message says what could differ.
Preconditions:
    Every way returns, and as many values, all tensors or numbers. What follows an early `return` has no effect, and it
    does not stand in a loop.
Instead:
    `torch.cond` where one side is costly.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Arm,
    Bind,
    Choice,
    Codemod,
    CodemodMeta,
    Condition,
    Declined,
    Edit,
    Example,
    Repair,
    Selector,
    Site,
    Statement,
    always_returns,
    arm_of,
    body_of,
    calls_of,
    changed_names,
    check_effects,
    comments,
    condition,
    in_place_of,
    indented,
    is_live,
    other_arm,
    parts_of,
    refuse,
    require,
    returned,
    selecting,
    tested,
    walk,
    walk_scope,
)

MESSAGE = "compute both ways and choose with torch.where"


class WhereForReturn(Codemod):
    """Branches that return."""

    meta = CodemodMeta(
        name="where-for-return",
        summary="torch.where chooses between what both ways return",
        fixes=("branch-on-tensor", "tensor-membership", "read-tensor-value"),
        rank=30,
    )

    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
@torch.no_grad()
def sign(x: torch.Tensor):
    if x.sum() > 0:
        return x * 2
    return x * 3

print("checksum", sign(torch.ones(2)).sum().item(), sign(-torch.ones(2)).sum().item())
""",
            """
import torch

@torch.compile
@torch.no_grad()
def sign(x: torch.Tensor):
    return torch.where(x.sum() > 0, x * 2, x * 3)

print("checksum", sign(torch.ones(2)).sum().item(), sign(-torch.ones(2)).sum().item())
""",
        ),
        Example(
            """
import torch

@torch.compile
def pick(x: torch.Tensor, flag: torch.Tensor):
    total = x.sum()
    y = x + 1
    if not flag:
        return y, total
    z = y.cumsum(0)
    if x.dim() == 1:
        return z, total * 2
    return z + 1, total

for flag in (True, False):
    y, total = pick(torch.ones(2), torch.tensor(flag))
    print("checksum", y.sum().item(), total.item())
""",
            """
import torch

@torch.compile
def pick(x: torch.Tensor, flag: torch.Tensor):
    total = x.sum()
    y = x + 1
    chosen = ~flag
    z = y.cumsum(0)
    if x.dim() == 1:
        return torch.where(chosen, y, z), torch.where(chosen, total, total * 2)
    return torch.where(chosen, y, z + 1), total

for flag in (True, False):
    y, total = pick(torch.ones(2), torch.tensor(flag))
    print("checksum", y.sum().item(), total.item())
""",
            "unsafe",
        ),
        Example(
            """
import torch

@torch.compile
def mix(x: torch.Tensor, rows: torch.Tensor, all_of_them: bool):
    if not bool(rows.any()):
        output = x
        return output * 2
    if all_of_them:
        output = x * 3
    else:
        output = torch.where(rows, x * 3, x)
    return output * 2

for rows in ([True, False], [False, False]):
    print("checksum", mix(torch.ones(2), torch.tensor(rows), False).sum().item())
""",
            """
import torch

@torch.compile
def mix(x: torch.Tensor, rows: torch.Tensor, all_of_them: bool):
    output = x
    early = output * 2
    chosen = ~rows.any()
    if all_of_them:
        output = x * 3
    else:
        output = torch.where(rows, x * 3, x)
    return torch.where(chosen, early, output * 2)

for rows in ([True, False], [False, False]):
    print("checksum", mix(torch.ones(2), torch.tensor(rows), False).sum().item())
""",
            "unsafe",
        ),
        Example(
            """
import torch
from torch import nn

class Drop(nn.Module):
    def forward(self, x):
        if self.training and torch.rand(1) < 0.5:
            return torch.zeros_like(x)
        return x * 2

torch.manual_seed(0)
drop = torch.compile(Drop())
print("checksum", sum(drop(torch.ones(2)).sum().item() for _ in range(4)))
""",
            """
import torch
from torch import nn

class Drop(nn.Module):
    def forward(self, x):
        if self.training:
            return torch.where((torch.rand(1) < 0.5).any(), torch.zeros_like(x), x * 2)
        return x * 2

torch.manual_seed(0)
drop = torch.compile(Drop())
print("checksum", sum(drop(torch.ones(2)).sum().item() for _ in range(4)))
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def shorter(x: torch.Tensor):
    if x[-1] == 0:
        return x[:-1]
    return x

@torch.compile
def none(x: torch.Tensor):
    if x.sum() < 0:
        return None
    return x * 2

@torch.compile
def told(x: torch.Tensor):
    if x.sum() < 0:
        return x
    print("positive")
    return x * 2

@torch.compile
def looped(x: torch.Tensor):
    for i in range(3):
        x = x + i
        if x.sum() > 2:
            return x
        x = x * 2
    return x

@torch.compile
def one_arm(x: torch.Tensor):
    if x.sum() < 0:
        return x * 2
    else:
        x = x + 1
    return x

@torch.compile
def fact(x: torch.Tensor, flag: bool):
    if flag and x.sum() < 0:
        return x * 2
    elif flag:
        return x * 3
    else:
        return x

@torch.compile
def shared(x: torch.Tensor):
    y = x + 1
    if x.sum() < 0:
        y = x * 2
        return y
    if x.max() < 0:
        y = x * 2
        return y
    return y * 3

@torch.compile
def much(x: torch.Tensor, flag: bool):
    if flag and x.sum() < 0:
        return x * 2
    if x.sum() < 0:
        return
    if x.max() < 0:
        return x
    if flag:
        return
    z = x * 3
    return z

@torch.compile
def last(x: torch.Tensor):
    if x.sum() < 0:
        return x

for f in (shorter, none, told, looped, one_arm, shared, last):
    f(torch.ones(2))
fact(torch.ones(2), True)
much(torch.ones(2), True)
""",
            "different shapes",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        if not isinstance(site.node, cst.BaseExpression):
            return None
        holder, test = tested(site)
        if not isinstance(holder, cst.If) or not any(isinstance(n, cst.Return) for n in walk_scope([holder.body])):
            return None
        found = condition(site, test)
        yes, no = arm_of(site, body_of(site, holder.body)), other_arm(site, holder)
        if holder.orelse is not None:
            require(no.ending is not None, "only one arm returns")
            return _returning(site, holder, found, yes, no, holder)
        following = site.following(holder)
        require(following, "nothing is returned on the other way")
        if isinstance(following[0], cst.SimpleStatementLine) and isinstance(following[0].body[0], cst.Return):
            return _returning(site, holder, found, yes, arm_of(site, following[:1]), following[0])
        return _leaving(site, holder, found, yes, following)


def _returning(site: Site, holder: cst.If, found: Condition, yes: Arm, no: Arm, last: Statement) -> Repair:
    """Both ways return: one `return` of the chosen value."""
    require(yes.returns and no.returns, "a way returns nothing")
    _check_temporaries(yes, no)
    inner = site.indent(holder) + (site.step if found.python else "")

    def build(selector: Selector) -> str:
        selector.note_result([*yes.returns, *no.returns])
        return yes.text + no.text + returned(selector, yes.returns, no.returns)

    selector, text = selecting(site, found, inner, {*yes.bound, *no.bound}, build)
    selector.note_arms(yes, no)
    if found.python:
        require(no.lines, "a Python fact is part of the test, and an `elif` follows")
        text = f"if {found.python}:\n{indented(text, site.step)}{site.body_text(no.lines, '')}"
    return _chosen(selector, in_place_of(site, holder, last, text))


def _check_temporaries(yes: Arm, no: Arm) -> None:
    leaves = [leaf for c in (*(s.value for s in no.steps if isinstance(s, Bind)), *no.returns) for leaf in c.leaves]
    used = {n.value for leaf in leaves for n in walk(leaf) if isinstance(n, cst.Name)} | set(no.bound)
    shared = set(yes.bound) & used
    require(not shared, f"both ways use `{min(shared, default='')}`")


def _leaving(site: Site, holder: cst.If, found: Condition, yes: Arm, following: list[Statement]) -> Repair:
    """An early `return`: the rest runs anyway, and each later `return` chooses."""
    require(not found.python, f"the test has a part for Python (`{found.python}`) and much code follows")
    require(site.loop(holder) is None, "the function is left from inside a loop")
    require(yes.returns, "a way returns nothing")
    require(always_returns(following[-1]), "nothing is returned on the other way")
    check_effects(site, following)
    for name in yes.bound:
        require(not is_live(site, name, [holder]), f"both ways use `{name}`")
    selector = Selector(site, found, site.fresh("chosen"), site.indent(holder))
    selector.note_arms(yes, Arm([], [], calls=calls_of(site, following)))
    selector.note_result(yes.returns)
    lines, early = _kept(site, yes.returns, following)
    edits = []
    for node in walk_scope(list(following)):
        if isinstance(node, cst.Return):
            if node.value is None:
                refuse("a way returns nothing")
            late = parts_of(site, node.value)
            selector.note_result(late)
            text = returned(selector, early, late).rstrip("\n")
            edits.append(site.replace(node, text.replace("\n", "\n" + site.indent(site.statement(node)))))
    head = f"{comments(site, holder, holder)}{yes.text}{lines}{selector.text} = {found.tensor}\n"
    edits.append(site.replace_lines(holder, holder, head))
    return _chosen(selector, *edits)


def _kept(site: Site, values: list[Choice], following: list[Statement]) -> tuple[str, list[Choice]]:
    """The values of an early `return` under names that stay as they are: the lines that give them, and the names."""
    bound = changed_names(following)
    lines, kept = "", []
    for value in values:
        read = {n.value for leaf in value.leaves for n in walk(leaf) if isinstance(n, cst.Name)}
        if value.text.isidentifier() and value.text not in bound:
            kept.append(value)
            continue
        name = site.fresh("early" if len(values) == 1 else f"early_{len(kept)}")
        lines += f"{name} = {value.text}\n"
        kept.append(Choice(name, [cst.Name(name)] if read & bound else value.leaves))
    return lines, kept


def _chosen(selector: Selector, *edits: Edit) -> Repair:
    return Repair(selector.applicability, selector.message(MESSAGE), [*edits, *selector.imports])
