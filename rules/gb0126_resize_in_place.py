"""`Tensor.resize_()` of a tensor made in the region.

What breaks:
    `t.resize_(sizes)`.
Why Dynamo breaks:
    It changes the storage of a tensor under its views, which the traced graph cannot express.
Example:
    buffer = torch.empty(0)
    buffer.resize_(n, 3)
Instead:
    buffer = torch.empty(n, 3)
Fix:
    Make a tensor of the right size, `reshape`, `narrow` or `F.pad`.
Torch versions:
    Every release.
Limits:
    On an input or attribute it is GB0148.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta, as_tensor, tensor_certainty


class ResizeInPlace(Rule):
    """Calls of resize_."""

    meta = RuleMeta(
        code="GB0126",
        slug="resize-in-place",
        summary="`Tensor.resize_()` in a compiled region",
        category="fundamental",
        advice="Make a tensor of the right size, or use reshape, narrow or F.pad.",
    )
    calls = ("torch.Tensor.resize_",)
    BREAKS = (
        """
import torch

@torch.compile
def grown(x: torch.Tensor):
    buffer = torch.zeros(3)
    buffer.resize_(2, 3)  # GB0126
    return buffer.zero_() + x

grown(torch.rand(3))
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def shaped(x: torch.Tensor):
    buffer = torch.zeros(2, 3)
    buffer.unsqueeze_(0).squeeze_(0)
    return buffer.reshape(3, 2).view(2, 3) + x.expand(2, 3) + torch.nn.functional.pad(x[:2], (0, 1))

shaped(torch.rand(3))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        tensor = as_tensor(event.receiver)
        if tensor is None or tensor.role not in ("result", "constant", ""):
            return None
        certainty = tensor_certainty(event.receiver) * (1.0 if tensor.role else 0.5)
        message = f"`{context.text(event.node)}` changes the storage of a tensor, which Dynamo does not trace"
        return Break(message, certainty, about=tensor)
