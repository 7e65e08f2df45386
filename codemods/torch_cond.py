"""A branch on a tensor becomes `torch.cond`: only the side that is taken runs.

What it does:
    Makes functions of both arms of an `if` that assigns variables, and lets the operator `torch.cond` run one of them
    inside the graph. Where a side keeps a variable as it is, it gives a clone: the operator takes no aliases.
Applicability:
    Unsafe: both sides must give tensors of the same shapes and dtypes, and must not change anything outside.
Preconditions:
    The arms only assign variables, to tensors that have a value on both ways; they have no effect and draw no random
    numbers.
Instead:
    `torch.where`, where running both sides is cheap.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Arm,
    Bind,
    Codemod,
    CodemodMeta,
    Condition,
    Declined,
    Example,
    Repair,
    Site,
    arm_of,
    body_of,
    bound_before,
    check_argument,
    condition,
    in_place_of,
    indented,
    is_live,
    other_arm,
    refuse,
    require,
    tested,
    viewed,
)


class TorchCond(Codemod):
    """Branches whose sides are costly."""

    meta = CodemodMeta(
        name="torch-cond",
        summary="torch.cond runs the side that is taken",
        fixes=("branch-on-tensor", "read-tensor-value"),
        rank=60,
    )

    EXAMPLES = (
        Example(
            """
import torch
from torch import nn

class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.long = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))

    def forward(self, x):
        y = x * 2
        if y.sum() > 0:
            y = self.long(y)
        return y + 1

torch.manual_seed(0)
gate = torch.compile(Gate().eval())
with torch.no_grad():
    print(f"checksum {gate(torch.ones(1, 2)).sum().item():.4f} {gate(-torch.ones(1, 2)).sum().item():.4f}")
""",
            """
import torch
from torch import nn

class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.long = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))

    def forward(self, x):
        y = x * 2

        def if_so(y=y):
            y = self.long(y)
            return y

        def if_not():
            return y.clone()

        y = torch.cond(y.sum() > 0, if_so, if_not)
        return y + 1

torch.manual_seed(0)
gate = torch.compile(Gate().eval())
with torch.no_grad():
    print(f"checksum {gate(torch.ones(1, 2)).sum().item():.4f} {gate(-torch.ones(1, 2)).sum().item():.4f}")
""",
            "unsafe",
        ),
        Example(
            """
import torch

@torch.compile
def f(x: torch.Tensor):
    total = x.sum()
    if total > 0:
        shifted = x - total
        y, z = shifted.sin(), total * 2
    else:
        y = x.cos()
        z = -total
    return y * z

print(f"checksum {f(torch.ones(2)).sum().item():.4f} {f(-torch.ones(2)).sum().item():.4f}")
""",
            """
import torch

@torch.compile
def f(x: torch.Tensor):
    total = x.sum()

    def if_so():
        shifted = x - total
        y, z = shifted.sin(), total * 2
        return y, z

    def if_not():
        y = x.cos()
        z = -total
        return y, z

    y, z = torch.cond(total > 0, if_so, if_not)
    return y * z

print(f"checksum {f(torch.ones(2)).sum().item():.4f} {f(-torch.ones(2)).sum().item():.4f}")
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def f(x: torch.Tensor, wide: bool):
    if wide:
        y = x
    else:
        if x.sum() > 0:
            y = x * 2
        x = x + y
        y = x
    return x + y

f(torch.ones(2), False)
""",
            "`y` has no value on the other way",
        ),
        Declined(
            """
import torch

@torch.compile
def f(x: torch.Tensor, out: torch.Tensor):
    if x.sum() > 0:
        out.copy_(x)
    return out * 2

f(torch.ones(2), torch.ones(2))
""",
            "changed in place",
        ),
        Declined(
            """
import torch

@torch.compile
def f(x: torch.Tensor):
    n = 2
    if x.sum() > 0:
        n = 3
    return x * n

f(torch.ones(2))
""",
            "not known to be a tensor",
        ),
        Declined(
            """
import torch

@torch.compile
def f(x: torch.Tensor):
    if x.sum() > 0:
        return x * 2
    return x

f(torch.ones(2))
""",
            "returns or jumps",
        ),
        Declined(
            """
import torch

@torch.compile
def f(x: torch.Tensor):
    if x.sum() > 0:
        y = x * 2
    return x

f(torch.ones(2))
""",
            "nothing that the branch assigns is read afterwards",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        if not isinstance(site.node, cst.BaseExpression):
            return None
        holder, test = tested(site)
        if not isinstance(holder, cst.If) or isinstance(holder.orelse, cst.If):
            return None
        found = condition(site, test)
        yes, no = arm_of(site, body_of(site, holder.body)), other_arm(site, holder)
        require(yes.ending is None and no.ending is None, "an arm returns or jumps")
        require(all(isinstance(s, Bind) for s in (*yes.steps, *no.steps)), "something is changed in place")
        names = _given(site, holder, yes, no)
        return _operator(site, holder, found, yes, no, names)


def _given(site: Site, holder: cst.If, yes: Arm, no: Arm) -> list[str]:
    """The variables that the branch gives to what follows."""
    bound = list(dict.fromkeys([*yes.bound, *no.bound]))
    names = [n for n in bound if is_live(site, n, [holder])]
    require(names, "nothing that the branch assigns is read afterwards")
    for name in names:
        everywhere = name in yes.bound and name in no.bound
        require(everywhere or bound_before(site, name, holder), f"`{name}` has no value on the other way")
        loads = [n for n in site.loads(name) if site.value(n) is not None]
        if not loads or any(site.tensor(n) is None for n in loads):
            refuse(f"`{name}` is not known to be a tensor")
        check_argument(site, name, [cst.Name(name)], holder)
    return names


def _operator(site: Site, holder: cst.If, found: Condition, yes: Arm, no: Arm, names: list[str]) -> Repair:
    callee, imports = site.refer("torch.cond")
    taken, other = site.fresh("if_so"), site.fresh("if_not")
    step = site.step
    gap = "" if site.block(holder)[0] is holder and not found.python else "\n"
    targets = ", ".join(names)
    text = _function(site, taken, yes, names, step) + "\n" + _function(site, other, no, names, step) + "\n"
    text += f"{targets} = {callee}({found.tensor}, {taken}, {other})\n"
    if found.python:
        text = f"if {found.python}:\n\n{indented(text, step)}"
        text += f"else:\n{site.body_text(no.lines, step)}" if no.lines else ""
    calls = [f"`{c}` must have no effect" for c in (*yes.calls, *no.calls)]
    doubts = ["both sides must give the same shapes and dtypes", *dict.fromkeys([*calls, *found.doubts])]
    message = "; ".join(["run the side that is taken with torch.cond", *doubts[:3]])
    return Repair("unsafe", message, [in_place_of(site, holder, holder, gap + text), *imports])


def _function(site: Site, name: str, arm: Arm, names: list[str], step: str) -> str:
    """One side as a function. Variables that it binds get their old values as defaults: they are its own."""
    own = arm.bound
    body = "".join(f"{step}{line}" for line in arm.text.splitlines(keepends=True))
    old = [n for n in own if bound_before(site, n, site.statement(site.node))]
    parameters = ", ".join(f"{n}={n}" for n in old)
    results = ", ".join(n if n in own and not _is_view(arm, n) else f"{n}.clone()" for n in names)
    return f"def {name}({parameters}):\n{body}{step}return {results}\n"


def _is_view(arm: Arm, name: str) -> bool:
    """Whether a side gives another name for a tensor, or a view of it: the operator takes none."""
    bound = [step.value.leaves for step in arm.steps if isinstance(step, Bind) and name in step.names]
    return any(isinstance(viewed(leaf), cst.Name) for leaf in bound[-1])
