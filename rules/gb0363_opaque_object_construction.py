"""A `torch.Generator` is made inside a compiled region.

What breaks:
    `torch.Generator(…)`.
Why Dynamo breaks:
    A generator is an opaque object for the graph: it can be an input, not something made while tracing.
Example:
    generator = torch.Generator().manual_seed(seed)
Instead:
    def forward(self, x, noise): ...
Fix:
    Draw the noise outside and pass the tensor in; passing the generator in breaks where it is used.
Torch versions:
    Since 2.12 under this id; before, GB0007.
Limits:
    Methods of a generator are GB7650, `torch.rand(…, generator=g)` is GB0055.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta


class OpaqueObjectConstruction(Rule):
    """Construction of torch.Generator."""

    meta = RuleMeta(
        code="GB0363",
        slug="generator-construction",
        summary="a `torch.Generator` is made in a compiled region",
        category="user-error",
        advice="Draw random tensors outside and pass them in.",
        torch=">=2.12",
        renamed=(("<2.12", "GB0007"),),
        confidence=0.97,
    )
    calls = ("torch.Generator",)
    BREAKS = (
        """
import torch
from torch import nn

class Sampler(nn.Module):
    def forward(self, x):
        g = torch.Generator(device="cpu")  # GB0363
        y = x + 1
        return y * 2 if g is not None else y

torch.compile(Sampler())(torch.ones(2))
""",
    )
    CLEAN = (
        """
import torch

SOURCE = torch.Generator()

@torch.compile
def sample(x, noise):
    if isinstance(SOURCE, torch.Generator):
        x = x + 1
    return x + noise + torch.rand(2).to(torch.device("cpu"))

sample(torch.ones(2), torch.rand(2, generator=SOURCE))
""",
        """
import torch

class Generator:
    def __init__(self, scale):
        self.scale = scale

@torch.compile
def sample(x):
    return x * Generator(2).scale

sample(torch.ones(2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        return Break(f"`{context.text(event.node)}` makes an object that can only be passed into a graph")
