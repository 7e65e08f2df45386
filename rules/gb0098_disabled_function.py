"""A function wrapped by `torch.compiler.disable` is called in a compiled region.

What breaks:
    A call of a plain function, `staticmethod`, property, hook, nested function or bound method object that was
    wrapped by `torch.compiler.disable` or `torch._dynamo.disable`, as a decorator or by a call.
Why Dynamo breaks:
    That is what `disable` asks for: the graph ends, the function runs eagerly with everything it calls, and a new
    graph starts behind it.
Example:
    @torch.compiler.disable
    def log_stats(x): ...
Instead:
    call it outside the compiled function
Fix:
    Remove the decorator if its reason is gone. The finding says so where that is certain: the body is gone through as
    if it were traced, with the arguments of the calls in view, and either nothing in it breaks under the target torch,
    or the report names what does. It says nothing where something in the body is not known, or where the body changes
    what outlives the call. Else move the call out of loops and of the compiled function; for code
    that only Dynamo cannot trace use `torch.compiler.allow_in_graph`, `nonstrict_trace` or a custom operator.
Torch versions:
    Every release.
Limits:
    Methods looked up on a class, and functions disabled with `recursive=False`, are GB0099; a wrapped module
    object is GB0148. A function that is compiled and disabled is not reported. That a function need not be disabled is
    said of graph breaks alone: it may be disabled for another reason, such as the time it takes to compile.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta


class DisabledFunction(Rule):
    """Calls of disabled functions."""

    meta = RuleMeta(
        code="GB0098",
        slug="disabled-function",
        summary="a function wrapped by `torch.compiler.disable` is called",
        category="supportable",
        advice="Remove the decorator, or move the call out of the compiled function.",
        confidence=0.95,
    )
    calls = ("mark:disable",)
    BREAKS = (
        """
import functools
import torch

@torch.compiler.disable
def show(x):
    return x + 1

@torch._dynamo.disable(reason="debugging")
def stats(x, scale):
    return x * scale

def plain(x):
    return x - 1

class Tools:
    @staticmethod
    @torch.compiler.disable
    def helper(x):
        return x + 2

wrapped = torch.compiler.disable(plain)
double = functools.partial(stats, scale=2)

@torch.compile
def step(x):
    y = show(x * 2)  # GB0098
    y = y + 1
    y = wrapped(y)  # GB0098
    y = y * 2
    y = double(y)  # GB0098
    y = y * 2
    return Tools.helper(y) + 1  # GB0098

step(torch.ones(2))
""",
        """
import torch
from torch import nn

@torch.compiler.disable
def hook(module, args, output):
    return None

class Net(nn.Module):
    @property
    @torch.compiler.disable
    def scale(self):
        return 2

    def forward(self, x):
        y = x * self.scale  # GB0098
        return y + 1

hooked = nn.Linear(2, 2)
hooked.register_forward_hook(hook)

@torch.compile
def step(x):
    return hooked(x * 2)  # GB0098

torch.compile(Net())(torch.ones(1, 2))
step(torch.ones(1, 2))
""",
        """
import torch

@torch.compiler.disable
def number(x):
    return x.sum().item()

@torch.compiler.disable
def mask(x):
    return x > 0

@torch.compile
def step(x):
    if number(x) > 0:  # GB0098
        x = x + 1
    positive = mask(x)  # GB0098
    x = x[positive]  # GB0036
    if positive.any():  # GB0170
        x = x - 1
    return x

step(torch.ones(3))
""",
    )
    CLEAN = (
        """
import torch

@torch.compiler.disable
def show(x):
    print(x)

@torch.compiler.allow_in_graph
def kept(x):
    return torch.sin(x)

@torch.compile
def step(x, verbose=False):
    if verbose or not torch.compiler.is_compiling():
        show(x)
    return kept(x) + 1

show(step(torch.ones(2)))
""",
        """
import torch

class Switch:
    def disable(self, function):
        return function

switch = Switch()

@switch.disable
def plain(x):
    return x + 1

@torch.compile
def step(x):
    return plain(x) * 2

step(torch.ones(2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        if event.receiver is not None:
            return None
        text = context.text(event.node)
        return Break(f"`{text}` calls `{event.name}`, which `torch.compiler.disable` keeps out of graphs")
