"""`torch.is_inference_mode_enabled()` inside a compiled region.

What breaks:
    A call of `torch.is_inference_mode_enabled`.
Why Dynamo breaks:
    The answer would have to be guarded on, which Dynamo does not do for inference mode.
Example:
    if torch.is_inference_mode_enabled():
        return x
Instead:
    if not torch.is_grad_enabled():
        return x
Fix:
    Ask `torch.is_grad_enabled()`, which is traced, or pass a flag in.
Torch versions:
    Every release.
Limits:
    Entering `torch.inference_mode()` does not break.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta


class InferenceModeQuery(Rule):
    """torch.is_inference_mode_enabled."""

    meta = RuleMeta(
        code="GB0046",
        slug="inference-mode-query",
        summary="inference mode is queried in a compiled region",
        category="fundamental",
        advice="Ask torch.is_grad_enabled(), or pass a flag in.",
        confidence=0.97,
    )
    calls = ("torch.is_inference_mode_enabled",)
    BREAKS = (
        """
import torch
from torch import is_inference_mode_enabled

def frozen():
    return is_inference_mode_enabled()  # GB0046

@torch.compile
def run(x):
    if torch.is_inference_mode_enabled():  # GB0046
        return x
    x = x * 2
    return x + 1 if frozen() else x

run(torch.ones(2))
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def run(x):
    if not torch.is_grad_enabled():
        return x
    with torch.inference_mode():
        y = x * 2
    return y

run(torch.ones(2))
""",
        """
import torch

FROZEN = torch.is_inference_mode_enabled()

@torch.compile
def run(x):
    return x if FROZEN else x * 2

run(torch.ones(2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        return Break(f"`{context.text(event.node)}` asks for a mode that Dynamo does not track")
