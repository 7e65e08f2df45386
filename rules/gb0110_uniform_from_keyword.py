"""`Tensor.uniform_` with the keyword `from`.

What breaks:
    `t.uniform_(**{"from": low, "to": high})`.
Why Dynamo breaks:
    `from` is a keyword of Python, so the call cannot be written into the traced graph.
Example:
    x.uniform_(**{"from": 0.0, "to": 1.0})
Instead:
    x.uniform_(0.0, 1.0)
Fix:
    Pass the bounds by position.
Torch versions:
    Every release.
Limits:
    Seen only where the keys of the dict are known.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta, as_tensor, tensor_certainty


class UniformFromKeyword(Rule):
    """uniform_ with `from`."""

    meta = RuleMeta(
        code="GB0110",
        slug="uniform-from-keyword",
        summary="`uniform_` is given its lower bound by the keyword `from`",
        category="supportable",
        advice="Pass the bounds by position.",
        by_hand="`from` is a word of Python, so the bounds come in a dict, which may be made anywhere",
    )
    calls = ("torch.Tensor.uniform_",)
    BREAKS = (
        """
import torch

@torch.compile
def noise(x: torch.Tensor):
    bounds = {"from": 0.0, "to": 1.0}
    return x + torch.empty(3).uniform_(**bounds)  # GB0110

noise(torch.rand(3))
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def noise(x: torch.Tensor):
    return x + torch.empty(3).uniform_(0.0, 1.0) + torch.empty(3).uniform_(to=2.0) + torch.empty(3).uniform_()

noise(torch.rand(3))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        if "from" not in event.kwargs or not tensor_certainty(event.receiver):
            return None
        message = f"`{context.text(event.node)}` passes `from` by keyword, which a traced graph cannot express"
        return Break(message, about=as_tensor(event.receiver))
