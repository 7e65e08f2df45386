"""`tensor.is_inference()` inside a compiled region.

What breaks:
    The method `is_inference()` of a tensor.
Why Dynamo breaks:
    Whether a tensor was made under `torch.inference_mode` is not a property of the traced tensors.
Example:
    y = x if x.is_inference() else x.clone()
Instead:
    y = x.clone()
Fix:
    Decide by a Python flag outside, or by `torch.is_grad_enabled()`, which is traced.
Torch versions:
    Every release.
Limits:
    The function `torch.is_inference(x)` breaks too, as GB0208.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta, tensor_certainty


class IsInference(Rule):
    """Tensor.is_inference."""

    meta = RuleMeta(
        code="GB0045",
        slug="is-inference",
        summary="a tensor is asked whether it is an inference tensor",
        category="fundamental",
        advice="Decide by a flag outside, or by torch.is_grad_enabled().",
    )
    calls = ("torch.Tensor.is_inference",)
    BREAKS = (
        """
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        y = x * 2
        return y if x.is_inference() else y.clone()  # GB0045

torch.compile(Net())(torch.ones(2))
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def run(x):
    y = x * 2
    return y if torch.is_grad_enabled() or x.requires_grad else y.clone()

with torch.inference_mode():
    run(torch.ones(2))
""",
        """
import torch

class Mode:
    def is_inference(self):
        return True

@torch.compile
def run(x, mode: Mode):
    return x if mode.is_inference() else x.clone()

run(torch.ones(2), Mode())
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        certainty = tensor_certainty(event.receiver) if event.receiver is not None else 1.0
        if not certainty:
            return None
        return Break(f"`{context.text(event.node)}` asks for a property that traced tensors lack", certainty)
