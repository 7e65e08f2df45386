"""`while` on a tensor becomes `torch.while_loop`.

What it does:
    Makes the test and the body of the loop functions of the variables that a round hands on, and lets the operator
    `torch.while_loop` run them inside the graph.
Applicability:
    Unsafe: the operator wants every variable to keep its shape and dtype from round to round, and lets no gradient
    through in eager code of older releases.
Preconditions:
    The loop's body only assigns variables, without jumps, `else` or effects, and draws no random numbers; what it hands
    on are tensors that have a value before the loop, and each is computed anew in every round.
Instead:
    A fixed number of rounds with `torch.where`, where a bound is known.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Bind,
    Codemod,
    CodemodMeta,
    Declined,
    Example,
    Repair,
    Site,
    Statement,
    arm_of,
    body_of,
    bound_before,
    comments,
    condition,
    is_live,
    refuse,
    require,
    tested,
    walk,
)

OWN_NAME = (2, 13)  # the first release in which it is known to be `torch.while_loop`


class WhileLoopOperator(Codemod):
    """`while` loops that go on as long as a tensor says."""

    meta = CodemodMeta(
        name="while-loop-operator",
        summary="torch.while_loop runs the loop inside the graph",
        fixes=("branch-on-tensor", "read-tensor-value"),
        rank=40,
    )

    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
def halve(x: torch.Tensor):
    most = x.abs().max()
    while most > 0.1:  # converges
        x = x / 2
        most = x.abs().max()
    return x

print("checksum", halve(torch.tensor([1.0, 2.0])).sum().item())
""",
            """
import torch

@torch.compile
def halve(x: torch.Tensor):
    most = x.abs().max()

    # converges
    def goes_on(x, most):
        return most > 0.1

    def once(x, most):
        x = x / 2
        most = x.abs().max()
        return x, most

    x, most = torch.while_loop(goes_on, once, (x, most))
    return x

print("checksum", halve(torch.tensor([1.0, 2.0])).sum().item())
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
    n = 0
    while x.sum() > 1:
        x = x / 2
        n = n + 1
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
    while x.sum() > 1:
        x = x / 2
        if x.min() < 0.1:
            break
    return x

f(torch.ones(2))
""",
            "`if` stands in the branch",
        ),
        Declined(
            """
import torch

@torch.compile
def f(x: torch.Tensor):
    before = x * 1
    now = x + 1
    while (now - before).abs().max() > 0.1:
        before = now
        now = now / 2
    return now

f(torch.ones(2))
""",
            "takes no aliases",
        ),
        Declined(
            """
import torch

@torch.compile
def otherwise(x: torch.Tensor):
    while x.sum() > 1:
        x = x / 2
    else:
        x = x + 1
    return x

@torch.compile
def part(x: torch.Tensor, flag: bool):
    while flag and x.sum() > 1:
        x = x / 2
    return x

@torch.compile
def jumps(x: torch.Tensor):
    while x.sum() > 1:
        x = x / 2
        break
    return x

@torch.compile
def in_place(x: torch.Tensor):
    x = x.clone()
    while x.sum() > 1:
        x.div_(2)
    return x

@torch.compile
def unset(x: torch.Tensor):
    while x.sum() > 1:
        y = x / 2
        x = y / 2
    return x, y

for f in (otherwise, jumps, in_place, unset):
    f(torch.ones(2))
part(torch.ones(2), True)
""",
            "the body changes something in place",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        if not isinstance(site.node, cst.BaseExpression):
            return None
        loop, test = tested(site)
        if not isinstance(loop, cst.While):
            return None
        require(loop.orelse is None, "the loop has an `else`")
        found = condition(site, test)
        require(not found.python, f"the test has a part for Python (`{found.python}`)")
        body = body_of(site, loop.body)
        arm = arm_of(site, body)
        require(arm.ending is None, "the loop is left by a jump")
        require(all(isinstance(s, Bind) for s in arm.steps), "the body changes something in place")
        names = _handed_on(site, loop, body, arm.bound)
        return _operator(site, loop, found.tensor, names, [*found.doubts, *map(_called, arm.calls)])


def _called(name: str) -> str:
    return f"`{name}` must have no effect"


def _handed_on(site: Site, loop: cst.While, body: list[Statement], bound: list[str]) -> list[str]:
    tested_names = {n.value for n in walk(loop.test) if isinstance(n, cst.Name)}
    names = [n for n in bound if n in tested_names or is_live(site, n, [loop]) or is_live(site, n, body)]
    require(names, "nothing that the rounds compute is read afterwards")
    for name in names:
        require(bound_before(site, name, loop), f"`{name}` is read afterwards and has no value before the loop")
        loads = [n for n in site.loads(name) if site.value(n) is not None]
        if not loads or any(site.tensor(n) is None for n in loads):
            refuse(f"`{name}` is handed on and is not known to be a tensor")
    for line in body:
        for small in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            if isinstance(small, cst.Assign) and isinstance(small.value, cst.Name | cst.Attribute | cst.Subscript):
                refuse(f"`{site.text(small.value)}` is handed on as it is, and the operator takes no aliases")
    return names


def _operator(site: Site, loop: cst.While, test: str, names: list[str], doubts: list[str]) -> Repair:
    operator = "torch.while_loop" if site.torch >= OWN_NAME else "torch._higher_order_ops.while_loop"
    callee, imports = site.refer(operator)
    goes_on, once = site.fresh("goes_on"), site.fresh("once")
    joined = ", ".join(names)
    body = site.body_text(body_of(site, loop.body), site.step)
    carried = f"({joined},)" if len(names) == 1 else f"({joined})"
    target = f"{joined}," if len(names) == 1 else joined
    kept = comments(site, loop, loop).splitlines(keepends=True)
    above = "".join(c for c in kept if c.strip() not in body)
    step = site.step
    gap = "" if site.block(loop)[0] is loop else "\n"
    text = (
        f"{gap}{above}def {goes_on}({joined}):\n{step}return {test}\n\n"
        f"def {once}({joined}):\n{body}{step}return {target}\n\n"
        f"{target} = {callee}({goes_on}, {once}, {carried})\n"
    )
    found = list(dict.fromkeys(["shapes and dtypes must stay the same in every round", *doubts]))
    message = "; ".join(["run the loop with torch.while_loop", *found[:3]])
    return Repair("unsafe", message, [site.replace_lines(loop, loop, text), *imports])
