"""`nn.LSTM`, `nn.GRU` or `nn.RNN` used in the region.

What breaks:
    Calling a recurrent module of torch, or touching any of its attributes (`self.lstm.flatten_parameters()`), also
    inside a `Sequential`.
Why Dynamo breaks:
    These modules keep their weights in flat lists that Dynamo does not handle, so it refuses to look at them.
Example:
    out, _ = self.lstm(x)
Instead:
    torch._dynamo.config.allow_rnn = True
Fix:
    Set `torch._dynamo.config.allow_rnn = True` (2.9 and later), write the loop with `nn.LSTMCell`, or leave the
    recurrent part outside the compiled region.
Torch versions:
    Until 2.14 under this id; in 2.15 a call is GB0148.
Limits:
    `LSTMCell`, `GRUCell` and `RNNCell` are fine.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, GetAttr, Instance, Rule, RuleMeta, Value, members

RECURRENT = ("torch.nn.LSTM", "torch.nn.GRU", "torch.nn.RNN", "torch.nn.RNNBase")


class RecurrentModule(Rule):
    """Uses of LSTM, GRU and RNN."""

    meta = RuleMeta(
        code="GB0014",
        slug="recurrent-module",
        summary="a recurrent module of torch is used in a compiled region",
        category="supportable",
        advice="Set torch._dynamo.config.allow_rnn = True, or write the loop with the cell module.",
        torch=">=2.8,<2.15",
        renamed=((">=2.15", "GB0148"),),
        confidence=0.97,
    )
    calls = tuple(f"{name}.*" for name in RECURRENT)
    BREAKS = (
        """
import torch
from torch import nn

class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4, batch_first=True)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        out, _ = self.lstm(x)  # GB0014
        return self.head(out)

class Flat(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(3, 4)

    def forward(self, x):
        self.rnn.flatten_parameters()  # GB0014
        return x * 2

class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 3), nn.RNN(3, 3))

    def forward(self, x):
        return self.layers(x)[0] + 1  # GB0014

torch.compile(Tagger())(torch.rand(1, 2, 3))
torch.compile(Flat())(torch.rand(2, 3))
torch.compile(Stack())(torch.rand(2, 3))
""",
    )
    CLEAN = (
        """
import torch
from torch import nn

class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(3, 4)
        self.gru = nn.GRUCell(4, 4)

    def forward(self, steps):
        state = None
        for x in steps.unbind(0):
            state = self.cell(x, state)
        return self.gru(state[0])

torch.compile(Cells())(torch.rand(2, 1, 3))
""",
        """
import torch
from torch import nn

torch._dynamo.config.allow_rnn = True

class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4)

    def forward(self, x):
        return self.lstm(x)[0]

torch.compile(Tagger())(torch.rand(2, 3))
""",
        """
import torch
from torch import nn

torch._dynamo.config.allow_rnn = True
LSTM = nn.LSTM(3, 3)

@torch.compile
def tagged(x: torch.Tensor):
    return LSTM(x)[0] * 2

tagged(torch.rand(2, 3))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        if event.receiver is None or not _is_recurrent(event.receiver):
            return None
        return self._answer(event, context)

    def on_getattr(self, event: GetAttr, context: Context) -> Break | None:
        return self._answer(event, context) if event.owner in RECURRENT else None

    @staticmethod
    def _answer(event: Call | GetAttr, context: Context) -> Break | None:
        if context.enabled("allow_rnn"):
            return None
        message = f"`{context.text(event.node)}` touches a recurrent module, which Dynamo refuses to trace"
        return Break(message, fatal=isinstance(event, GetAttr))


def _is_recurrent(value: Value) -> bool:
    return any(isinstance(m, Instance) and m.base in RECURRENT and m.born == "outside" for m in members(value))
