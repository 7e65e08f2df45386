"""A method of a `torch.Generator` inside a compiled region.

What breaks:
    `generator.manual_seed`, `seed`, `initial_seed`, `get_state`, `set_state` and `clone_state`, also of
    `torch.default_generator`.
Why Dynamo breaks:
    They read or change the state of a random generator, which a graph cannot do in order.
Example:
    self.generator.manual_seed(step)
Instead:
    seed before calling the compiled function
Fix:
    Seed outside; draw the random tensors outside and pass them in.
Torch versions:
    Since 2.12 under this id; before, GB0156.
Limits:
    `generator.device` does not break. Making a generator is GB0363, using one in `torch.rand` is GB0055.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta


class GeneratorMethod(Rule):
    """Methods of torch.Generator."""

    meta = RuleMeta(
        code="GB7650",
        slug="generator-method",
        summary="a random generator is seeded or read in a compiled region",
        category="fundamental",
        advice="Seed outside the compiled function.",
        torch=">=2.12",
        renamed=(("<2.12", "GB0156"),),
        confidence=0.95,
    )
    calls = (
        *(f"torch.Generator.{name}" for name in
          ("manual_seed", "seed", "initial_seed", "get_state", "set_state", "clone_state", "graphsafe_get_state",
           "graphsafe_set_state", "get_offset", "set_offset")),
        "torch.default_generator.*",
    )  # fmt: skip
    BREAKS = (
        """
import torch
from torch import nn

SOURCE = torch.Generator()

class Sampler(nn.Module):
    def __init__(self):
        super().__init__()
        self.generator = torch.Generator()

    def forward(self, x, seed: int):
        self.generator.manual_seed(seed)  # GB7650
        y = x + 1
        state = SOURCE.get_state()  # GB7650
        return y * 2, state

@torch.compile
def seeded(x):
    y = x + 1
    torch.default_generator.manual_seed(0)  # GB7650
    return y * 2

torch.compile(Sampler())(torch.ones(2), 3)
seeded(torch.ones(2))
""",
    )
    CLEAN = (
        """
import torch

SOURCE = torch.Generator()
SOURCE.manual_seed(0)

@torch.compile
def sample(x, noise):
    return (x + noise).to(SOURCE.device)

sample(torch.ones(2), torch.rand(2, generator=SOURCE))
""",
        """
import torch

class Source:
    def manual_seed(self, seed):
        return seed + 1

@torch.compile
def sample(x, generator: Source):
    return x * generator.manual_seed(2)

sample(torch.ones(2), Source())
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        return Break(f"`{context.text(event.node)}` reads or changes the state of a random generator")
