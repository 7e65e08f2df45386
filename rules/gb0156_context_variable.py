"""A `contextvars.ContextVar` is read or set inside a compiled region.

What breaks:
    `variable.get()`, `variable.set(value)` and `variable.reset(token)`.
Why Dynamo breaks:
    The variable is a C object whose value depends on the running context; Dynamo has no guard for it.
Example:
    window = WINDOW.get()
Instead:
    pass `window` as an argument
Fix:
    Read the variable outside the compiled function and pass the value in.
Torch versions:
    Until 2.13 under this id. Since 2.14 `get` is traced, `set` and `reset` are GB6815.
Limits:
    A variable that is only passed around does not break.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta


class ContextVariable(Rule):
    """Methods of ContextVar."""

    meta = RuleMeta(
        code="GB0156",
        slug="context-variable",
        summary="a context variable is used in a compiled region",
        category="supportable",
        advice="Read it outside the compiled function and pass the value in.",
        torch="<2.14",
        renamed=((">=2.14", "GB6815"),),
    )
    calls = ("contextvars.ContextVar.get", "contextvars.ContextVar.set", "contextvars.ContextVar.reset")
    BREAKS = (
        """
import contextvars
from contextvars import ContextVar
import torch
from torch import nn

SCALE = contextvars.ContextVar("scale", default=2.0)
WINDOW: ContextVar[int] = ContextVar("window", default=0)

class Net(nn.Module):
    def forward(self, x):
        y = x * SCALE.get()  # GB0156
        if WINDOW.get() > 0:  # GB0156
            y = y + 1
        SCALE.set(3.0)  # GB0156
        return y * 2

torch.compile(Net())(torch.ones(2))
""",
    )
    CLEAN = (
        """
import contextvars
import torch

SCALE = contextvars.ContextVar("scale", default=2.0)

@torch.compile
def run(x, scale: float):
    return x * scale if SCALE is not None else x

run(torch.ones(2), SCALE.get())
""",
        """
import torch

class Variable:
    def get(self):
        return 2

    def set(self, value):
        self.value = value

SCALE = Variable()

@torch.compile
def run(x, table: dict):
    SCALE.set(3)
    return x * SCALE.get() + table.get("a", 0)

run(torch.ones(2), {"a": 1})
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        if event.callee.endswith(".get") and context.torch >= (2, 14):
            return None
        return Break(f"`{context.text(event.node)}` uses a context variable, which Dynamo has no model of")
