"""A Python builtin that wants a number is given a tensor.

What breaks:
    `range(t)`, `pow(t, 2)`, `str(t)` (also of a list or dict that holds tensors), `complex(t)`, `bin(t)`, `hex(t)`,
    `oct(t)` and `chr(t)`, where `t` is a tensor.
Why Dynamo breaks:
    Dynamo evaluates these builtins while tracing, which works for numbers and sizes. A tensor has no value yet.
Example:
    for _ in range(steps):  # steps is a tensor
        x = torch.sin(x)
Instead:
    for _ in range(steps):  # steps is an int
        x = torch.sin(x)
Fix:
    Pass a Python number, or use the operator on tensors (`t ** 2` for `pow(t, 2)`).
Torch versions:
    Every release. Since 2.14 `range`, `bin`, `hex` and `oct` are GB0124, `str` is GB0569, and `pow` does not break.
Limits:
    `int`, `float` and `bool` of a tensor are GB0124; `abs`, `max`, `min`, `sum`, `len` and `round` do not break.
"""

from __future__ import annotations

from gblint.rule_api import (
    Break,
    Call,
    Context,
    Mapping,
    Rule,
    RuleMeta,
    Sequence,
    Value,
    as_tensor,
    tensor_certainty,
)

# Ids of those that have another one since then.
SINCE_2_14 = {"range": "GB0124", "bin": "GB0124", "hex": "GB0124", "oct": "GB0124", "str": "GB0569"}


class BuiltinOnTensor(Rule):
    """Builtins that take numbers, called with a tensor."""

    meta = RuleMeta(
        code="GB0059",
        slug="builtin-on-tensor",
        summary="a Python builtin that needs a number is given a tensor",
        category="supportable",
        advice="Pass a Python number or a size, or use the tensor operation of the same meaning.",
    )
    calls = (
        "builtins.range", "builtins.pow", "builtins.str", "builtins.complex", "builtins.bin", "builtins.hex",
        "builtins.oct", "builtins.chr",
    )  # fmt: skip
    BREAKS = (
        """
import torch

@torch.compile
def unroll(x: torch.Tensor, n: torch.Tensor):
    for _ in range(n):  # GB0059
        x = torch.sin(x)
    return x

unroll(torch.randn(3), torch.tensor(2))
""",
        """
import torch

@torch.compile
def powers(x: torch.Tensor):
    y = pow(x, 2)  # GB0059
    z = pow(2, x)  # GB0059
    return y + z

@torch.compile
def labelled(x: torch.Tensor):
    name = str(x.sum())  # GB0059
    names = str([x, x])  # GB0059
    return x * (len(name) + len(names))

@torch.compile
def digits(x: torch.Tensor, n: torch.Tensor):
    text = bin(n)  # GB0059
    letter = chr(n)  # GB0059
    z = complex(n, n)  # GB0059
    return x * len(text) + ord(letter) + z

powers(torch.ones(2))
labelled(torch.ones(2))
digits(torch.ones(2), torch.tensor(3))
""",
        """
import torch
from torch import nn

class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, x, stop: torch.Tensor):
        key = str(self.weight)  # GB0059
        rows = list(range(0, stop))  # GB0059
        return x * len(key) + len(rows)

torch.compile(Named())(torch.ones(2), torch.tensor(2))
""",
        """
import torch

@torch.compile
def named(x: torch.Tensor):
    y = x * 2
    return y + len(str({"a": y})) + 0 * len(str([1, 2])) + len(str({})) + len(str(y.shape))  # GB0059

@torch.compile
def listed(x: torch.Tensor):
    y = x * 2
    return y + len(str([1, y]))  # GB0059

named(torch.rand(3))
listed(torch.rand(3))
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def sizes(x: torch.Tensor, n: int):
    for i in range(x.shape[0]):
        x = x + i
    for i in range(len(x), n, 2):
        x = x * i
    return x * pow(x.shape[0], 2) + pow(2, n)

sizes(torch.ones(2, 3), 4)
""",
        """
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        text = str(x.shape) + str(x.dtype) + str(x.device) + str(x.size(0)) + str(type(x)) + str(None)
        return x ** 2 * len(text) + abs(x) + max(x[0], x[1]) + len(str(self)) + complex(1, 2).real

torch.compile(Net())(torch.ones(2))
""",
        """
import torch

@torch.compile
def caught(x: torch.Tensor):
    try:
        raise ValueError("a")
    except ValueError as error:
        text = str(error)
    return x * len(text) * len(hex(12)) + sum([x, x]) + round(x.shape[0] / 2)

caught(torch.ones(2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        values = [*event.args, *event.kwargs.values()]
        if event.callee == "builtins.str":
            values = [_holder(v) for v in values[:1]]
        best = max(values, key=tensor_certainty, default=None)
        certainty = tensor_certainty(best)
        if not certainty:
            return None
        name = event.callee.removeprefix("builtins.")
        if name == "pow" and context.torch >= (2, 14):
            return None
        message = f"`{context.text(event.node)}` gives `{name}` a tensor, whose value is not known while tracing"
        code = SINCE_2_14.get(name, "") if context.torch >= (2, 14) else ""
        return Break(message, certainty, about=as_tensor(best), code=code)


def _holder(value: Value) -> Value:
    """The value, or what a list or dict holds: its text contains the text of its elements."""
    if isinstance(value, Sequence) and value.kind != "size" and (value.items or value.elem is not None):
        return value.element()
    if isinstance(value, Mapping) and (value.items or value.elem is not None):
        return value.element()
    return value
