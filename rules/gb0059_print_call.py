"""`print` inside a compiled region.

What breaks:
    A call of `print`, whatever it prints and wherever the text goes, also when it is reached through an alias, `map`,
    `functools.partial` or a callback.
Why Dynamo breaks:
    Printing is a side effect that a graph of tensor operations cannot hold, so the graph ends, Python prints, and what
    follows becomes another graph. In a loop or a `try` the whole function runs eagerly.
Example:
    h = self.proj(x)
    print("hidden", h.shape)
    return torch.relu(h)
Instead:
    h = self.proj(x)
    return torch.relu(h)
Fix:
    Remove the call, print outside the compiled function, or guard it with `if not torch.compiler.is_compiling():`.
    To keep it, add `print` to `torch._dynamo.config.reorderable_logging_functions` (it then runs after the graph) or
    use `torch._higher_order_ops.print`.
Torch versions:
    Every release.
Limits:
    Nothing is reported when the project adds `print` to the reorderable or ignored logging functions.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta

ALLOWING = (
    "torch._dynamo.config.reorderable_logging_functions",
    "torch._dynamo.config.ignore_logging_functions",
)


class PrintCall(Rule):
    """Calls of print."""

    meta = RuleMeta(
        code="GB0059",
        slug="print-call",
        summary="`print` in a compiled region",
        category="supportable",
        advice="Remove the print, move it out of the compiled function, or make it reorderable.",
        confidence=0.97,
    )
    calls = ("builtins.print",)
    BREAKS = (
        """
import sys
import torch
from torch import nn

class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(8, 4)

    def forward(self, x):
        h = self.proj(x)
        print("hidden", h.shape)  # GB0059
        h = torch.relu(h)
        print(f"done", file=sys.stderr)  # GB0059
        return h + 1

torch.compile(Encoder())(torch.randn(2, 8))
""",
        """
import torch

def report(*parts):
    print(*parts)  # GB0059

def callback(value):
    print("mean", value.mean())  # GB0059

log = print

@torch.compile
def step(x, notify):
    report("start")
    x = x * 2
    notify(x)
    x = x + 1
    log("end")  # GB0059
    return x

step(torch.ones(2), callback)
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def step(x):
    if not torch.compiler.is_compiling():
        print("eager only")
    shown = [print]
    return x * len(shown)

print(step(torch.ones(2)))
""",
        """
import torch

torch._dynamo.config.reorderable_logging_functions.add(print)

@torch.compile
def step(x):
    y = x * 2
    print("doubled", y)
    return y + 1

step(torch.ones(2))
""",
        """
import torch

@torch.compiler.disable
def show(x):
    print(x)

class Printer:
    def print(self, x):
        return x + 1

@torch.compile
def step(x, printer):
    return printer.print(x)

show(step(torch.ones(2), Printer()))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        if any("print" in context.settings.get(setting, "").split(", ") for setting in ALLOWING):
            return None
        return Break(f"`{context.text(event.node)}` is a side effect that cannot be part of a graph")
