"""A call whose arguments do not fit the function, or an autograd `Function` written with class methods.

What breaks:
    `Function.apply` of a `torch.autograd.Function` whose `forward` or `backward` is a `@classmethod`, when a
    gradient is needed.
Why Dynamo breaks:
    Dynamo calls these methods as plain functions, and with `cls` in front the arguments do not fit.
Example:
    @classmethod
    def forward(cls, ctx, x): ...
Instead:
    @staticmethod
    def forward(ctx, x): ...
Fix:
    Make `forward`, `backward` and `setup_context` static methods.
Torch versions:
    From 2.11 to 2.13 under this id; in all others GB0088.
Limits:
    Without gradients (`no_grad`, inputs that need none) it does not break. Calls that Python itself would reject
    are not looked for.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Class, Context, Rule, RuleMeta


class ArgumentsDoNotFit(Rule):
    """autograd Functions with class methods."""

    meta = RuleMeta(
        code="GB7312",
        slug="classmethod-in-autograd-function",
        summary="an autograd Function is written with class methods",
        category="user-error",
        advice="Make forward and backward static methods.",
        torch=">=2.11,<2.14",
        renamed=((">=2.14", "GB0088"), ("<2.11", "GB0088")),
    )
    calls = ("torch.autograd.Function.apply",)
    BREAKS = (
        """
import torch
from torch import nn

class Square(torch.autograd.Function):
    @classmethod
    def forward(cls, ctx, x):
        return x * x

    @classmethod
    def backward(cls, ctx, grad):
        return grad

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        y = self.layer(x)
        return Square.apply(y) + 1  # GB7312

torch.compile(Net())(torch.ones(1, 2))
""",
    )
    CLEAN = (
        """
import torch
from torch import nn

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return grad

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return Square.apply(self.layer(x)) + 1

torch.compile(Net())(torch.ones(1, 2))
""",
        """
import torch

class Registry:
    @classmethod
    def forward(cls, x):
        return x + 1

    @classmethod
    def apply(cls, x):
        return cls.forward(x)

@torch.compile
def run(x):
    return Registry.apply(x) * 2

run(torch.ones(2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        if not isinstance(event.receiver, Class):
            return None
        wrong = [name for name in ("forward", "backward", "setup_context") if _is_classmethod(event.receiver, name)]
        if not wrong:
            return None
        name = f"{event.receiver.info.qualname}.{wrong[0]}"
        return Break(f"`{name}` is a class method, and Dynamo calls it as a static one", 0.85)


def _is_classmethod(cls: Class, name: str) -> bool:
    position = cls.info.methods.get(name)
    return position is not None and "classmethod" in cls.module.functions[position].decorators
