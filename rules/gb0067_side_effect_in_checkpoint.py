"""A function run under activation checkpointing changes something outside of it.

What breaks:
    In a function passed to `torch.utils.checkpoint.checkpoint` or `torch.cond`: appending to a list or storing
    into a dict that exists outside, setting an attribute of an outside object, writing a global or `nonlocal`
    variable.
Why Dynamo breaks:
    The function becomes a graph of its own that may run twice (again in the backward pass), so it must not have
    effects.
Example:
    def block(x):
        calls.append("block")
        return torch.relu(x)
    y = checkpoint(block, x, use_reentrant=False)
Instead:
    def block(x):
        return torch.relu(x)
Fix:
    Return the value instead of storing it, or store it after the checkpointed call. Where replaying is harmless
    set `torch._dynamo.config.skip_fwd_side_effects_in_bwd_under_checkpoint = True`.
Torch versions:
    Every release.
Limits:
    Changes of objects made inside the function are fine, and so are the running statistics of batch norm. An
    attribute of a module that is set there is GB4413.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta


class SideEffectInCheckpoint(Rule):
    """Side effects inside checkpointed functions."""

    meta = RuleMeta(
        code="GB0067",
        slug="side-effect-in-checkpoint",
        summary="a checkpointed function changes something outside of it",
        category="supportable",
        advice="Return the value instead of storing it.",
        by_hand="what is stored would have to be returned, by all functions on the way out",
    )
    calls = ("mark:side_effect",)
    BREAKS = (
        """
import torch
from torch.utils.checkpoint import checkpoint

calls = []
COUNT = 0

def block(x):
    calls.append("block")  # GB0067
    return torch.relu(x) * 2

def counted(x):
    global COUNT
    COUNT = 1  # GB0067
    return x * 2

@torch.compile
def run(x):
    return checkpoint(block, x, use_reentrant=False)

@torch.compile
def count(x):
    return checkpoint(counted, x, use_reentrant=False)

run(torch.ones(2, requires_grad=True))
count(torch.ones(2, requires_grad=True))
""",
    )
    CLEAN = (
        """
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

calls = []

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(2)

    def forward(self, x):
        parts = []
        parts.append(self.norm(x))
        table = {}
        table["a"] = parts[0]
        return table["a"] * 2

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x):
        y = checkpoint(self.block, x, use_reentrant=False)
        calls.append(1)
        return y + 1

torch.compile(Net())(torch.ones(3, 2))
""",
        """
import torch

calls = []

def block(x):
    calls.append("block")
    return torch.relu(x) * 2

def checkpoint(function, x):
    return function(x)

@torch.compile
def run(x):
    return checkpoint(block, x)

run(torch.ones(2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        setting = "skip_fwd_side_effects_in_bwd_under_checkpoint"
        if context.enabled(setting):
            return None
        return Break(f"`{context.text(event.node)}` changes something outside the checkpointed function")
