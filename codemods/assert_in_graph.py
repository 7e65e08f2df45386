"""A check of a tensor's values that stays in the graph.

What it does:
    Turns `if bad.any(): raise ValueError("text")` into `torch._assert_async(~bad.any(), "text")`, an operator that a
    graph can hold.
Applicability:
    Unsafe: a failure is a `RuntimeError`, in eager code as well, and on a GPU it is reported later.
Preconditions:
    The condition is a tensor, surely a boolean scalar. The error's text is constant. The `if` holds nothing else and
    has no other branches.
Instead:
    A guard for compiled code keeps the error what it is and gives up the check there.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import Codemod, CodemodMeta, Declined, Example, Repair, Site, harmless, is_guarded, require

OPERATOR = "torch._assert_async"


class AssertInGraph(Codemod):
    """Checks values by an operator of the graph."""

    meta = CodemodMeta(
        name="assert-in-graph",
        summary="check values inside the graph",
        fixes=("branch-on-tensor",),
        rank=45,
    )
    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
def f(x, std):
    if (std == 0).any():
        raise ValueError("a zero in std")
    if not torch.isfinite(x).all():
        raise ValueError(
            "no number"
        )
    return x / std

print("checksum", f(torch.ones(2), torch.ones(2)).sum().item())
""",
            """
import torch

@torch.compile
def f(x, std):
    torch._assert_async(~(std == 0).any(), "a zero in std")
    torch._assert_async(torch.isfinite(x).all(), "no number")
    return x / std

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
    if x.isnan().any():
        raise ValueError(f"no number: {x.min()}")
    return x.sqrt()

f(torch.ones(2))
""",
            "text of the error is not constant",
        ),
        Declined(
            """
import torch

@torch.compile
def f(x, y):
    if x.max() > 0 and y:
        raise ValueError("no")
    return x

f(-torch.ones(2), torch.tensor(1))
""",
            "not surely a boolean scalar",
        ),
        Declined(
            """
import torch

@torch.compile
def otherwise(x: torch.Tensor):
    if (x < 0).any():
        raise ValueError("negative")
    else:
        x = x + 1
    return x

@torch.compile
def changes(x: torch.Tensor):
    y = x * 2
    if (y.add_(1) < 0).any():
        raise ValueError("negative")
    return y

otherwise(torch.ones(2))
changes(torch.ones(2))
""",
            "the `if` has other branches",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        branch = site.enclosing(site.node, cst.If)
        if branch is None or is_guarded(site, branch):
            return None
        if not (branch.test is site.node or branch.test in site.ancestors(site.node)):
            return None
        lines = branch.body.body
        small = [s for line in lines for s in (line.body if isinstance(line, cst.SimpleStatementLine) else [line])]
        if len(small) != 1 or not isinstance(small[0], cst.Raise):
            return None
        above = site.parent(branch)
        require(branch.orelse is None and not isinstance(above, cst.If), "the `if` has other branches")
        require(harmless(site, [branch.test]), "the test changes something besides")
        good = self._negated(site, branch.test)
        name, imports = site.refer(OPERATOR)
        call = f"{name}({good}, {self._text(site, small[0])})\n"
        message = "check inside the graph; a failure is a RuntimeError"
        return Repair("unsafe", message, [site.replace_lines(branch, branch, call), *imports])

    def _negated(self, site: Site, test: cst.BaseExpression) -> str:
        """The condition that must hold for a test not to."""
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            self._require_scalar(site, test.expression)
            return site.flat(test.expression)
        self._require_scalar(site, test)
        return f"~{site.operand(test)}"

    def _require_scalar(self, site: Site, node: cst.BaseExpression) -> None:
        tensor = site.tensor(node)
        scalar = tensor is not None and tensor.dtype == "bool" and tensor.rank == 0
        require(scalar, f"`{site.flat(node)}` is not surely a boolean scalar")

    def _text(self, site: Site, error: cst.Raise) -> str:
        """The constant text of an error, as a literal."""
        call = error.exc
        argument = call.args[0].value if isinstance(call, cst.Call) and len(call.args) == 1 else None
        strings = isinstance(argument, cst.SimpleString) or (
            isinstance(argument, cst.ConcatenatedString) and argument.evaluated_value is not None
        )
        require(strings, "the text of the error is not constant")
        assert argument is not None
        return site.flat(argument)
