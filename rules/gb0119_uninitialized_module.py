"""The constructor of a module that Dynamo starts to trace on its own.

What breaks:
    The first use of `self` in the `__init__` of an nn.Module (mostly `super().__init__()`), when the module is built
    inside a region and the code that builds it runs eagerly: because the constructor itself breaks (parameters made in
    it, a print), or because the function around it fell back to eager.
Why Dynamo breaks:
    Building a module as part of a traced function is fine. But once the call runs eagerly, the constructor becomes a
    frame of its own, whose `self` is an nn.Module without contents, and Dynamo refuses to look at it.
Example:
    def forward(self, x):
        if self.adapter is None:
            self.adapter = Adapter(x.shape[-1])
        return self.adapter(x)
Instead:
    def __init__(self, width):
        self.adapter = Adapter(width)
Fix:
    Build modules before compiling, or call a function marked `torch.compiler.disable` that builds them.
Torch versions:
    Every release.
Limits:
    The constructor then runs eagerly as a whole, so further breaks in it are not reported.
"""

from __future__ import annotations

from gblint.rule_api import Break, Class, Context, Entry, External, Function, Rule, RuleMeta


class UninitializedModule(Rule):
    """Constructors of modules as frames of their own."""

    meta = RuleMeta(
        code="GB0119",
        slug="uninitialized-module",
        summary="the constructor of a module is traced on its own",
        category="user-error",
        advice="Build the module before compiling.",
        by_hand="where the module should be made is for its author to say",
        confidence=0.85,
    )
    BREAKS = (
        """
import torch
from torch import nn

class Adapter(nn.Module):
    def __init__(self, width):
        super().__init__()  # GB0119
        self.width = width
        self.linear = nn.Linear(width, width)  # GB0264

    def forward(self, x):
        return self.linear(x)

class Lazy(nn.Module):
    def __init__(self):
        super().__init__()
        self.adapter = None

    def forward(self, x):
        x = x * 2
        if self.adapter is None:
            self.adapter = Adapter(3)
        return self.adapter(x)

torch.compile(Lazy())(torch.rand(2, 3))
""",
    )
    CLEAN = (
        """
import torch
from torch import nn

class Scale(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor
        self.act = nn.ReLU()
        self.register_buffer("offset", torch.ones(3))

    def forward(self, x):
        return self.act(x) * self.factor + self.offset

class Record:
    def __init__(self, value):
        self.value = value

@torch.compile
def built_inside(x: torch.Tensor):
    x = Scale(2.0)(x)
    return nn.Sequential(nn.ReLU(), nn.Softmax(-1))(x) + Record(1.0).value

built_inside(torch.rand(3))
""",
    )

    def on_entry(self, event: Entry, context: Context) -> Break | None:
        if event.is_root or event.function.name != "__init__" or not _belongs_to_module(event.function):
            return None
        message = f"`{event.function.qualname}` runs as a frame of its own, and its `self` is a module without contents"
        return Break(message, 0.9, fatal=True)


def _belongs_to_module(function: Function) -> bool:
    owner = function.owner
    ancestors: list[Class | External] = (owner.mro or []) if owner is not None else []
    return any(isinstance(a, External) and a.dotted.startswith("torch.nn.") for a in ancestors)
