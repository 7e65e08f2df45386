"""Data pointers of tensors compared.

What breaks:
    `a.data_ptr() == b.data_ptr()`, and a data pointer compared with a number, or looked up in a list.
Why Dynamo breaks:
    Traced tensors have no memory, so their addresses are unknown; only a tensor compared with itself is settled.
Example:
    if grid.data_ptr() == original.data_ptr():
        grid = grid.clone()
Instead:
    if grid is original:
        grid = grid.clone()
Fix:
    Compare the tensor objects with `is`, or decide outside the compiled region.
Torch versions:
    Since 2.13 under this id; before, GB0023, and a tensor compared with itself broke as well.
Limits:
    Reading a pointer without comparing it is fine; arithmetic on one is GB0088.
"""

from __future__ import annotations

from gblint.rule_api import Break, Compare, Context, Operator, Plain, Rule, RuleMeta, Value, is_none

POINTER = "data_ptr"


class DataPointerComparison(Rule):
    """Comparisons of addresses."""

    meta = RuleMeta(
        code="GB5976",
        slug="data-pointer-comparison",
        summary="data pointers of tensors are compared",
        category="fundamental",
        advice="Compare the tensors with `is`.",
        torch=">=2.13",
        renamed=(("<2.13", "GB0023"),),
    )
    BREAKS = (
        """
import torch

@torch.compile
def detached(grid: torch.Tensor, original: torch.Tensor):
    if grid.data_ptr() == original.data_ptr():  # GB5976
        grid = grid.clone()
    return grid * 2

detached(torch.rand(3), torch.rand(3))
""",
        """
import torch

@torch.compile
def detached(grid: torch.Tensor, original: torch.Tensor):
    if grid.data_ptr() != original.data_ptr():  # GB5976
        grid = grid * 2
    if grid.data_ptr() in (original.data_ptr(), 3):  # GB5976
        grid = grid.clone()
    return grid * 2

detached(torch.rand(3), torch.rand(3))
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def detached(grid: torch.Tensor, original: torch.Tensor):
    pointer = grid.data_ptr()
    if grid is original or grid.data_ptr() == grid.data_ptr():
        grid = grid.clone()
    return grid * 2, pointer

detached(torch.rand(3), torch.rand(3))
""",
        """
import torch

@torch.compile
def known(x: torch.Tensor, address: int = 3):
    return x * (address == 3) * (address in (3, 4)) * (address is not None)

known(torch.rand(2))
""",
    )

    def on_operator(self, event: Operator, context: Context) -> Break | None:
        if event.operator not in ("==", "!=") or event.right is None:
            return None
        return self._answer(event, context, event.left, event.right)

    def on_compare(self, event: Compare, context: Context) -> Break | None:
        return self._answer(event, context, event.left, event.right) if event.operator in ("in", "not in") else None

    @staticmethod
    def _answer(event: Operator | Compare, context: Context, left: Value, right: Value) -> Break | None:
        if is_none(right) or not any(isinstance(v, Plain) and v.type == POINTER for v in (left, right)):
            return None
        text = context.text(event.node)
        sides = text.replace("!=", "==").split("==")
        if context.torch >= (2, 13) and len(sides) == 2 and sides[0].strip() == sides[1].strip():
            return None
        return Break(f"`{text}` compares addresses, and traced tensors have none")
