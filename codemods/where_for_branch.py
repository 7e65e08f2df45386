"""A branch on a tensor that assigns variables becomes `torch.where`.

What it does:
    Runs both arms and chooses: `if c: x = a` with or without `else` and `elif` becomes `x = torch.where(c, a, x)`; a
    change in place takes the old contents, or a factor of 1, where it would not have been made. Facts that Python
    settles while tracing (`self.training and …`) stay an `if`. A number read from a tensor only to be tested
    (`t.item() > 0`, `bool(t)`) is tested as the tensor.
Applicability:
    Safe where the arms have provably one shape and dtype, raise nothing, have no effect, leave the gradients as they
    are, and nothing else holds the tensor that is replaced. Unsafe otherwise: the message says what could differ.
Preconditions:
    The arms only assign variables or change tensors in place; they call nothing that is known to have an effect and
    draw no random numbers. What is read afterwards has a value on both ways, and values are tensors or numbers.
Instead:
    `torch.cond` where one side is costly.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Arm,
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
    arm_of,
    body_of,
    bound_before,
    calls_of,
    changed_names,
    check_argument,
    check_effects,
    condition,
    in_place_of,
    indented,
    is_live,
    kind_of,
    merged,
    other_arm,
    require,
    selecting,
    stays_in_lines,
    tested,
    walk_scope,
)

MESSAGE = "compute both sides and choose with torch.where"


class WhereForBranch(Codemod):
    """Branches that assign variables."""

    meta = CodemodMeta(
        name="where-for-branch",
        summary="torch.where chooses between what both arms assign",
        fixes=("branch-on-tensor", "tensor-membership", "read-tensor-value"),
        rank=30,
    )

    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
@torch.no_grad()
def limit(grads, most):
    norm = torch.stack([g.norm() for g in grads]).norm()
    if norm > most:  # only shrink
        for g in grads:
            g.mul_(most / (norm + 1e-6))
    return norm

def scaled(by):
    grads = [torch.full((2,), by), torch.ones(3) * by]
    return limit(grads, 1.0) + grads[0].sum()

print("checksum", scaled(0.1).item(), scaled(2.0).item())
""",
            """
import torch

@torch.compile
@torch.no_grad()
def limit(grads, most):
    norm = torch.stack([g.norm() for g in grads]).norm()
    # only shrink
    chosen = norm > most
    for g in grads:
        g.mul_(torch.where(chosen, most / (norm + 1e-6), 1.0))
    return norm

def scaled(by):
    grads = [torch.full((2,), by), torch.ones(3) * by]
    return limit(grads, 1.0) + grads[0].sum()

print("checksum", scaled(0.1).item(), scaled(2.0).item())
""",
        ),
        Example(
            """
import torch

@torch.compile
def guard(x: torch.Tensor):
    hidden = x * 2
    if torch.isinf(hidden).any() or torch.isnan(hidden).any():
        most = torch.finfo(hidden.dtype).max - 1000
        hidden = torch.clamp(hidden, min=-most, max=most)
    return hidden.tanh()

x = torch.tensor([1.0, float("inf")])
print("checksum", guard(x).sum().item(), guard(torch.ones(2)).sum().item())
""",
            """
import torch

@torch.compile
def guard(x: torch.Tensor):
    hidden = x * 2
    chosen = torch.isinf(hidden).any() | torch.isnan(hidden).any()
    most = torch.finfo(hidden.dtype).max - 1000
    hidden = torch.where(chosen, torch.clamp(hidden, min=-most, max=most), hidden)
    return hidden.tanh()

x = torch.tensor([1.0, float("inf")])
print("checksum", guard(x).sum().item(), guard(torch.ones(2)).sum().item())
""",
        ),
        Example(
            """
import torch
from torch import nn

class Scale(nn.Module):
    def forward(self, x):
        total = x.sum()
        if total > 10:
            y = x * 2
        elif total < -10:
            y = x * 3
        else:
            y = x / total
        if self.training and total.item() < 0.1:
            y = y * 10
        return y

scale = torch.compile(Scale())
print("checksum", *(scale(torch.ones(2) * by).sum().item() for by in (9.0, -9.0, 0.01)))
""",
            """
import torch
from torch import nn

class Scale(nn.Module):
    def forward(self, x):
        total = x.sum()
        y = torch.where(total > 10, x * 2, torch.where(total < -10, x * 3, x / total))
        if self.training:
            y = torch.where(total < 0.1, y * 10, y)
        return y

scale = torch.compile(Scale())
print("checksum", *(scale(torch.ones(2) * by).sum().item() for by in (9.0, -9.0, 0.01)))
""",
            "unsafe",
        ),
        Example(
            """
import torch

STOP = [0, 3]

@torch.compile
def step(token: torch.Tensor):
    out = token * 2
    if token in STOP:
        out = out * 0
    return out

print("checksum", *(step(torch.tensor(t)).item() for t in (1, 3)))
""",
            """
import torch

STOP = [0, 3]

@torch.compile
def step(token: torch.Tensor):
    out = token * 2
    out = torch.where(
        torch.isin(token, torch.tensor(STOP, device=token.device)), out * 0, out
    )
    return out

print("checksum", *(step(torch.tensor(t)).item() for t in (1, 3)))
""",
        ),
        Example(
            """
import torch

@torch.compile
def steps(x: torch.Tensor):
    out = x * 2
    if all(a < b for a, b in zip(x[:-1], x[1:])):
        out = out + 1
    return out

print("checksum", steps(torch.arange(3)).sum().item(), steps(torch.ones(3)).sum().item())
""",
            """
import torch

@torch.compile
def steps(x: torch.Tensor):
    out = x * 2
    out = torch.where(
        torch.stack([a < b for a, b in zip(x[:-1], x[1:])]).all(), out + 1, out
    )
    return out

print("checksum", steps(torch.arange(3)).sum().item(), steps(torch.ones(3)).sum().item())
""",
            "unsafe",
        ),
        Example(
            """
import torch

@torch.compile
@torch.no_grad()
def shared(x: torch.Tensor):
    y = x * 2
    flat = y.view(-1)
    if x.sum() > 10:
        y = y + 1
    return y.sum() + flat.sum()

print("checksum", shared(torch.ones(2)).item(), shared(torch.ones(2) * 9).item())
""",
            """
import torch

@torch.compile
@torch.no_grad()
def shared(x: torch.Tensor):
    y = x * 2
    flat = y.view(-1)
    y = torch.where(x.sum() > 10, y + 1, y)
    return y.sum() + flat.sum()

print("checksum", shared(torch.ones(2)).item(), shared(torch.ones(2) * 9).item())
""",
            "unsafe",
        ),
        Example(
            """
import torch

@torch.compile
@torch.no_grad()
def f(x, w, deep: bool):
    y = x * 2
    if deep and x.sum() > 0:
        if w.dim() == 1:
            y = y + 1
        y = y * 3
    if deep and y.sum() > 0:
        x = x * w
    else:
        x = x * 3
    return y + x

print("checksum", f(torch.ones(2), torch.ones(2), True).sum().item())
""",
            """
import torch

@torch.compile
@torch.no_grad()
def f(x, w, deep: bool):
    y = x * 2
    if deep:
        chosen = x.sum() > 0
        old_y = y
        if w.dim() == 1:
            y = y + 1
        y = y * 3
        y = torch.where(chosen, y, old_y)
    if deep:
        x = torch.where(y.sum() > 0, x * w, x * 3)
    else:
        x = x * 3
    return y + x

print("checksum", f(torch.ones(2), torch.ones(2), True).sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def f(x: torch.Tensor, seen: list):
    if x.sum() > 0:
        print("positive")
    y = x + 1
    if x.sum() > 0:
        y = y + torch.rand(2)
    if x.sum() > 0:
        scale = x * 2
    if x.sum() > 0:
        seen = seen.copy()
        seen.append(x)
    if (x < 0).any():
        raise ValueError("negative")
    return y.sum() if x.dim() == 2 else x + scale + len(seen)

f(torch.ones(2), [])
""",
            "raises an error",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        if not isinstance(site.node, cst.BaseExpression):
            return None
        holder, test = tested(site)
        if not isinstance(holder, cst.If):
            return None
        found = condition(site, test)
        lines = body_of(site, holder.body)
        if holder.orelse is None and stays_in_lines(site, lines):
            leaves = any(isinstance(n, cst.Return) for n in walk_scope(list(lines)))
            require(not leaves, "the branch has tests of its own and returns")
            return _around(site, holder, found, lines)
        yes, no = arm_of(site, lines), other_arm(site, holder)
        if isinstance(yes.ending, cst.Return) and (no.ending is not None or holder.orelse is None):
            return None
        require(not isinstance(yes.ending, cst.Break), "the branch leaves the loop")
        require(not isinstance(yes.ending, cst.Continue), "the branch skips the rest of a loop's round")
        require(yes.ending is None and no.ending is None, "only one arm returns")
        return _assigning(site, holder, found, yes, no)


def _assigning(site: Site, holder: cst.If, found: Condition, yes: Arm, no: Arm) -> Repair:
    inner = site.indent(holder) + (site.step if found.python else "")
    bound = {*changed_names([*yes.lines, *no.lines]), *yes.written, *no.written}
    selector, text = selecting(site, found, inner, bound, lambda s: merged(s, yes, no, [holder]))
    selector.note_arms(yes, no)
    if found.python:
        text = f"if {found.python}:\n{indented(text, site.step)}"
        if holder.orelse is not None:
            require(isinstance(holder.orelse, cst.Else), "a Python fact is part of the test, and an `elif` follows")
            text += f"else:\n{site.body_text(no.lines, site.step)}"
    return _chosen(selector, in_place_of(site, holder, holder, text))


def _around(site: Site, holder: cst.If, found: Condition, lines: list[Statement]) -> Repair:
    """An arm with loops or tests of its own runs as it is; what it has changed is then taken or left."""
    check_effects(site, lines)
    yes = Arm([], lines, calls=calls_of(site, lines))
    names = [n for n in sorted(changed_names(lines)) if is_live(site, n, [holder])]
    require(names, "nothing that the branch assigns is read afterwards")
    for name in names:
        require(bound_before(site, name, holder), f"`{name}` is read afterwards and has no value on the other way")
    for assign in walk_scope(list(lines)):
        if isinstance(assign, cst.Assign) and changed_names([assign]) & set(names):
            kind_of(site, assign.value)  # refuses what is surely no tensor or number
    old = {n: site.fresh(f"old_{n}") for n in names}
    chosen = site.fresh("chosen")
    indent = site.indent(holder) + (site.step if found.python else "")
    selector = Selector(site, found, chosen, indent)
    selector.note_arms(yes)
    text = f"{chosen} = {found.tensor}\n" + "".join(f"{old[n]} = {n}\n" for n in names) + site.body_text(lines, "")
    for name in names:
        selector.note_alias(name, holder)
        check_argument(site, name, [cst.Name(name)], holder)
        text += selector.assign(name, Choice(name, [cst.Name(name)]), Choice(old[name], [cst.Name(old[name])]))
    if found.python:
        text = f"if {found.python}:\n{indented(text, site.step)}"
    return _chosen(selector, in_place_of(site, holder, holder, text))


def _chosen(selector: Selector, *edits: Edit) -> Repair:
    return Repair(selector.applicability, selector.message(MESSAGE), [*edits, *selector.imports])
