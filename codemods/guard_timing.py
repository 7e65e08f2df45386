"""Measuring time under `if not torch.compiler.is_compiling():`.

What it does:
    Puts the statements that read a clock, and those that work with what it gave, under a guard that is false while
    Dynamo traces; a time limit (`if time.time() - start > limit`) asks for the guard first. In eager code the times are
    what they were; in compiled code they are not taken.
Applicability:
    Unsafe: compiled code does not take times, and leaves attributes that hold them as they are.
Preconditions:
    What the clock gave goes into reports, attributes, containers and time limits alone, never into what the function
    returns or computes.
Instead:
    Measure around the call of the compiled function: inside, only the time of tracing could be measured.
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
    Repair,
    Site,
    base,
    everything_that_needs,
    guarded,
    harmless,
    is_guarded,
    narrowed,
    owner,
    reports,
    require,
    walk,
    with_neighbours,
)

CLOCKS = frozenset(
    {
        "time.time", "time.time_ns", "time.perf_counter", "time.perf_counter_ns", "time.monotonic", "time.monotonic_ns",
        "time.process_time", "time.process_time_ns",
        "time.thread_time", "time.ctime", "time.strftime", "time.localtime", "time.gmtime", "timeit.default_timer",
        "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "torch.cuda.synchronize",
        "torch.cpu.synchronize", "torch.accelerator.synchronize", "torch.cuda.max_memory_allocated",
        "torch.cuda.memory_allocated", "torch.cuda.reset_peak_memory_stats",
    }
)  # fmt: skip
STORING = frozenset({"append", "extend", "add", "update", "insert", "setdefault", "observe", "record"})


class GuardTiming(Codemod):
    """Guards statements that measure time."""

    meta = CodemodMeta(
        name="guard-timing",
        summary="measure time only when not compiling",
        fixes=("skipped-call", "opaque-method", "attribute-of-function", "skipped-torch-function",
               "skipped-library-function"),
        rank=20,
    )  # fmt: skip
    EXAMPLES = (
        Example(
            """
import time

import torch
from torch import nn


class Timed(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.last, self.times = 0.0, []

    def forward(self, x):
        start = time.perf_counter()
        y = self.fc(x)
        self.last = time.perf_counter() - start
        self.times.append(self.last)
        return y


torch.manual_seed(0)
print("checksum", torch.compile(Timed())(torch.ones(1, 2)).sum().item())
""",
            """
import time

import torch
from torch import nn


class Timed(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.last, self.times = 0.0, []

    def forward(self, x):
        if not torch.compiler.is_compiling():
            start = time.perf_counter()
        y = self.fc(x)
        if not torch.compiler.is_compiling():
            self.last = time.perf_counter() - start
        self.times.append(self.last)
        return y


torch.manual_seed(0)
print("checksum", torch.compile(Timed())(torch.ones(1, 2)).sum().item())
""",
            "unsafe",
        ),
        Example(
            """
import functools
import time

import torch


def timed(function):
    @functools.wraps(function)
    def inner(*args):
        begun = time.monotonic()
        result = function(*args)
        took = time.monotonic() - begun
        print(f"{took} s")
        return result

    return inner


@torch.compile
@timed
def run(x):
    limit = time.time() + 60
    for _ in range(2):
        x = x * 2
        if time.time() > limit:
            break
    return x


print("checksum", run(torch.ones(2)).sum().item())
""",
            """
import functools
import time

import torch


def timed(function):
    @functools.wraps(function)
    def inner(*args):
        if not torch.compiler.is_compiling():
            begun = time.monotonic()
        result = function(*args)
        if not torch.compiler.is_compiling():
            took = time.monotonic() - begun
            print(f"{took} s")
        return result

    return inner


@torch.compile
@timed
def run(x):
    if not torch.compiler.is_compiling():
        limit = time.time() + 60
    for _ in range(2):
        x = x * 2
        if not torch.compiler.is_compiling() and time.time() > limit:
            break
    return x


print("checksum", run(torch.ones(2)).sum().item())
""",
            "unsafe",
        ),
        Example(
            """
import time

import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.times = []
        self.by_name = {"all": []}

    def forward(self, x):
        start = time.perf_counter()
        x = x * 2
        self.times.append(time.perf_counter() - start)
        self.by_name["all"].append(time.time())
        if time.perf_counter() - start > 100:
            x = x + 1
        return x

print("checksum", torch.compile(Net())(torch.ones(2)).sum().item())
""",
            """
import time

import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.times = []
        self.by_name = {"all": []}

    def forward(self, x):
        if not torch.compiler.is_compiling():
            start = time.perf_counter()
        x = x * 2
        if not torch.compiler.is_compiling():
            self.times.append(time.perf_counter() - start)
        if not torch.compiler.is_compiling():
            self.by_name["all"].append(time.time())
        if not torch.compiler.is_compiling() and time.perf_counter() - start > 100:
            x = x + 1
        return x

print("checksum", torch.compile(Net())(torch.ones(2)).sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import time
import torch

@torch.compile
def f(x):
    start = time.perf_counter()
    y = x * 2
    return y, time.perf_counter() - start

f(torch.ones(2))
""",
            "the time is part of what is computed",
        ),
        Declined(
            """
import time

import torch

@torch.compile
def changes(x, starts):
    if time.time() - starts.pop() > 3:
        print("late")
    return x * 2

changes(torch.ones(2), [0.0])
""",
            "the test changes something besides",
        ),
        Declined(
            """
import time

import torch

@torch.compile
def reasons(x, start, flag):
    if time.time() - start > 100 or flag:
        x = x + 1
    return x

@torch.compile
def listed(x):
    times = []
    start = time.time()
    times.append(time.time() - start)
    return x * 2, times

reasons(torch.ones(2), 0.0, True)
listed(torch.ones(2))
""",
            "for another reason than the time",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        line = owner(site, site.node)
        if is_guarded(site, site.node) or not self._measures(site, site.node, line):
            return None
        branch = site.enclosing(site.node, cst.If)
        if branch is not None and (branch.test is site.node or branch.test in site.ancestors(site.node)):
            edits = self._limit(site, branch)
        else:
            edits = self._all(site, line)
        return Repair("unsafe", "measure time only when not compiling; compiled code takes no times", edits)

    def _measures(self, site: Site, node: cst.CSTNode, line: cst.CSTNode) -> bool:
        if site.callee(node) in CLOCKS:
            return True
        return site.finding.name == "attribute-of-function" and self._reads_clock(site, line)

    def _reads_clock(self, site: Site, node: cst.CSTNode) -> bool:
        return any(site.callee(n) in CLOCKS for n in walk(node))

    def _all(self, site: Site, line: Place) -> list[Edit]:
        """The edits for a statement and all that reads what it sets."""
        limits: list[cst.If] = []
        together = everything_that_needs(
            site, line, lambda small: self._objection(site, small), lambda s: self._takes_limit(site, s, limits)
        )
        edits = guarded(site, [near for statement in together for near in with_neighbours(site, statement)])
        for branch in limits:
            edits += self._limit(site, branch)
        return edits

    def _takes_limit(self, site: Site, statement: cst.CSTNode, limits: list[cst.If]) -> bool:
        if isinstance(statement, cst.If) and harmless(site, [statement.test]):
            limits.append(statement)
            return True
        return False

    def _objection(self, site: Site, small: cst.BaseSmallStatement) -> str:
        """Why a statement cannot be left out of compiled code; "" if it can."""
        if reports(site, small):
            return ""
        if isinstance(small, cst.Expr) and isinstance(small.value, cst.Call):
            call = small.value
            if site.callee(call) in CLOCKS:
                return ""
            if isinstance(call.func, cst.Attribute) and call.func.attr.value in STORING:
                return self._kept(site, call.func.value)
        if isinstance(small, cst.Assign | cst.AnnAssign | cst.AugAssign) and small.value is not None:
            target = small.targets[0].target if isinstance(small, cst.Assign) else small.target
            if isinstance(target, cst.Attribute | cst.Subscript) and self._is_read(site, target):
                return f"`{site.text(target)}` is read besides"
            if harmless(site, [small.value]) and site.tensor(small.value) is None:
                return ""
        return "the time is part of what is computed"

    def _is_read(self, site: Site, target: cst.BaseExpression) -> bool:
        """Whether the function reads the part of an object of its own that a statement sets."""
        whole = base(target)
        if isinstance(whole, cst.Name) and whole.value in site.parameters():
            return False  # it is there from a call before
        same = (
            n for n in walk(site.function.body) if isinstance(n, type(target)) and site.text(n) == site.text(target)
        )
        return any(not isinstance(site.parent(n), cst.AssignTarget) for n in same)

    def _kept(self, site: Site, container: cst.BaseExpression) -> str:
        """Why a container must have the times, "" if it is an attribute."""
        if isinstance(container, cst.Name) and site.binds(container.value):
            return "the time is part of what is computed"
        return ""

    def _is_usual(self, site: Site, test: cst.BaseExpression) -> bool:
        """Whether a test may hold while no time has passed: it negates something, or asks for a small time."""
        if any(isinstance(n, cst.UnaryOperation) and isinstance(n.operator, cst.Not) for n in walk(test)):
            return True
        for compared in (n for n in walk(test) if isinstance(n, cst.Comparison)):
            target = compared.comparisons[0]
            late = self._reads_clock(site, target.comparator)
            less = isinstance(target.operator, cst.LessThan | cst.LessThanEqual)
            if (less and not late) or (not less and late and not self._reads_clock(site, compared.left)):
                return True
        return False

    def _limit(self, site: Site, branch: cst.If) -> list[Edit]:
        require(harmless(site, [branch.test]), "the test changes something besides")
        others = (n for n in walk(branch.test) if isinstance(n, cst.BooleanOperation))
        alone = all(isinstance(n.operator, cst.And) for n in others)
        require(alone, "the branch may be taken for another reason than the time")
        require(not self._is_usual(site, branch.test), "the branch is taken as long as there is time")
        word, imports = site.refer("torch.compiler.is_compiling")
        edit = narrowed(site, branch, f"not {word}()", first=True)
        if edit is not None:
            return [edit, *imports]
        require(branch.orelse is None, "the test has no room for a guard and the `if` goes on with other branches")
        return guarded(site, [branch])
