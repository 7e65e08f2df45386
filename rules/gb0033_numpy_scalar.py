"""NumPy scalars: random numbers drawn, and numbers read from arrays.

What breaks:
    `np.random.rand()`, `uniform()`, `normal()`, `randint(n)` and `random()` without a size, `np.random.choice` always;
    `int()`, `float()`, `bool()` or `.item()` of an array or of a NumPy reduction (`int(np.prod(x.shape))`),
    `np.allclose`, `np.array_equal`.
Why Dynamo breaks:
    NumPy is traced as torch: an array is a tensor, a NumPy scalar a 0-d tensor, whose value is not known.
Example:
    if np.random.rand() < self.p:
        x = torch.flip(x, [-1])
    flat = x.view(-1, int(np.prod(x.shape[1:])))
Instead:
    x = torch.where(torch.rand(()) < self.p, torch.flip(x, [-1]), x)
    flat = x.view(-1, math.prod(x.shape[1:]))
Fix:
    Use `math` for shape arithmetic, `random.uniform` or torch's random functions for random numbers, or draw outside
    the compiled region.
Torch versions:
    Since 2.8. With `torch._dynamo.config.trace_numpy = False` NumPy breaks in other ways.
Limits:
    Elementwise functions of Python numbers (`int(np.ceil(h / 2))`) keep their value and are fine. Random functions that
    torch does not model are GB0294, branches on the result GB0170.
"""

from __future__ import annotations

from gblint.rule_api import (
    Break,
    Call,
    Const,
    Context,
    Plain,
    Rule,
    RuleMeta,
    Sequence,
    Value,
    as_tensor,
    is_none,
    tensor_certainty,
)

# Random functions and the position of `size`: without it the result is one number.
RANDOM = {
    "numpy.random.rand": 0, "numpy.random.randn": 0, "numpy.random.random": 0, "numpy.random.random_sample": 0,
    "numpy.random.sample": 0, "numpy.random.uniform": 2, "numpy.random.normal": 2, "numpy.random.randint": 2,
}  # fmt: skip
CHOICE = "numpy.random.choice"
READS = {
    "builtins.int": "int", "builtins.float": "float", "builtins.bool": "bool", "numpy.ndarray.item": "number",
    "numpy.allclose": "bool", "numpy.array_equal": "bool",
}  # fmt: skip


class NumpyScalar(Rule):
    """Numbers that NumPy code needs at once."""

    meta = RuleMeta(
        code="GB0033",
        slug="numpy-scalar",
        summary="NumPy code needs the value of an array or draws a number",
        category="supportable",
        advice="Use math for shape arithmetic and torch's or Python's random functions.",
    )
    calls = (CHOICE, *RANDOM, *READS)
    BREAKS = (
        """
import numpy as np
import torch

@torch.compile
def augment(x: torch.Tensor):
    epsilon = np.random.rand()  # GB0033
    return x * epsilon

@torch.compile
def shifted(x: torch.Tensor):
    y = x * 2
    steps = np.random.randint(0, 3)  # GB0033
    return y.roll(steps, 0) + np.random.uniform(0.5, 1.0)  # GB0033

@torch.compile
def flattened(x: torch.Tensor):
    return x.view(-1) * int(np.prod(x.shape))  # GB0033

@torch.compile
def sampled(x: torch.Tensor):
    rows = np.random.choice(np.arange(4), 2, replace=False)  # GB0033
    return x[torch.from_numpy(rows)]

augment(torch.rand(3))
shifted(torch.rand(3))
flattened(torch.rand(3, 2))
sampled(torch.rand(4))
""",
        """
import numpy as np
import torch

@torch.compile
def mean_value(x: torch.Tensor):
    return x + float(np.mean(x.numpy()))  # GB0033

@torch.compile
def first(x: torch.Tensor):
    return x + x.numpy().sum().item()  # GB0033

@torch.compile
def same(x: torch.Tensor):
    array = x.numpy()
    equal = np.allclose(array, array * 2)  # GB0033
    return x * equal

mean_value(torch.rand(3))
first(torch.rand(3))
same(torch.rand(3))
""",
        """
import numpy as np
import torch

@torch.compile
def drawn(x: torch.Tensor):
    y = x * 2
    y = y + np.random.randn()  # GB0033
    y = y + np.random.normal(0.0, 1.0, None)  # GB0033
    picked = np.random.choice(4)  # GB0033
    return y + picked

@torch.compile
def truth(x: torch.Tensor):
    array = x.numpy() * 2
    flag = bool(np.max(array) > 1.0)  # GB0033
    return x * flag

@torch.compile
def equal(x: torch.Tensor):
    array = x.numpy() * 2
    return x * np.array_equal(array, array)  # GB0033

drawn(torch.rand(3))
truth(torch.rand(3))
equal(torch.rand(3))
""",
    )
    CLEAN = (
        """
import math
import random

import numpy as np
import torch

@torch.compile
def arithmetic(x: torch.Tensor):
    height = int(np.ceil(x.shape[0] / 2)) + math.prod(x.shape)
    scale = float(np.sqrt(4.0)) * np.pi
    return x * scale / np.sqrt(x.shape[-1]) + height + random.uniform(0.0, 1.0)

arithmetic(torch.rand(3, 2))
""",
        """
import numpy as np
import torch

@torch.compile
def arrays(x: torch.Tensor):
    noise = torch.from_numpy(np.random.rand(3)) + torch.from_numpy(np.random.normal(0.0, 1.0, size=3))
    picks = torch.from_numpy(np.random.randint(0, 3, (2,)))
    weights = np.exp(-np.arange(3))
    return x[picks].sum() + noise + torch.as_tensor(weights) + np.isclose(x.numpy(), 1.0).shape[0]

arrays(torch.rand(3))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        text = context.text(event.node)
        if event.callee in READS:
            subject = event.receiver if event.receiver is not None else event.argument(0, "x")
            array = as_tensor(subject)
            if array is None or not _is_array(event) or (event.receiver is not None and event.args):
                return None
            certainty = tensor_certainty(subject)
            certainty *= 1.0 if certainty >= 0.8 else 0.5  # a doubtful array is mostly a plain number
            message = f"`{text}` needs the value of a NumPy array, which Dynamo traces as a tensor"
            return Break(message, certainty, about=array, result=Plain(READS[event.callee]))
        if event.callee in RANDOM and (event.opaque_args or _has_size(event)):
            return None
        message = f"`{text}` draws a number, which Dynamo traces as a tensor without a value"
        return Break(message, 1.0, result=_drawn(event))


def _is_array(event: Call) -> bool:
    """Whether the call reads a NumPy array (of a tensor, int() and float() are another break)."""
    given = [as_tensor(v) for v in (event.receiver, *event.args)]
    return any(t is not None and (t.subclass == "ndarray" or event.callee.startswith("numpy.")) for t in given)


def _has_size(event: Call) -> bool:
    size = event.argument(RANDOM[event.callee], "size")
    return size is not None and not is_none(size)


def _drawn(event: Call) -> Value | None:
    """Once the graph is broken NumPy itself runs, and gives numbers."""
    if event.callee != CHOICE:
        return Plain("int" if event.callee.endswith("randint") else "float")
    size = event.argument(1, "size")
    many = size is not None and not isinstance(size, Const | Plain)
    return None if many or isinstance(size, Sequence) else Plain("")
