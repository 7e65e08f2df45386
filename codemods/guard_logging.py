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
    Edit,
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
    may_go,
    narrowed,
    only_reports,
    owner,
    reports,
    require,
    with_neighbours,
)

OWN = frozenset(
    "print-call warnings-warn logger-method logging-function stream-write".split()
)  # rules of which every finding is a report

MESSAGE = "report only when not compiling; compiled code no longer tells"


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
        peak = y.max().item()
        if peak > 100:
            logger.warning("large values")
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
        if not torch.compiler.is_compiling():
            peak = y.max().item()
        if not torch.compiler.is_compiling() and peak > 100:
            logger.warning("large values")
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
        Declined(
            """
import warnings

import torch

@torch.compile
def shared(x):
    warnings.warn("told"); y = x * 2
    return y

shared(torch.ones(2))
""",
            "the statement shares its line with others",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        if is_guarded(site, site.node):
            return None
        branch = site.enclosing(site.node, cst.If)
        if branch is not None and self._in_test(site, branch) and only_reports(site, branch):
            return Repair("unsafe", MESSAGE, self._ask_first(site, branch), ("effects",))
        line = owner(site, site.node)
        small = line.body if isinstance(line, cst.SimpleStatementLine) else [line]
        if all(reports(site, s) for s in small):
            require(all(may_go(site, s) for s in small), "the arguments change something besides")
            return Repair("unsafe", MESSAGE, guarded(site, with_neighbours(site, line)), ("effects",))
        if site.finding.name in OWN:
            (first, *others) = small
            require(not others, "the statement shares its line with others")
            require(isinstance(first, cst.Expr) and first.value is site.node, "the result of the call is used")
            require(harmless(site, self._arguments(site.node)), "the arguments change something besides")
            return Repair("unsafe", MESSAGE, guarded(site, [line]), ("effects",))
        if len(small) == 1 and isinstance(small[0], cst.Assign | cst.AnnAssign | cst.AugAssign):
            return self._fed(site, line)
        return None

    def _in_test(self, site: Site, branch: cst.If) -> bool:
        return branch.test is site.node or branch.test in site.ancestors(site.node)

    def _arguments(self, node: cst.CSTNode) -> list[cst.CSTNode]:
        return [a.value for a in node.args] if isinstance(node, cst.Call) else [node]

    def _ask_first(self, site: Site, branch: cst.If) -> list[Edit]:
        require(harmless(site, [branch.test]), "the test changes something besides")
        word, imports = site.refer("torch.compiler.is_compiling")
        edit = narrowed(site, branch, f"not {word}()", first=True)
        return [edit, *imports] if edit is not None else guarded(site, [branch])

    def _fed(self, site: Site, line: Place) -> Repair | None:
        """The repair of an assignment whose value only goes into reports; None if it goes elsewhere."""
        branches: list[cst.If] = []
        try:
            together = everything_that_needs(
                site, line, lambda small: self._objection(site, small), lambda s: self._takes(site, s, branches)
            )
        except Refusal:
            return None
        if not branches and not any(may_go(site, s) for line in together for s in getattr(line, "body", [line])):
            return None
        edits = guarded(site, [near for statement in together for near in with_neighbours(site, statement)])
        for branch in branches:
            edits += self._ask_first(site, branch)
        return Repair("unsafe", MESSAGE, edits, ("effects",))

    def _takes(self, site: Site, statement: cst.CSTNode, branches: list[cst.If]) -> bool:
        """Whether a compound statement that reads a value is an `if` that only reports."""
        if isinstance(statement, cst.If) and only_reports(site, statement) and harmless(site, [statement.test]):
            branches.append(statement)
            return True
        return False

    def _objection(self, site: Site, small: cst.BaseSmallStatement) -> str:
        if isinstance(small, cst.Assign | cst.AnnAssign) and small.value is not None:
            targets = [t.target for t in small.targets] if isinstance(small, cst.Assign) else [small.target]
            if all(isinstance(t, cst.Name) for t in targets) and is_pure(site, [small.value]):
                return ""
        return "" if may_go(site, small) else "it is used besides"
