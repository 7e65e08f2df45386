"""Printing, logging and warning under `if not torch.compiler.is_compiling():`.

What it does:
    Puts a statement that only prints, logs or warns under a guard that is false while Dynamo traces, together with its
    neighbours of the same kind, and with the assignments of what nothing but such statements reads. An `if` that holds
    nothing else asks for it in its own test. In eager code the message is what it was; compiled code does not give it.
Applicability:
    Unsafe: compiled code loses the message.
Preconditions:
    The call is a statement of its own: nothing reads its result. Its arguments change nothing.
Instead:
    `[tool.gblint.fix] logging` chooses other repairs: "reorder", "ignore" or "remove".
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Declined,
    Example,
    Place,
    Refusal,
    Repair,
    Site,
    everything_that_needs,
    guarded,
    harmless,
    is_guarded,
    is_pure,
    narrowed,
    owner,
    reports,
    require,
)

OWN = frozenset(
    "print-call warnings-warn logger-method logging-function stream-write".split()
)  # rules of which every finding is a report


class GuardLogging(Codemod):
    """Guards statements that print, log or warn."""

    meta = CodemodMeta(
        name="guard-logging",
        summary="print, log and warn only when not compiling",
        fixes=("*",),
        rank=20,
        logging=("guard",),
    )
    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
def f(x):
    y = x * 2
    print("doubled", y.shape)
    print("sum", y.sum())
    return y + 1

print("checksum", f(torch.ones(2)).sum().item())
""",
            """
import torch

@torch.compile
def f(x):
    y = x * 2
    if not torch.compiler.is_compiling():
        print("doubled", y.shape)
        print("sum", y.sum())
    return y + 1

print("checksum", f(torch.ones(2)).sum().item())
""",
            "unsafe",
        ),
        Example(
            """
import logging
import warnings

import torch
from torch import nn

logger = logging.getLogger(__name__)


class Net(nn.Module):
    def __init__(self, verbose=True):
        super().__init__()
        self.verbose = verbose
        self.fc = nn.Linear(2, 2)

    def forward(self, x, mask=None):
        if self.verbose and mask is None:
            # told once a call
            warnings.warn("there is no mask")
        y = self.fc(x)
        norm = y.norm().item()
        logger.debug("norm %.2f", norm)  # for the curious
        return y


torch.manual_seed(0)
print("checksum", torch.compile(Net())(torch.ones(1, 2)).sum().item())
""",
            """
import logging
import warnings

import torch
from torch import nn

logger = logging.getLogger(__name__)


class Net(nn.Module):
    def __init__(self, verbose=True):
        super().__init__()
        self.verbose = verbose
        self.fc = nn.Linear(2, 2)

    def forward(self, x, mask=None):
        if self.verbose and mask is None and not torch.compiler.is_compiling():
            # told once a call
            warnings.warn("there is no mask")
        y = self.fc(x)
        if not torch.compiler.is_compiling():
            norm = y.norm().item()
            logger.debug("norm %.2f", norm)  # for the curious
        return y


torch.manual_seed(0)
print("checksum", torch.compile(Net())(torch.ones(1, 2)).sum().item())
""",
            "unsafe",
        ),
        Example(
            """
import logging

import torch

log = logging.getLogger("scores")

@torch.compile
def f(scores):
    if scores.max() > 100:
        log.warning("large scores")
    return scores.softmax(-1)

print("checksum", f(torch.ones(2)).sum().item())
""",
            """
import logging

import torch

log = logging.getLogger("scores")

@torch.compile
def f(scores):
    if not torch.compiler.is_compiling() and scores.max() > 100:
        log.warning("large scores")
    return scores.softmax(-1)

print("checksum", f(torch.ones(2)).sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def f(x):
    shown = print("in")
    return x if shown is None else x + 1

f(torch.ones(2))
""",
            "result of the call is used",
        ),
        Declined(
            """
import torch

@torch.compile
def f(x):
    y = x * 2
    print("clamped", y.clamp_(max=1))
    return y

f(torch.ones(2))
""",
            "arguments change something",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        if is_guarded(site, site.node):
            return None
        branch = site.enclosing(site.node, cst.If)
        if branch is not None and self._in_test(site, branch) and self._only_reports(site, branch):
            return self._asks_first(site, branch)
        line = owner(site, site.node)
        small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else line
        if reports(site, small):
            require(self._may_go(site, small), "the arguments change something besides")
            return self._guard(site, self._neighbours(site, line))
        if site.finding.name in OWN:
            require(isinstance(small, cst.Expr) and small.value is site.node, "the result of the call is used")
            require(self._may_go(site, small), "the arguments change something besides")
            return self._guard(site, [line])
        if isinstance(small, cst.Assign | cst.AnnAssign | cst.AugAssign):
            return self._fed(site, line)
        return None

    def _in_test(self, site: Site, branch: cst.If) -> bool:
        return branch.test is site.node or branch.test in site.ancestors(site.node)

    def _only_reports(self, site: Site, branch: cst.If) -> bool:
        lines = branch.body.body
        small = [s for line in lines for s in (line.body if isinstance(line, cst.SimpleStatementLine) else [line])]
        return branch.orelse is None and all(reports(site, s) and self._may_go(site, s) for s in small)

    def _may_go(self, site: Site, small: cst.CSTNode) -> bool:
        call = small.value if isinstance(small, cst.Expr) else small
        return isinstance(call, cst.Call) and harmless(site, [a.value for a in call.args])

    def _asks_first(self, site: Site, branch: cst.If) -> Repair:
        require(harmless(site, [branch.test]), "the test changes something besides")
        word, imports = site.refer("torch.compiler.is_compiling")
        edit = narrowed(site, branch, f"not {word}()", first=True)
        edits = [edit, *imports] if edit is not None else guarded(site, [branch])
        return Repair("unsafe", "report only when not compiling; compiled code no longer tells", edits)

    def _neighbours(self, site: Site, line: Place) -> list[Place]:
        """The statement with those next to it that report too, so that one guard serves all."""
        if not isinstance(line, cst.SimpleStatementLine):
            return [line]
        block = site.block(line)
        first = last = block.index(line)
        while first > 0 and self._joins(site, block[first - 1]):
            first -= 1
        while last + 1 < len(block) and self._joins(site, block[last + 1]):
            last += 1
        return list(block[first : last + 1])

    def _joins(self, site: Site, line: Place) -> bool:
        if not isinstance(line, cst.SimpleStatementLine):
            return False
        return all(reports(site, s) and self._may_go(site, s) for s in line.body)

    def _fed(self, site: Site, line: Place) -> Repair | None:
        """The repair of an assignment whose value only goes into reports; None if it goes elsewhere."""
        try:
            together = everything_that_needs(site, line, lambda small: self._objection(site, small))
        except Refusal:
            return None
        if not any(reports(site, s) for line in together for s in getattr(line, "body", [line])):
            return None
        return self._guard(site, [n for line in together for n in self._around(site, line)])

    def _around(self, site: Site, line: Place) -> list[Place]:
        return self._neighbours(site, line) if self._joins(site, line) else [line]

    def _objection(self, site: Site, small: cst.BaseSmallStatement) -> str:
        if isinstance(small, cst.Assign | cst.AnnAssign) and small.value is not None:
            targets = [t.target for t in small.targets] if isinstance(small, cst.Assign) else [small.target]
            if all(isinstance(t, cst.Name) for t in targets) and is_pure(site, [small.value]):
                return ""
        return "" if reports(site, small) and self._may_go(site, small) else "it is used besides"

    def _guard(self, site: Site, lines: list[Place]) -> Repair:
        edits = guarded(site, lines)
        return Repair("unsafe", "report only when not compiling; compiled code no longer tells", edits)
