"""`Tensor.random_()`.

What breaks:
    `t.random_()` in any form.
Why Dynamo breaks:
    The operator has a parameter called `from`, which the traced graph cannot write down, and Dynamo does not model it.
Example:
    noise = torch.empty(4, dtype=torch.long).random_(0, 10)
Instead:
    noise = torch.randint(0, 10, (4,))
Fix:
    Use `torch.randint` or `torch.randint_like`.
Torch versions:
    Every release.
Limits:
    The other in-place random methods (`normal_`, `uniform_`, `bernoulli_`) are fine.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta, as_tensor, tensor_certainty


class RandomInPlace(Rule):
    """Calls of random_."""

    meta = RuleMeta(
        code="GB0107",
        slug="random-in-place",
        summary="`Tensor.random_()` in a compiled region",
        category="supportable",
        advice="Use torch.randint or torch.randint_like.",
    )
    calls = ("torch.Tensor.random_",)
    BREAKS = (
        """
import torch

@torch.compile
def noise(x: torch.Tensor):
    picks = torch.empty(3, dtype=torch.long).random_(0, 3)  # GB0107
    return x[picks]

noise(torch.rand(3))
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def noise(x: torch.Tensor):
    picks = torch.randint(0, 3, (3,)) + torch.randint_like(x, 1).long()
    return x[picks] + torch.empty(3).normal_() + torch.empty(3).uniform_(0, 1) + torch.empty(3).bernoulli_(0.5)

noise(torch.rand(3))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        certainty = tensor_certainty(event.receiver)
        if not certainty:
            return None
        message = f"`{context.text(event.node)}` uses `random_`, which Dynamo does not trace"
        return Break(message, max(certainty, 0.9), about=as_tensor(event.receiver))
