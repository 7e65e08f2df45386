"""`ndarray.astype(object)` inside a compiled region.

What breaks:
    `array.astype(object)`, `array.astype("O")` and `array.astype(dtype=object)`.
Why Dynamo breaks:
    Dynamo traces NumPy arrays as tensors, and no tensor holds Python objects.
Example:
    names = x.numpy().astype(object)
Instead:
    convert outside the compiled function
Fix:
    Keep arrays of objects out of the region.
Torch versions:
    Since 2.9.
Limits:
    `astype(str)` is GB0055. The array that comes out breaks again wherever it is used (GB0185).
"""

from __future__ import annotations

from gblint.rule_api import (
    Break,
    Call,
    Const,
    Context,
    External,
    Rule,
    RuleMeta,
    Tensor,
    Value,
    as_tensor,
    tensor_certainty,
)


class AstypeObject(Rule):
    """astype(object) of arrays."""

    meta = RuleMeta(
        code="GB0250",
        slug="astype-object",
        summary="an array is converted to Python objects",
        category="fundamental",
        advice="Keep arrays of objects outside the compiled function.",
        torch=">=2.9",
    )
    calls = ("numpy.ndarray.astype",)
    BREAKS = (
        """
import torch

@torch.compile
def run(x: torch.Tensor):
    a = x.numpy().astype(object)  # GB0250
    return x * len(a)  # GB0185

@torch.compile
def letter(x: torch.Tensor):
    a = x.numpy().astype("O")  # GB0250
    return x + 1 if a is None else x * 2  # GB0185

run(torch.ones(2))
letter(torch.ones(2))
""",
        """
import torch

@torch.compile
def objects(x: torch.Tensor):
    array = x.numpy() * 2
    boxed = array.astype(dtype="O")  # GB0250
    return x * 2

objects(torch.rand(2))
""",
    )
    CLEAN = (
        """
import numpy as np
import torch

@torch.compile
def run(x: torch.Tensor):
    a = x.numpy().astype("float64") + x.numpy().astype(np.float32)
    return x * len(a)

run(torch.ones(2))
""",
        """
import torch

class Table:
    def astype(self, kind):
        return 2

@torch.compile
def run(x: torch.Tensor, table: Table):
    return x * table.astype(object)

run(torch.ones(2), Table())
""",
        """
import torch

@torch.compile
def doubles(x: torch.Tensor):
    array = x.numpy().astype("float64") * 2
    return torch.from_numpy(array.astype(float)) + torch.from_numpy(array.astype(dtype="int64"))

doubles(torch.rand(2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        dtype = event.argument(0, "dtype")
        if dtype is None or not _is_object(dtype):
            return None
        certainty = tensor_certainty(event.receiver)
        message = f"`{context.text(event.node)}` makes an array of Python objects, which no tensor can hold"
        result = Tensor(certainty, role="result", subclass="object array")
        return Break(message, certainty, about=as_tensor(event.receiver), result=result)


def _is_object(dtype: Value) -> bool:
    if isinstance(dtype, Const):
        return dtype.value in ("O", "object")
    return isinstance(dtype, External) and dtype.dotted == "builtins.object"
