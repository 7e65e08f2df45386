"""A class is defined inside a compiled region.

What breaks:
    A `class` statement in the compiled function or in a helper it calls, of any kind (plain, module, dataclass,
    `NamedTuple`, `Enum`, exception).
Why Dynamo breaks:
    Making a class runs its body and metaclass at run time, which Dynamo does not model.
Example:
    def forward(self, x):
        class Output: ...
Instead:
    class Output: ...  # at module level
Fix:
    Move the class to module level.
Torch versions:
    Since 2.13 under this id; from 2.10 it was GB0007, before GB0075.
Limits:
    `collections.namedtuple(…)` does not break. A `class` in code that only runs outside the region is fine.
"""

from __future__ import annotations

from gblint.rule_api import Break, ClassDef, Context, Rule, RuleMeta


class ClassStatement(Rule):
    """class statements."""

    meta = RuleMeta(
        code="GB8977",
        slug="class-statement",
        summary="a class is defined in a compiled region",
        category="supportable",
        advice="Define the class at module level.",
        torch=">=2.13",
        renamed=((">=2.10,<2.13", "GB0007"), ("<2.10", "GB0075")),
        confidence=0.97,
    )
    BREAKS = (
        """
import torch
from torch import nn

def output_class():
    class Pair(tuple):  # GB8977
        pass
    return Pair

class Net(nn.Module):
    def forward(self, x):
        class Output:  # GB8977
            def __init__(self, value):
                self.value = value

        y = Output(x * 2).value
        pair = output_class()
        return y + 1 if pair is not None else y

torch.compile(Net())(torch.ones(2))
""",
    )
    CLEAN = (
        """
import collections
import torch

def output_class():
    class Output:
        def __init__(self, value):
            self.value = value
    return Output

OUTPUT = output_class()

@torch.compile
def run(x):
    pair = collections.namedtuple("Pair", ["a", "b"])
    return OUTPUT(x * 2).value + 1 if pair is not None else x

run(torch.ones(2))
""",
        """
import torch

class Net(torch.nn.Module):
    class Output:
        def __init__(self, value):
            self.value = value

    def forward(self, x):
        return self.Output(x * 2).value

torch.compile(Net())(torch.ones(2))
""",
    )

    def on_classdef(self, event: ClassDef, context: Context) -> Break | None:
        return Break(f"`class {event.name}` is defined while tracing")
