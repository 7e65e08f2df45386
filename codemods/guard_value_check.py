"""Checks of values under `if not torch.compiler.is_compiling():`.

What it does:
    Skips, in compiled code, a test of a tensor's contents that only ends in an error or a warning: an `if` whose body
    raises, warns or logs gets `not torch.compiler.is_compiling()` in front of its test; an `assert`, or a call of a
    helper that only checks, goes under a guard, together with its neighbours of the same kind.
Applicability:
    Unsafe: compiled code no longer checks; a wrong input goes on where it was refused.
Preconditions:
    The body of the `if` does nothing but raise, warn or log. The test changes nothing. The result of a checking helper
    is not used.
Instead:
    `torch._assert_async(condition, "message")` keeps the check inside the graph, with a `RuntimeError`.
"""

from __future__ import annotations

import re

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
    may_go,
    narrowed,
    only_reports,
    owner,
    refuse,
    reports,
    require,
)

CHECKER = re.compile(r"(^|_)(check|assert|validate|verify|ensure)", re.IGNORECASE)
MESSAGE = "check values only when not compiling; compiled code no longer checks them"


class GuardValueCheck(Codemod):
    """Guards tests of values that only raise or warn."""

    meta = CodemodMeta(
        name="guard-value-check",
        summary="check values only when not compiling",
        fixes=("*",),
        rank=30,
    )
    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
def normalize(image, std):
    if (std == 0).any():
        raise ValueError("a zero in std would divide by zero")
    peak = image.max().item()
    if peak > 1:
        raise ValueError(f"values up to {peak}")
    return image / std

print("checksum", normalize(torch.ones(2), torch.ones(2)).sum().item())
""",
            """
import torch

@torch.compile
def normalize(image, std):
    if not torch.compiler.is_compiling() and (std == 0).any():
        raise ValueError("a zero in std would divide by zero")
    if not torch.compiler.is_compiling():
        peak = image.max().item()
    if not torch.compiler.is_compiling() and peak > 1:
        raise ValueError(f"values up to {peak}")
    return image / std

print("checksum", normalize(torch.ones(2), torch.ones(2)).sum().item())
""",
            "unsafe",
        ),
        Example(
            """
import torch

@torch.compile
def f(x, low, high):
    if low is None:
        low = -high
    elif low.any() or high.isnan().any():
        message = "bad bounds"
        if x.dtype == torch.float16:
            raise ValueError(message + ", maybe for want of precision")
        else:
            raise ValueError(message)
    return x.clamp(low, high)

print("checksum", f(torch.ones(2), torch.zeros(2), torch.ones(2)).sum().item())
""",
            """
import torch

@torch.compile
def f(x, low, high):
    if low is None:
        low = -high
    elif not torch.compiler.is_compiling() and (low.any() or high.isnan().any()):
        message = "bad bounds"
        if x.dtype == torch.float16:
            raise ValueError(message + ", maybe for want of precision")
        else:
            raise ValueError(message)
    return x.clamp(low, high)

print("checksum", f(torch.ones(2), torch.zeros(2), torch.ones(2)).sum().item())
""",
            "unsafe",
        ),
        Example(
            """
import torch


def check_positive(values):
    if bool((values <= 0).any()) or values.isnan().any():
        raise ValueError("not positive")


@torch.compile
def f(x, lengths):
    assert lengths.max().item() <= x.shape[0], "too long"
    assert torch.equal(lengths, lengths.round()), "no whole numbers"
    check_positive(lengths)
    return x * 2


print("checksum", f(torch.ones(2), torch.ones(2)).sum().item())
""",
            """
import torch


def check_positive(values):
    if not torch.compiler.is_compiling():
        if bool((values <= 0).any()) or values.isnan().any():
            raise ValueError("not positive")


@torch.compile
def f(x, lengths):
    if not torch.compiler.is_compiling():
        assert lengths.max().item() <= x.shape[0], "too long"
        assert torch.equal(lengths, lengths.round()), "no whole numbers"
    check_positive(lengths)
    return x * 2


print("checksum", f(torch.ones(2), torch.ones(2)).sum().item())
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
    if x.sum() > 0:
        x = x * 2
        raise_later = True
    assert x.add_(1).sum() > 0, f"{x}"
    return x

f(torch.ones(2))
""",
            "changes something besides",
        ),
        Declined(
            """
import torch

@torch.compile
def changes(x, limits):
    if x.sum() > limits.pop():
        raise ValueError("too large")
    return x * 2

changes(torch.ones(2), [3])
""",
            "the test changes something besides",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        if is_guarded(site, site.node):
            return None
        branch = self._branch(site)
        if branch is not None:
            return self._skip(site, branch) if self._ends_badly(site, branch) else None
        line = owner(site, site.node)
        small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else line
        if isinstance(small, cst.Assert):
            require(harmless(site, [small.test]), "the checked condition changes something besides")
            return self._guard(site, line)
        if isinstance(small, cst.Expr) and self._checks(site, small):
            return self._guard(site, line)
        return self._fed(site, line) if isinstance(small, cst.Assign | cst.AnnAssign) else None

    def _fed(self, site: Site, line: Place) -> Repair | None:
        """The repair of an assignment whose value only goes into checks; None if it goes elsewhere."""
        branches: list[cst.If] = []
        try:
            together = everything_that_needs(
                site, line, lambda small: self._objection(site, small), lambda s: self._takes(site, s, branches)
            )
        except Refusal:
            return None
        asserts = any(isinstance(s, cst.Assert) for line in together for s in getattr(line, "body", [line]))
        if not asserts and not any(self._ends_badly(site, b) for b in branches):
            return None
        edits = guarded(site, together)
        for branch in branches:
            edits += self._skip(site, branch).edits
        return Repair("unsafe", MESSAGE, edits)

    def _takes(self, site: Site, statement: cst.CSTNode, branches: list[cst.If]) -> bool:
        """Whether a compound statement that reads a value is an `if` that only raises or reports."""
        if not isinstance(statement, cst.If) or not harmless(site, [statement.test]):
            return False
        if self._ends_badly(site, statement) or only_reports(site, statement):
            branches.append(statement)
            return True
        return False

    def _objection(self, site: Site, small: cst.BaseSmallStatement) -> str:
        if isinstance(small, cst.Assign | cst.AnnAssign) and small.value is not None:
            targets = [t.target for t in small.targets] if isinstance(small, cst.Assign) else [small.target]
            if all(isinstance(t, cst.Name) for t in targets) and is_pure(site, [small.value]):
                return ""
        checks = isinstance(small, cst.Assert) and harmless(site, [small.test])
        return "" if checks or may_go(site, small) else "it is used besides"

    def _branch(self, site: Site) -> cst.If | None:
        """The `if` in whose test the node is."""
        above = site.enclosing(site.node, cst.If)
        if above is not None and (above.test is site.node or above.test in site.ancestors(site.node)):
            return above
        return None

    def _ends_badly(self, site: Site, branch: cst.If) -> bool:
        """Whether the body of an `if` raises, with no more than reports and texts made before it."""
        return self._raises(site, branch.body)

    def _raises(self, site: Site, block: cst.BaseSuite) -> bool:
        small = [s for line in block.body for s in (line.body if isinstance(line, cst.SimpleStatementLine) else [line])]
        *before, last = small
        if not all(reports(site, s) or self._prepares(site, s) for s in before):
            return False
        if isinstance(last, cst.If):
            other = last.orelse
            rest = isinstance(other, cst.Else) and self._raises(site, other.body)
            return self._raises(site, last.body) and rest
        return isinstance(last, cst.Raise)

    def _prepares(self, site: Site, small: cst.CSTNode) -> bool:
        """An assignment of a plain variable, such as the text of the error."""
        if not isinstance(small, cst.Assign) or not harmless(site, [small.value]):
            return False
        return all(isinstance(t.target, cst.Name) for t in small.targets)

    def _skip(self, site: Site, branch: cst.If) -> Repair:
        if not harmless(site, [branch.test]):
            refuse("the test changes something besides")
        word, imports = site.refer("torch.compiler.is_compiling")
        edit = narrowed(site, branch, f"not {word}()", first=True)
        if edit is not None:
            return Repair("unsafe", MESSAGE, [edit, *imports])
        require(branch.orelse is None, "the test has no room for a guard and the `if` goes on with other branches")
        return Repair("unsafe", MESSAGE, guarded(site, [branch]))

    def _checks(self, site: Site, small: cst.Expr) -> bool:
        """Whether a statement calls, for nothing but its errors, a helper that checks its arguments."""
        call = small.value
        if not isinstance(call, cst.Call) or not harmless(site, [a.value for a in call.args]):
            return False
        name = call.func.attr.value if isinstance(call.func, cst.Attribute) else getattr(call.func, "value", "")
        return isinstance(name, str) and CHECKER.search(name) is not None

    def _guard(self, site: Site, line: Place) -> Repair:
        return Repair("unsafe", MESSAGE, guarded(site, self._neighbours(site, line)))

    def _neighbours(self, site: Site, line: Place) -> list[Place]:
        """The statement with the asserts on tensors next to it, so that one guard serves all."""
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
        """Whether a line is an assert that reads a tensor's contents in a way that would break as well."""
        if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
            return False
        small = line.body[0]
        return isinstance(small, cst.Assert) and self._breaks(site, small)

    def _breaks(self, site: Site, check: cst.Assert) -> bool:
        reading = {"item", "tolist", "equal", "allclose", "bool", "int", "float"}
        names = {site.text(c.func).rpartition(".")[2] for c in site.calls([check.test])}
        return bool(names & reading)
