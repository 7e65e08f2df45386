"""`continue` (or a bare `return`) under a test of a tensor becomes a choice with `torch.where`.

What it does:
    `if c: continue` in a loop, and `if c: return` in a function that gives nothing back, skip what follows. The rest
    runs always instead, and each variable and each change in place takes its old value where it would have been
    skipped: `x = torch.where(c, x, layer(x))`. Where Python facts stand in front of the test (`if self.training:`
    around it, as for layers that are dropped at random) the rest is written twice, once without any choice. Where the
    rest is long or has comments in its lines it stays as it is, once, and the choice is made behind it.
Applicability:
    Safe where what is skipped is proved to have one shape and dtype with what it replaces, to raise nothing and to have
    no effect. Unsafe otherwise: the message says what could differ.
Preconditions:
    What follows only assigns variables or changes tensors in place in ways that can be made to change nothing, and
    draws no random numbers.
Instead:
    Draw the decision outside the compiled region and pass it in as a Python bool.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Arm,
    Codemod,
    CodemodMeta,
    Condition,
    Declined,
    Example,
    Refusal,
    Repair,
    Selector,
    Site,
    Statement,
    arm_of,
    body_of,
    check_sizes,
    condition,
    facts_around,
    in_place_of,
    indented,
    merged,
    require,
    returned,
    run_always,
    selecting,
    selector_of,
    tested,
)

MOST = 3  # statements that are written twice
MESSAGE = "run what the test skips always, and take it or leave it with torch.where"


class WhereForSkip(Codemod):
    """Statements that are skipped by a test of a tensor."""

    meta = CodemodMeta(
        name="where-for-skip",
        summary="what a tensor lets skip runs always, and torch.where takes or leaves it",
        fixes=("branch-on-tensor", "read-tensor-value"),
        rank=32,
    )

    EXAMPLES = (
        Example(
            """
import torch
from torch import nn

class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(4))
        self.p = 0.5

    def forward(self, x):
        for layer in self.layers:
            if self.training:
                drawn = torch.rand([])
                if drawn < self.p:
                    continue
            x = torch.tanh(layer(x))
        return x

torch.manual_seed(0)
stack = torch.compile(Stack())
print("checksum", sum(stack(torch.ones(2, 3)).sum().item() for _ in range(3)))
""",
            """
import torch
from torch import nn

class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(4))
        self.p = 0.5

    def forward(self, x):
        for layer in self.layers:
            if self.training:
                drawn = torch.rand([])
                x = torch.where(drawn < self.p, x, torch.tanh(layer(x)))
            else:
                x = torch.tanh(layer(x))
        return x

torch.manual_seed(0)
stack = torch.compile(Stack())
print("checksum", sum(stack(torch.ones(2, 3)).sum().item() for _ in range(3)))
""",
            "unsafe",
        ),
        Example(
            """
import torch
from torch import nn

class Book(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("ready", torch.tensor(False))
        self.register_buffer("codes", torch.zeros(2, 3))

    def fill(self, x):
        if self.ready:
            return
        self.codes.copy_(x[:2])
        self.ready.fill_(True)

    @torch.no_grad()
    def forward(self, x):
        self.fill(x)
        return x[:2] * self.codes

book = torch.compile(Book())
print("checksum", sum(book(torch.full((4, 3), float(i))).sum().item() for i in (2, 3)))
""",
            """
import torch
from torch import nn

class Book(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("ready", torch.tensor(False))
        self.register_buffer("codes", torch.zeros(2, 3))

    def fill(self, x):
        chosen = self.ready.clone()
        self.codes.copy_(torch.where(chosen, self.codes, x[:2]))
        self.ready.copy_(torch.where(chosen, self.ready, True))

    @torch.no_grad()
    def forward(self, x):
        self.fill(x)
        return x[:2] * self.codes

book = torch.compile(Book())
print("checksum", sum(book(torch.full((4, 3), float(i))).sum().item() for i in (2, 3)))
""",
            "unsafe",
        ),
        Example(
            """
import torch

@torch.compile
@torch.no_grad()
def chain(x: torch.Tensor):
    total = x * 0
    for i in range(3):
        step = x * i
        if step.sum() > 3:
            continue
        step = step + 1
        total = total + step
    return total

print("checksum", chain(torch.ones(2)).sum().item(), chain(torch.ones(2) * 4).sum().item())
""",
            """
import torch

@torch.compile
@torch.no_grad()
def chain(x: torch.Tensor):
    total = x * 0
    for i in range(3):
        step = x * i
        chosen = step.sum() > 3
        step = torch.where(chosen, step, step + 1)
        total = torch.where(chosen, total, total + step)
    return total

print("checksum", chain(torch.ones(2)).sum().item(), chain(torch.ones(2) * 4).sum().item())
""",
            "unsafe",
        ),
        Example(
            """
import torch

@torch.compile
def walk(x: torch.Tensor, training: bool):
    for i in range(3):
        if training:
            drawn = torch.rand([])
            if drawn < 0.5:
                continue
        x = torch.lerp(  # half way
            x, x * i, 0.5
        )
    return x

torch.manual_seed(0)
print("checksum", sum(walk(torch.ones(2), True).sum().item() for _ in range(3)))
""",
            """
import torch

@torch.compile
def walk(x: torch.Tensor, training: bool):
    for i in range(3):
        skipped = None
        if training:
            drawn = torch.rand([])
            skipped = drawn < 0.5
        old_x = x
        x = torch.lerp(  # half way
            x, x * i, 0.5
        )
        if skipped is not None:
            x = torch.where(skipped, old_x, x)
    return x

torch.manual_seed(0)
print("checksum", sum(walk(torch.ones(2), True).sum().item() for _ in range(3)))
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
    kept = []
    for row in x:
        if row.sum() < 0:
            continue
        kept.append(row)
    return torch.stack(kept)

f(torch.ones(2, 2))
""",
            "append",
        ),
        Declined(
            """
import torch

@torch.compile
def f(x: torch.Tensor):
    total = x.sum()
    for i in range(3):
        if i > 0:
            total = total + 1
            if total > 4:
                continue
            total = total * 2
        total = total - 1
    return total

f(torch.ones(2))
""",
            "more than what follows in its block",
        ),
        Declined(
            """
import torch

@torch.compile
def f(x: torch.Tensor, flag: bool):
    for i in range(2):
        if flag and x.sum() > 4:
            continue
        a = x + 1
        b = a * 2
        c = b - 1
        x = c * x
    return x

f(torch.ones(2), True)
""",
            "written twice",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        if not isinstance(site.node, cst.BaseExpression):
            return None
        holder, test = tested(site)
        if not isinstance(holder, cst.If) or holder.orelse is not None or not _jumps(holder):
            return None
        outer = facts_around(site, holder)
        if outer is None and _gives(holder):
            return None  # an early `return` with a value is another matter
        found = condition(site, test)
        yes = arm_of(site, body_of(site, holder.body))
        rest = site.following(outer or holder)
        require(rest, "nothing follows that would be skipped")
        _check_place(site, outer or holder, yes)
        check_sizes(site, rest)
        try:
            return _written(site, holder, outer, found, yes, rest)
        except Refusal as first:
            try:
                return _behind(site, holder, outer, found, yes, rest)
            except Refusal:
                raise first from None


def _jumps(holder: cst.If) -> bool:
    lines = holder.body.body
    last = lines[-1] if lines else None
    last = last.body[-1] if isinstance(last, cst.SimpleStatementLine) else last
    return isinstance(last, cst.Continue | cst.Return)


def _gives(holder: cst.If) -> bool:
    last = holder.body.body[-1]
    small = last.body[-1] if isinstance(last, cst.SimpleStatementLine) else last
    return isinstance(small, cst.Return) and small.value is not None


def _check_place(site: Site, first: Statement, yes: Arm) -> None:
    """A `continue` has to skip the rest of the block that it stands in, a `return` the rest of the function."""
    loop = site.loop(first)
    around = site.parent(site.parent(first) or first)
    if isinstance(yes.ending, cst.Continue):
        require(loop is not None and around is loop, "the `continue` skips more than what follows in its block")
    else:
        require(loop is None and around is site.function, "the `return` skips more than what follows in its block")


def _written(
    site: Site, holder: cst.If, outer: cst.If | None, found: Condition, yes: Arm, rest: list[Statement]
) -> Repair:
    first = outer or holder
    twice = outer is not None or bool(found.python)
    require(not twice or len(rest) <= MOST, f"more than {MOST} statements would have to be written twice")
    require(outer is None or not found.python, "the test has a part for Python inside an `if` for Python")
    no = arm_of(site, rest)
    require(isinstance(yes.ending, cst.Return) or no.ending is None, "what follows leaves the loop itself")
    region = [first, *rest]
    bound = {*yes.bound, *no.bound, *yes.written, *no.written}
    indent = site.indent(first) + (site.step if twice else "")

    def build(selector: Selector) -> str:
        if yes.returns or no.returns:
            require(yes.returns and no.returns, "a way returns nothing")
            selector.note_result([*yes.returns, *no.returns])
            return yes.text + no.text + returned(selector, yes.returns, no.returns)
        return merged(selector, yes, no, region)

    selector, text = selecting(site, found, indent, bound, build)
    selector.note_arms(yes, no)
    if outer is not None:
        before = site.block(holder)[:-1]
        head = site.text(outer.test)
        text = (site.body_text(before, "") if before else "") + text
    else:
        head = found.python
    if twice:
        text = f"if {head}:\n{indented(text, site.step)}"
        text += site.body_text(rest, "") if no.returns else f"else:\n{site.body_text(rest, site.step)}"
    edits = [in_place_of(site, first, rest[-1], text), *selector.imports]
    return Repair(selector.applicability, selector.message(MESSAGE), edits)


def _behind(
    site: Site, holder: cst.If, outer: cst.If | None, found: Condition, yes: Arm, rest: list[Statement]
) -> Repair:
    """What the test skips stays in its own lines, and the choice is made behind it."""
    alone = isinstance(yes.ending, cst.Continue) and len(yes.lines) == 1
    require(alone and not found.python, "more is tested or skipped than can stand as it is")
    first = outer or holder
    name = site.fresh("skipped")
    guard = f"{name} is not None" if outer is not None else ""
    selector = selector_of(site, found, name, first, guard)
    always = run_always(selector, rest, [first, *rest], guard, False, frozenset())
    start = [site.insert_before(outer, f"{name} = None\n")] if outer is not None else []
    test = in_place_of(site, holder, holder, f"{name} = {found.tensor}\n")
    edits = [*start, test, *always.edits(site), *selector.imports]
    return Repair("unsafe", selector.message(MESSAGE), edits)
