"""A method marked by `torch.compiler.disable` is called in a compiled region.

What breaks:
    A call of a method (also `forward` of a submodule, `__call__`, a `classmethod`, a method of a class decorated
    as a whole) that carries `torch.compiler.disable`; any function or module disabled with `recursive=False`; a
    function disabled and then wrapped with `functools.wraps`.
Why Dynamo breaks:
    That is what `disable` asks for: the method is not traced, so the graph ends at the call.
Example:
    @torch.compiler.disable
    def route(self, x): ...
Instead:
    call it outside the compiled function
Fix:
    Remove the decorator if its reason is gone (the finding says so where that is certain, as for GB0098), or compile
    the parts around the call instead of the whole.
Torch versions:
    Every release.
Limits:
    Plain functions and static methods are GB0098, a module object wrapped by `disable(module)` is GB0148.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta


class DisabledMethod(Rule):
    """Calls of disabled methods."""

    meta = RuleMeta(
        code="GB0099",
        slug="disabled-method",
        summary="a method marked by `torch.compiler.disable` is called",
        category="supportable",
        advice="Remove the decorator, or compile the parts around the call.",
        confidence=0.95,
    )
    calls = ("mark:disable", "mark:disable_frame")
    BREAKS = (
        """
import torch
from torch import nn

class Router(nn.Module):
    @torch.compiler.disable
    def forward(self, x):
        return x + 1

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = Router()

    @torch._dynamo.disable
    def debug(self, x):
        return x - 1

    def forward(self, x):
        y = self.router(x * 2)  # GB0099
        y = y + 1
        return self.debug(y) + 1  # GB0099

torch.compile(Net())(torch.ones(2))
""",
        """
import torch

@torch.compiler.disable(recursive=False)
def outer(x):
    return x + 1

class Tools:
    @classmethod
    @torch.compiler.disable
    def helper(cls, x):
        return x + 2

    @torch.compiler.disable
    def __call__(self, x):
        return x * 3

tools = Tools()

@torch.compile
def step(x):
    y = outer(x * 2)  # GB0099
    y = y + 1
    y = Tools.helper(y)  # GB0099
    y = y * 2
    return tools(y) + 1  # GB0099

step(torch.ones(2))
""",
    )
    CLEAN = (
        """
import torch
from torch import nn

class Net(nn.Module):
    @torch.compiler.disable
    def debug(self, x):
        return x - 1

    def forward(self, x):
        if not torch.compiler.is_compiling():
            x = self.debug(x)
        return x * 2

net = Net()
net.debug(torch.compile(net)(torch.ones(2)))
""",
        """
import torch

class Switch:
    def disable(self, x):
        return x + 1

    def enable(self, x):
        return self.disable(x)

switch = Switch()

@torch.compile
def step(x):
    return switch.enable(x) * 2

step(torch.ones(2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        if event.callee == "mark:disable" and event.receiver is None:
            return None
        text = context.text(event.node)
        return Break(f"`{text}` calls `{event.name}`, which `torch.compiler.disable` keeps out of graphs")
