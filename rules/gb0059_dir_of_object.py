"""`dir()` of an object inside a compiled region.

What breaks:
    `dir(x)` of an instance: a module, a tensor, an object of a class of the project.
Why Dynamo breaks:
    Dynamo answers `dir` for classes and Python modules only; an instance may compute its attributes.
Example:
    heads = [getattr(self, name) for name in dir(self) if name.startswith("head_")]
Instead:
    heads = list(self.heads)  # an nn.ModuleList filled in __init__
Fix:
    Collect the names or objects once, in `__init__`.
Torch versions:
    Every release.
Limits:
    `dir(module)` of a Python module, `dir(Class)` and `vars(x)` do not break. `dir()` without argument is GB0193.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Instance, Rule, RuleMeta, members, tensor_certainty


class DirOfObject(Rule):
    """Calls of dir with an instance."""

    meta = RuleMeta(
        code="GB0059",
        slug="dir-of-object",
        summary="`dir()` of an object in a compiled region",
        category="supportable",
        advice="Collect the attributes once in __init__ (a ModuleList, a list of names).",
    )
    calls = ("builtins.dir",)
    BREAKS = (
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head_a = nn.Linear(2, 2)

    def forward(self, x):
        names = [n for n in dir(self) if n.startswith("head_")]  # GB0059
        return x * len(names)

torch.compile(Net())(torch.ones(2))
""",
        """
import torch

class Options:
    scale = 2

@torch.compile
def scaled(x: torch.Tensor, options: Options):
    n = len(dir(options))  # GB0059
    m = len(dir(x))  # GB0059
    return x * n * m

scaled(torch.ones(2), Options())
""",
    )
    CLEAN = (
        """
import math
import torch
from torch import nn

@torch.compile
def counted(x: torch.Tensor):
    return x * len(dir(math)) * len(dir(nn.Linear))

counted(torch.ones(2))
""",
        """
import torch

class Options:
    def __init__(self):
        self.scale = 2

@torch.compile
def scaled(x: torch.Tensor, options: Options):
    return x * len(vars(options)) if hasattr(options, "scale") else x

scaled(torch.ones(2), Options())
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        if not event.args:
            return None
        value = event.args[0]
        is_object = any(isinstance(member, Instance) for member in members(value))
        certainty = 0.95 if is_object else tensor_certainty(value)
        if not certainty:
            return None
        return Break(f"`{context.text(event.node)}` asks an object for its attribute names", certainty, about=value)
