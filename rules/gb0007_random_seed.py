"""The random state of torch is seeded or read inside a compiled region.

What breaks:
    `torch.manual_seed`, `torch.cuda.manual_seed`, `torch.cuda.manual_seed_all`, `torch.get_rng_state`,
    `torch.set_rng_state` and their CUDA forms.
Why Dynamo breaks:
    The order of seeding and drawing cannot be kept inside a graph, so Dynamo skips these functions on purpose.
Example:
    torch.manual_seed(self.seed)
    noise = torch.randn_like(x)
Instead:
    def forward(self, x, noise): ...
Fix:
    Seed before the compiled function is called, or draw the random tensors outside and pass them in.
Torch versions:
    Every release; `torch.cuda.manual_seed` and `torch.cuda.manual_seed_all` since 2.13.
Limits:
    Drawing (`torch.randn`, `torch.rand_like`, dropout) does not break. `torch.initial_seed()` is GB0208, a
    `torch.Generator` made inside GB0363.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta


class RandomSeed(Rule):
    """Seeding and random state."""

    meta = RuleMeta(
        code="GB0007",
        slug="random-seed",
        summary="random state of torch is seeded or read in a compiled region",
        category="fundamental",
        advice="Seed outside, or draw the random tensors outside and pass them in.",
        confidence=0.97,
    )
    calls = (
        "torch.manual_seed", "torch.cuda.manual_seed", "torch.cuda.manual_seed_all", "torch.get_rng_state",
        "torch.set_rng_state", "torch.cuda.get_rng_state", "torch.cuda.set_rng_state",
    )  # fmt: skip
    BREAKS = (
        """
import torch
from torch import nn

class Noise(nn.Module):
    def seed(self, step):
        torch.manual_seed(1000 + step)  # GB0007

    def forward(self, x, step=0):
        self.seed(step)
        y = x + torch.randn_like(x)
        torch.cuda.manual_seed_all(0)  # GB0007
        y = y + 1
        state = torch.get_rng_state()  # GB0007
        return y, state

torch.compile(Noise())(torch.ones(3))
""",
    )
    CLEAN = (
        """
import torch
from torch import nn

class Noise(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(x) + torch.randn_like(x) + torch.rand(3) + torch.randint(0, 3, (3,))

torch.manual_seed(0)
torch.compile(Noise())(torch.ones(3))
""",
        """
class Source:
    def manual_seed(self, seed):
        return seed

import torch

@torch.compile
def step(x, source: Source):
    return x * source.manual_seed(2)

step(torch.ones(2), Source())
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        if context.knowledge.verdict(event.callee) == "ok":
            return None
        return Break(f"`{context.text(event.node)}` touches the random state, which Dynamo keeps out of graphs")
