"""A tensor method given a class of torch: `x.type(torch.Tensor)`.

What breaks:
    `x.type(torch.Tensor)` and `x.type(type(x))`.
Why Dynamo breaks:
    The argument must be something a graph can hold: a dtype or the name of a tensor type, not the class of all tensors.
Example:
    mask = (x < 0).type(torch.Tensor)
Instead:
    mask = (x < 0).float()
Fix:
    Name the dtype: `.float()`, `.to(torch.float32)`, `.type_as(other)`.
Torch versions:
    Since 2.13 under this id; before, GB0055.
Limits:
    `torch.FloatTensor` and the other typed classes are fine.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, External, Rule, RuleMeta, as_tensor, tensor_certainty


class UnsupportedMethodArgument(Rule):
    """type() of the class of all tensors."""

    meta = RuleMeta(
        code="GB7489",
        slug="unsupported-method-argument",
        summary="a tensor method is given the class torch.Tensor",
        category="supportable",
        advice="Name the dtype: .float(), .to(dtype), .type_as(other).",
        by_hand="which type the class stands for is set elsewhere",
        torch=">=2.13",
    )
    calls = ("torch.Tensor.type", "torch.Tensor.to")
    BREAKS = (
        """
import torch

@torch.compile
def masked(x: torch.Tensor):
    mask = (x < 0.5).type(torch.Tensor)  # GB7489
    return x * mask

masked(torch.rand(3))
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def masked(x: torch.Tensor):
    mask = (x < 0.5).type(torch.float32) + (x > 2).type(torch.FloatTensor) + (x > 3).type("torch.FloatTensor")
    return x * mask.type_as(x).to(float), x.type()

masked(torch.rand(3))
""",
        """
import torch

@torch.compile
def typed(x: torch.Tensor):
    return x.to(torch.float64) + x.to(dtype=torch.float64) + x.type(torch.float64)

typed(torch.rand(2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        target = event.argument(0, "dtype")
        certainty = tensor_certainty(event.receiver)
        if not isinstance(target, External) or target.dotted != "torch.Tensor" or not certainty:
            return None
        message = f"`{context.text(event.node)}` passes the class of all tensors, which a graph cannot hold"
        return Break(message, certainty, about=as_tensor(event.receiver))
