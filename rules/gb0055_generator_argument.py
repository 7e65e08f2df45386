"""A `torch.Generator` passed to a torch function.

What breaks:
    `torch.randn(shape, generator=g)`, `x.normal_(generator=g)`, `torch.multinomial(p, n, generator=g)` and the like
    with a generator; `Tensor.apply_` and `map_`, which take a Python function.
Why Dynamo breaks:
    The arguments of an operator must be things that a graph can hold. A generator or a Python function is not.
Example:
    noise = torch.randn(x.shape, generator=self.generator)
Instead:
    def forward(self, x, noise): ...
Fix:
    Draw the noise outside and pass the tensor in, or rely on the global seed.
Torch versions:
    Every release.
Limits:
    `generator=None` is fine. Making a generator in the region is GB0363, its methods are GB7650.
"""

from __future__ import annotations

from gblint.rule_api import (
    Break,
    Call,
    Context,
    Instance,
    Rule,
    RuleMeta,
    Union,
    Unknown,
    Value,
    as_tensor,
    is_none,
    members,
)

TAKES_FUNCTION = ("torch.Tensor.apply_", "torch.Tensor.map_")


class GeneratorArgument(Rule):
    """Arguments that no graph can hold."""

    meta = RuleMeta(
        code="GB0055",
        slug="generator-argument",
        summary="a torch.Generator is passed to a torch function",
        category="supportable",
        advice="Draw the noise outside and pass the tensor in, or rely on the global seed.",
        confidence=0.95,
    )
    calls = ("torch.*",)
    BREAKS = (
        """
import torch
from torch import nn

class Noise(nn.Module):
    def __init__(self):
        super().__init__()
        self.generator = torch.Generator()

    def forward(self, x):
        noise = torch.randn(x.shape, generator=self.generator)  # GB0055
        return x + noise

@torch.compile
def sample(p: torch.Tensor, generator: torch.Generator):
    picked = torch.multinomial(p, 1, generator=generator)  # GB0055
    return picked + torch.zeros(3).uniform_(0, 1, generator=generator)  # GB0055

@torch.compile
def mapped(x: torch.Tensor):
    y = x * 2
    return y.apply_(lambda value: value + 1) * 2  # GB0055

torch.compile(Noise())(torch.rand(3))
sample(torch.rand(3), torch.Generator())
mapped(torch.rand(3))
""",
        """
import torch

DICE = torch.Generator()

@torch.compile
def noisy(x: torch.Tensor, generator: torch.Generator):
    y = x * 2
    return y + torch.rand(2, generator=generator)  # GB0055

@torch.compile
def halved(x: torch.Tensor):
    y = x * 2
    y = y.clone().map_(x, lambda a, b: a / 2)  # GB0055
    return y

noisy(torch.rand(2), DICE)
halved(torch.rand(2))
""",
    )
    CLEAN = (
        """
import torch

def draw(shape, generator: torch.Generator | None = None):
    return torch.randn(shape, generator=generator)

@torch.compile
def noisy(x: torch.Tensor):
    return x + draw(x.shape) + torch.rand_like(x) + torch.randn(3, generator=None) + torch.zeros(3).normal_()

noisy(torch.rand(3))
""",
        """
import torch

@torch.compile
def seeded(x: torch.Tensor, generator: torch.Generator | None = None):
    return torch.bernoulli(x) if generator is None else torch.bernoulli(x, generator=generator)

seeded(torch.rand(2))
""",
        """
import torch

class Dice:
    def __init__(self, generator: torch.Generator | None = None):
        self.generator = generator

    def draw(self, shape):
        return torch.randn(shape, generator=self.generator)

DICE = Dice()

@torch.compile
def noisy(x: torch.Tensor):
    return x + DICE.draw(x.shape)

noisy(torch.rand(3))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        if event.callee in TAKES_FUNCTION and as_tensor(event.receiver) is not None:
            text = context.text(event.node)
            return Break(f"`{text}` calls a Python function for each element, which a graph cannot hold")
        certainty = max((_generator_certainty(v) for v in (*event.args, *event.kwargs.values())), default=0.0)
        if isinstance(event.kwargs.get("generator"), Unknown):
            certainty = 0.35  # a parameter that is None more often than not
        if not certainty:
            return None
        text = context.text(event.node)
        return Break(f"`{text}` is given a torch.Generator, which a graph cannot hold", certainty)


def _generator_certainty(value: Value) -> float:
    """How sure it is that a generator is passed; an optional one is mostly left out."""
    if not any(isinstance(m, Instance) and m.base == "torch.Generator" for m in members(value)):
        return 0.0
    return 0.4 if isinstance(value, Union) and any(is_none(m) for m in value.members) else 1.0
