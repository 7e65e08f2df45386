"""The text of a tensor is measured inside a compiled region.

What breaks:
    `len(text)` where an f-string put a tensor into `text`.
Why Dynamo breaks:
    The f-string is kept unformatted as long as nobody looks at it. Its length needs the contents of the tensor.
Example:
    label = f"loss={loss:.3f}"
    width = len(label)
Instead:
    return loss  # and make the label outside
Fix:
    Return the tensor and format it outside of the compiled function.
Torch versions:
    Since 2.13 under this id; before, GB0156.
Limits:
    Returning, storing or passing on such a text does not break.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Plain, Rule, RuleMeta

TEXT = "text of a tensor"


class LengthOfTensorText(Rule):
    """len() of an f-string with a tensor."""

    meta = RuleMeta(
        code="GB0088",
        slug="length-of-tensor-text",
        summary="the length of a text that holds a tensor is taken",
        category="supportable",
        advice="Return the tensor and format it outside of the compiled function.",
        torch=">=2.13",
        renamed=(("<2.13", "GB0156"),),
    )
    calls = ("builtins.len",)
    BREAKS = (
        """
import torch

@torch.compile
def label(x: torch.Tensor):
    text = f"loss={x.mean():.3f}"
    return x * len(text)  # GB0088

label(torch.ones(2))
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def label(x: torch.Tensor, name: str):
    text = f"{name} {x.shape[0]} {x.dtype}"
    return x * len(text), f"mean {x.mean()}"

label(torch.ones(2), "a")
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        subject = event.args[0] if event.args else None
        if not isinstance(subject, Plain) or subject.type != TEXT:
            return None
        return Break(f"`{context.text(event.node)}` needs the contents of a tensor as text", 0.9, result=Plain("int"))
