"""An object of a C class that Dynamo cannot build is made in a compiled region.

What breaks:
    `types.SimpleNamespace(…)`, `datetime.datetime(…)`, `datetime.timedelta(…)`, `datetime.date(…)`,
    `decimal.Decimal(…)`, `threading.local()`, `contextvars.ContextVar(…)`, `array.array(…)`, `socket.socket()`,
    `types.MethodType(…)`, `itertools.combinations_with_replacement(…)`.
Why Dynamo breaks:
    Calling the class runs C code, and Dynamo has no model of what comes out.
Example:
    return SimpleNamespace(logits=y, hidden=h)
Instead:
    @dataclass
    class Output: ...
    return Output(logits=y, hidden=h)
Fix:
    Use a dataclass, a named tuple or a dict; make dates and decimals outside and pass numbers in.
Torch versions:
    Every release; `SimpleNamespace` is traced since 2.15.
Limits:
    Reading attributes of such an object that was made outside does not break; calling its methods is GB0156.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Construct, Context, Rule, RuleMeta

CLASSES = frozenset(
    {
        "types.SimpleNamespace", "types.MethodType", "types.GenericAlias", "datetime.datetime", "datetime.date",
        "datetime.time", "datetime.timedelta", "decimal.Decimal", "threading.local", "_thread._local",
        "contextvars.ContextVar", "array.array", "socket.socket", "itertools.combinations_with_replacement",
        "multiprocessing.Manager",
    }
)  # fmt: skip


class UnsupportedConstruction(Rule):
    """Construction of opaque objects."""

    meta = RuleMeta(
        code="GB0147",
        slug="unsupported-construction",
        summary="an object that Dynamo cannot build is made in a compiled region",
        category="supportable",
        advice="Use a dataclass, named tuple or dict, or make the object outside.",
        by_hand="another class would have to take the place of this one wherever it is used",
    )
    measured = True
    calls = tuple(CLASSES)
    BREAKS = (
        """
from types import SimpleNamespace
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        y = self.layer(x)
        out = SimpleNamespace(logits=y)  # GB0147
        return out.logits + 1

torch.compile(Net())(torch.ones(1, 2))
""",
        """
import datetime
import decimal
import threading
import torch

@torch.compile
def dated(x):
    day = datetime.datetime(2020, 1, 1)  # GB0147
    x = x + day.year
    price = decimal.Decimal("1")  # GB0147
    x = x * 2
    span = datetime.timedelta(days=1)  # GB0147
    x = x * span.days
    state = threading.local()  # GB0147
    return x if price is state else x + 1

dated(torch.ones(2))
""",
    )
    CLEAN = (
        """
import collections
import dataclasses
import fractions
import types
import typing
import torch

@dataclasses.dataclass
class Output:
    logits: torch.Tensor

class Pair(typing.NamedTuple):
    a: torch.Tensor
    b: torch.Tensor

made = types.SimpleNamespace(scale=2)

@torch.compile
def step(x):
    out = Output(x * made.scale)
    pair = Pair(x, x + 1)
    half = fractions.Fraction(1, 2)
    table = collections.OrderedDict(a=1)
    return out.logits + pair.a + pair.b * len(table), half

step(torch.ones(2))
""",
        """
import datetime
import torch

DAY = datetime.datetime(2020, 1, 1)

class Decimal:
    def __init__(self, value):
        self.value = value

@torch.compile
def step(x):
    return x * DAY.year + Decimal(2).value

step(torch.ones(2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        return self._answer(event.callee, event, context)

    def on_construct(self, event: Construct, context: Context) -> Break | None:
        return self._answer(event.base, event, context) if event.cls is None and event.base in CLASSES else None

    def _answer(self, name: str, event: Call | Construct, context: Context) -> Break | None:
        if name == "types.SimpleNamespace" and context.torch >= (2, 15):
            return None
        return Break(f"`{context.text(event.node)}` builds a `{name}`, which Dynamo has no model of")
