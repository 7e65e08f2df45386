"""A flag that a tensor sets stays a tensor: what it lets skip runs always, and `torch.where` takes or leaves it.

What it does:
    For layers that are dropped at random: `drop = False`, set under facts about Python (`if self.training:`) by a test
    of a tensor, then `if not drop: x = layer(x)`. The flag becomes the tensor that was tested. What the flag lets skip
    runs always, in its own lines; `if drop is not False: x = torch.where(drop, old_x, x)` behind it gives its variables
    the old values where it would have been skipped. Where the flag never becomes a tensor nothing is chosen.
Applicability:
    Unsafe: what was skipped now runs. The message says what could differ.
Preconditions:
    The flag is `False` (`True`, `None`) or the outcome of one test of a tensor, and is only tested, behind it and in
    the same block. What it lets skip binds variables and draws no random numbers. Those that are read afterwards have
    a value before, and no module is called that is known to change sizes. What is only put on the side for it
    (`attentions = None`, `kept = kept + (x,)` where a fact asks for it) follows what has run.
Instead:
    Draw the decision outside the compiled region and pass it in as a Python bool.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Always,
    Codemod,
    CodemodMeta,
    Declined,
    Edit,
    Example,
    Flag,
    Repair,
    Site,
    Statement,
    Use,
    changed_names,
    flag_of,
    in_place_of,
    is_continue,
    is_nothing,
    require,
    run_always,
    selector_of,
    walk,
    without,
)

MESSAGE = "keep the flag as a tensor, run what it lets skip, and take it or leave it with torch.where"


class WhereForFlag(Codemod):
    """Flags that tests of tensors set."""

    meta = CodemodMeta(
        name="where-for-flag",
        summary="a flag that a tensor sets stays a tensor, and torch.where takes or leaves what it lets skip",
        fixes=("branch-on-tensor", "read-tensor-value"),
        rank=28,
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
            drop = False
            if self.training and self.p > 0:
                drawn = torch.rand([])
                if drawn < self.p:  # skip the layer
                    drop = True
            if not drop:
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
            drop = False
            if self.training and self.p > 0:
                drawn = torch.rand([])
                # skip the layer
                drop = drawn < self.p
            old_x = x
            x = torch.tanh(layer(x))
            if drop is not False:
                x = torch.where(drop, old_x, x)
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

class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x, scale, weights=False):
        y = torch.tanh(self.linear(x)) * scale
        return (y, y.softmax(-1)) if weights else (y,)

class Stack(nn.Module):
    def __init__(self, together=False):
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(4))
        self.p = 0.5
        self.together = together

    def forward(self, x, weights=False):
        kept = () if weights else None
        for layer in self.layers:
            drop = False
            if self.training and self.p > 0:
                drawn = torch.rand([])
                drop = drawn < self.p

            if not drop or self.together:
                # all processes run in step
                outputs = layer(
                    x,
                    2,  # the scale
                    weights=weights,
                )
                x = outputs[0]

            if drop:
                outputs = (None, None)

            if weights:
                kept = kept + (outputs[1],)
        return x

torch.manual_seed(0)
for stack in (Stack(), Stack(True), Stack().eval()):
    run = torch.compile(stack)
    print("checksum", sum(run(torch.ones(2, 3)).sum().item() for _ in range(3)))
""",
            """
import torch
from torch import nn

class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x, scale, weights=False):
        y = torch.tanh(self.linear(x)) * scale
        return (y, y.softmax(-1)) if weights else (y,)

class Stack(nn.Module):
    def __init__(self, together=False):
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(4))
        self.p = 0.5
        self.together = together

    def forward(self, x, weights=False):
        kept = () if weights else None
        for layer in self.layers:
            drop = False
            if self.training and self.p > 0:
                drawn = torch.rand([])
                drop = drawn < self.p

            # all processes run in step
            old_x = x
            outputs = layer(
                x,
                2,  # the scale
                weights=weights,
            )
            x = outputs[0]
            if drop is not False and not self.together:
                x = torch.where(drop, old_x, x)

            if weights:
                kept = kept + (outputs[1],)
        return x

torch.manual_seed(0)
for stack in (Stack(), Stack(True), Stack().eval()):
    run = torch.compile(stack)
    print("checksum", sum(run(torch.ones(2, 3)).sum().item() for _ in range(3)))
""",
            "unsafe",
        ),
        Example(
            """
import torch

@torch.compile
def walk(x: torch.Tensor, training: bool, every: bool = False):
    states = () if every else None
    for i in range(3):
        drop = bool(training and torch.rand([]) < 0.5)
        if drop and not every:
            continue

        x = torch.lerp(  # half way
            x, x * i, 0.5
        )
        if every:
            states = states + (x,)
    return x if states is None else states[-1]

torch.manual_seed(0)
print("checksum", sum(walk(torch.ones(2), True).sum().item() for _ in range(3)))
""",
            """
import torch

@torch.compile
def walk(x: torch.Tensor, training: bool, every: bool = False):
    states = () if every else None
    for i in range(3):
        drop = training and torch.rand([]) < 0.5

        old_x = x
        x = torch.lerp(  # half way
            x, x * i, 0.5
        )
        if drop is not False and not every:
            x = torch.where(drop, old_x, x)
        if every:
            states = states + (x,)
    return x if states is None else states[-1]

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

halve = torch.nn.MaxPool1d(2)

@torch.compile
def used(x: torch.Tensor):
    for i in range(3):
        drop = False
        if i:
            drop = x.sum() < i
        if not drop:
            x = x * 2
    return x, drop

@torch.compile
def added(x: torch.Tensor, training: bool):
    add = False
    if training:
        add = x.sum() > 0
    if add:
        x = x + 1
    small = training and x.sum() < 0
    if not small:
        x = halve(x)
    none = training and x.max() < 0
    kept = x * 2
    if none:
        kept = None
    if not none:
        x = x + 1
    return x.sum(), kept

@torch.compile
def looped(x: torch.Tensor, training: bool):
    for i in range(3):
        drop = training and x.sum() < i
        if drop:
            x = x + 1
            continue
        x = x * 2
    for i in range(3):
        skip = training and x.max() < i
        if skip:
            continue
        x = x * 2
        if not skip:
            x = x + 1
    for i in range(3):
        if i:
            deep = training and x.min() < i
            if deep:
                continue
            x = x * 2
        x = x + 1
    for i in range(3):
        last = training and x.mean() < i
        if last:
            continue
    return x

used(torch.ones(1, 2))
added(torch.ones(1, 2), True)
looped(torch.ones(1, 2), True)
""",
            "is used for more than to skip statements",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        if not isinstance(site.node, cst.BaseExpression):
            return None
        flag = flag_of(site)
        return _Work(site, flag).repair() if flag is not None else None


class _Work:
    """The edits for one flag. loose: variables that are None for what is skipped. ran: those that what runs binds."""

    def __init__(self, site: Site, flag: Flag) -> None:
        self.site = site
        self.flag = flag
        self.edits: list[Edit] = list(flag.edits)
        self.loose = frozenset(n for use in flag.uses for n in changed_names(use.skipped))
        self.ran: set[str] = set()
        self.selector = selector_of(site, flag.condition, flag.name, flag.uses[0].holder, "x")

    def repair(self) -> Repair:
        for use in self.flag.uses:
            if use.skipped and is_continue(use.skipped[-1]):
                self._jump(use)
            else:
                self._branch(use)
        require(self.selector.written, "the flag lets nothing be skipped that is read afterwards")
        for name in sorted(self.loose):
            self.selector.doubts.insert(0, f"`{name}` keeps what has run, where it was None")
        return Repair("unsafe", self.selector.message(MESSAGE), [*self.edits, *self.selector.imports])

    def _guard(self, use: Use) -> str:
        """The facts under which the flag is a tensor that decides."""
        own = f"{self.flag.name} is not {self.flag.off}" if self.flag.off else ""
        return " and ".join(part for part in (own, use.facts) if part)

    def _always(self, use: Use, lines: list[Statement], region: list[Statement]) -> Always:
        read = {n.value for fact in use.nodes for n in walk(fact) if isinstance(n, cst.Name)}
        require(not read & changed_names(lines), "what is skipped changes a fact that is tested with the flag")
        require(self.flag.name not in changed_names(lines), "what is skipped sets the flag")
        self.ran |= {n for line in lines if isinstance(line, cst.SimpleStatementLine) for n in changed_names([line])}
        guard = self._guard(use)
        self.selector.indent = self.site.indent(region[0]) + (self.site.step if guard else "")
        return run_always(self.selector, lines, region, guard, not self.flag.skips, self.loose)

    def _jump(self, use: Use) -> None:
        """`if drop: continue`."""
        site, holder = self.site, use.holder
        require(len(use.skipped) == 1 and not use.run, "more than a `continue` stands under the flag")
        require(use is self.flag.uses[-1], "the flag is tested again behind the `continue`")
        block = site.parent(holder)
        loop = site.loop(holder)
        require(block is not None and site.parent(block) is loop, "the `continue` skips more than its own block")
        rest = site.following(holder)
        self.edits.append(without(site, holder))
        if rest:
            self.edits += self._always(use, rest, [holder, *rest]).edits(site)

    def _branch(self, use: Use) -> None:
        """`if not drop: …`, and what is None otherwise."""
        site, holder = self.site, use.holder
        require(all(is_nothing(s) for s in use.skipped), "more than None is assigned where the flag lets skip")
        if use.run:
            text = self._always(use, use.run, [holder]).text(site)
            self.edits.append(in_place_of(site, holder, holder, text))
        else:
            self.edits.append(without(site, holder))
        missing = changed_names(use.skipped) - self.ran
        require(not missing, f"`{min(missing, default='')}` has no other value where the flag lets skip")
