"""A copy that is made where two tensors share memory is always made in compiled code.

What it does:
    Writes `if a.data_ptr() == b.data_ptr(): a = a.clone()` as `if torch.compiler.is_compiling() or …`. Traced tensors
    have no addresses, and a copy is right either way; eager code still copies only where it has to.
Applicability:
    Unsafe: writes into a tensor that overlaps the other one without starting where it does no longer reach it.
Preconditions:
    The branch does nothing but to bind one of the two tensors to its clone, and has no `else`. The comparison decides
    alone, or together with others by `and`.
Instead:
    Compare the tensors with `is`, where it is the same object that matters.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Declined,
    Example,
    Repair,
    Site,
    Statement,
    body_of,
    require,
    width_of,
)

COPY = "clone"
MESSAGE = "always make the copy in compiled code; writes no longer reach a tensor that overlaps otherwise"


class CloneWhileTracing(Codemod):
    """Copies that depend on addresses."""

    meta = CodemodMeta(
        name="clone-while-tracing",
        summary="always make a copy in compiled code that depends on addresses",
        fixes=("data-pointer-comparison",),
        rank=30,
    )
    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
def scaled(grid: torch.Tensor, wide: bool):
    moved = grid.reshape(-1)
    if moved.data_ptr() == grid.data_ptr():
        moved = moved.clone()
    moved *= 2
    flat = grid.view(-1)
    if wide and flat.data_ptr() == grid.data_ptr():
        flat = flat.clone(memory_format=torch.contiguous_format)
    flat += 1
    return moved.sum() + flat.sum() + grid.sum()

print("checksum", scaled(torch.ones(2, 2), True).item())
""",
            """
import torch

@torch.compile
def scaled(grid: torch.Tensor, wide: bool):
    moved = grid.reshape(-1)
    if torch.compiler.is_compiling() or moved.data_ptr() == grid.data_ptr():
        moved = moved.clone()
    moved *= 2
    flat = grid.view(-1)
    if wide and (torch.compiler.is_compiling() or flat.data_ptr() == grid.data_ptr()):
        flat = flat.clone(memory_format=torch.contiguous_format)
    flat += 1
    return moved.sum() + flat.sum() + grid.sum()

print("checksum", scaled(torch.ones(2, 2), True).item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def f(x: torch.Tensor, y: torch.Tensor):
    if x.data_ptr() == y.data_ptr():
        x = x * 2
    return x + y

f(torch.ones(2), torch.ones(2))
""",
            "the branch does more than to copy one of the two tensors",
        ),
        Declined(
            """
import torch

@torch.compile
def f(x: torch.Tensor, y: torch.Tensor, always: bool):
    if always or x.data_ptr() == y.data_ptr():
        x = x.clone()
    return x + y

f(torch.ones(2), torch.ones(2), False)
""",
            "the comparison does not decide alone",
        ),
        Declined(
            """
import torch

@torch.compile
def f(x: torch.Tensor, y: torch.Tensor):
    return x + y, x.data_ptr() == y.data_ptr()

f(torch.ones(2), torch.ones(2))
""",
            "the comparison is no test of an `if`",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        node = site.node
        if not isinstance(node, cst.Comparison) or len(node.comparisons) != 1:
            return None
        holder = _branch(site, node)
        owners = {_owner(site, side) for side in (node.left, node.comparisons[0].comparator)} - {""}
        same = isinstance(node.comparisons[0].operator, cst.Equal)
        copied = same and holder.orelse is None and _copied(site, body_of(site, holder.body)) in owners
        require(copied, "the branch does more than to copy one of the two tensors")
        word, imports = site.refer("torch.compiler.is_compiling")
        text = f"{word}() or {site.flat(node)}"
        if holder.test is not node:
            text = _in_brackets(site, node, text)
        return Repair("unsafe", MESSAGE, [site.replace(node, text), *imports])


def _branch(site: Site, node: cst.Comparison) -> cst.If:
    """The `if` that is taken only where a comparison holds."""
    below: cst.CSTNode = node
    above = site.parent(node)
    while isinstance(above, cst.BooleanOperation):
        require(isinstance(above.operator, cst.And), "the comparison does not decide alone")
        below, above = above, site.parent(above)
    require(isinstance(above, cst.If) and above.test is below, "the comparison is no test of an `if`")
    assert isinstance(above, cst.If)
    return above


def _owner(site: Site, side: cst.BaseExpression) -> str:
    """The tensor whose address one side of a comparison is, "" for anything else."""
    if isinstance(side, cst.Call) and isinstance(side.func, cst.Attribute) and side.func.attr.value == "data_ptr":
        return site.text(side.func.value)
    return ""


def _copied(site: Site, lines: list[Statement]) -> str:
    """The variable that a block does nothing but to bind to its own copy, "" if it does anything else."""
    line = lines[0] if len(lines) == 1 else None
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    if not isinstance(small, cst.Assign) or len(small.targets) != 1 or not isinstance(small.value, cst.Call):
        return ""
    target, call = site.text(small.targets[0].target), small.value
    if site.callee(call) == "torch.clone" and call.args:
        return target if site.text(call.args[0].value) == target else ""
    func = call.func
    is_copy = isinstance(func, cst.Attribute) and func.attr.value == COPY and site.text(func.value) == target
    return target if is_copy else ""


def _in_brackets(site: Site, node: cst.Comparison, text: str) -> str:
    """The text in brackets, on a line of its own where the row would get too long."""
    row, column, _, end = site.span(node)
    line = site.lines[row - 1]
    if column + len(text) + len(line[end - 1 :]) <= width_of(site) or line[end - 1 :].strip() != ":":
        return f"({text})"
    indent = line[: len(line) - len(line.lstrip())]
    return f"(\n{indent}{site.step}{text}\n{indent})"
