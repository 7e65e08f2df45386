"""A TorchScript module is used inside a compiled region.

What breaks:
    Any use (a call, a method, even `is not None`) of a module made by `torch.jit.script(module)`, `torch.jit.freeze`,
    `torch.jit.optimize_for_inference` or `torch.jit.load`.
Why Dynamo breaks:
    A script module has no Python code to trace; it runs in an interpreter of its own.
Example:
    self.act = torch.jit.script(nn.GELU())
Instead:
    self.act = nn.GELU()
Fix:
    Use the eager module and let `torch.compile` do the work.
Torch versions:
    Since 2.12 under this id; GB0357 in 2.10 and 2.11, without an id before.
Limits:
    Scripted and traced functions do not break: Dynamo traces the Python function. A module from `torch.jit.trace` is
    GB0008; calling `torch.jit.script` in the region is GB0007.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Compare, Context, GetAttr, Instance, Rule, RuleMeta, Value, members

BASES = ("torch.jit.ScriptModule", "torch.jit.RecursiveScriptModule")


class ScriptModule(Rule):
    """Uses of script modules."""

    meta = RuleMeta(
        code="GB4695",
        slug="script-module",
        summary="a TorchScript module is used in a compiled region",
        category="fundamental",
        advice="Use the eager module instead of the scripted one.",
        torch=">=2.12",
        renamed=((">=2.10,<2.12", "GB0357"), ("<2.10", "")),
    )
    calls = tuple(f"{base}.*" for base in BASES)
    BREAKS = (
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = torch.jit.script(nn.ReLU())

    def forward(self, x):
        y = x + 1
        return self.act(y) * 2  # GB4695

class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.jit.freeze(torch.jit.script(nn.Linear(2, 2).eval()))

    def forward(self, x):
        return self.layer(x + 1)  # GB4695

torch.compile(Net())(torch.ones(1, 2))
torch.compile(Frozen())(torch.ones(1, 2))
""",
        """
import torch
from torch import nn

scripted = torch.jit.script(nn.Linear(2, 2))

@torch.compile
def run(x):
    y = x + 1
    return scripted.forward(y)  # GB4695

run(torch.ones(1, 2))
""",
    )
    CLEAN = (
        """
import torch
from torch import nn

@torch.jit.script
def double(x):
    return x * 2

traced = torch.jit.trace(lambda x: x + 1, torch.ones(1, 2))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()

    @torch.jit.export
    def scale(self, x):
        return x * 3

    @torch.jit.ignore
    def shift(self, x):
        return x - 1

    def forward(self, x):
        return self.shift(self.scale(traced(double(self.act(x)))))

torch.compile(Net())(torch.ones(1, 2))
""",
        """
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        return x * 2 if not torch.jit.is_scripting() else x

net = Net()
scripted = torch.jit.script(nn.ReLU())
scripted(torch.compile(net)(torch.ones(1, 2)))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        text = context.text(event.node)
        return Break(f"`{text}` runs a TorchScript module, which has no Python code to trace", 0.95, fatal=True)

    def on_compare(self, event: Compare, context: Context) -> Break | None:
        if not (_is_script(event.left) or _is_script(event.right)):
            return None
        return Break(f"`{context.text(event.node)}` looks at a TorchScript module", 0.9, fatal=True)

    def on_getattr(self, event: GetAttr, context: Context) -> Break | None:
        if not _is_script(event.receiver):
            return None
        return Break(f"`{context.text(event.node)}` reads an attribute of a TorchScript module", 0.9, fatal=True)


def _is_script(value: Value) -> bool:
    return any(isinstance(m, Instance) and m.base in BASES for m in members(value))
