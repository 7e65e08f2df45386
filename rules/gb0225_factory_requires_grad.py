"""A tensor made in the region with `requires_grad=True`.

What breaks:
    `torch.zeros(..., requires_grad=True)`, `torch.tensor(..., requires_grad=True)` and the other factories.
Why Dynamo breaks:
    A leaf that requires grad and is made inside the graph would not be a leaf outside.
Example:
    loss = torch.tensor(0.0, device=x.device, requires_grad=True)
Instead:
    loss = x.new_zeros(())
Fix:
    Drop the flag (a sum gets its gradient from what is added to it), or make the tensor outside and pass it in.
Torch versions:
    Since 2.9; before, Dynamo skipped the frame or dropped the flag.
Limits:
    Methods (`x.new_zeros(3, requires_grad=True)`) are fine, but for `new_tensor`. A flag that is not a constant is not
    reported.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Const, Context, Rule, RuleMeta


class FactoryRequiresGrad(Rule):
    """Factories with requires_grad=True."""

    meta = RuleMeta(
        code="GB0225",
        slug="factory-requires-grad",
        summary="a tensor is made with `requires_grad=True` in a compiled region",
        category="supportable",
        advice="Drop requires_grad=True, or make the tensor outside and pass it in.",
        torch=">=2.9",
        confidence=0.95,
    )
    calls = ("torch.*",)
    BREAKS = (
        """
import torch

@torch.compile
def total(x: torch.Tensor):
    loss = torch.tensor(0.0, requires_grad=True)  # GB0225
    loss = loss + x.sum()
    return loss + torch.zeros_like(x, requires_grad=True).sum()  # GB0225

@torch.compile
def offset(x: torch.Tensor):
    return x + x.new_tensor([1.0, 2.0], requires_grad=True)  # GB0225

total(torch.rand(3))
offset(torch.rand(2))
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def total(x: torch.Tensor):
    loss = torch.tensor(0.0, requires_grad=False) + torch.zeros(())
    extra = x.new_zeros(3, requires_grad=True)
    return loss + x.sum() + extra.sum() + torch.ones(3, requires_grad=x.requires_grad).sum()

total(torch.rand(3))
""",
        """
import torch

@torch.compile
def plain(x: torch.Tensor):
    return x.new_zeros(2, requires_grad=False) + torch.ones(2, requires_grad=False) + x

plain(torch.rand(2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        flag = event.kwargs.get("requires_grad")
        if not (isinstance(flag, Const) and flag.value is True) or not _is_factory(event.callee):
            return None
        return Break(f"`{context.text(event.node)}` makes a leaf that requires grad, which a graph cannot give out")


def _is_factory(callee: str) -> bool:
    """A function of torch itself; among the methods only new_tensor goes through one."""
    return callee.count(".") == 1 or callee == "torch.Tensor.new_tensor"
