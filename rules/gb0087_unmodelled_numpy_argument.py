"""A NumPy function with an argument that torch's model of NumPy does not implement.

What breaks:
    `np.unique(a, return_index=True)`, `order="F"`, `where=` in reductions, `np.pad` with a mode other than constant,
    arrays of strings, `np.random.shuffle`; `Tensor.to_mkldnn`.
Why Dynamo breaks:
    The function is known, but its fake version raises NotImplementedError for this argument.
Example:
    values, first = np.unique(labels, return_index=True)
Instead:
    values = np.unique(labels)
Fix:
    Use torch operations, or do the NumPy part outside the compiled region.
Torch versions:
    Every release.
Limits:
    Only the arguments listed are known.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Const, Context, Rule, RuleMeta, Sequence, Value, type_name

MODES = ("constant", "")
REDUCTIONS = {f"numpy.{name}" for name in ("mean", "sum", "prod", "std", "var", "min", "max", "any", "all")}


class UnmodelledNumpyArgument(Rule):
    """NumPy arguments without a fake version."""

    meta = RuleMeta(
        code="GB0087",
        slug="unmodelled-numpy-argument",
        summary="a NumPy argument that torch's model of NumPy does not implement",
        category="supportable",
        advice="Use torch operations, or do the NumPy part outside the compiled region.",
        by_hand="torch has nothing equal to the argument",
    )
    calls = ("numpy.*", "torch.Tensor.to_mkldnn")
    measured = True
    BREAKS = (
        """
import numpy as np
import torch

@torch.compile
def firsts(labels: torch.Tensor):
    labels = labels * 2
    values, first = np.unique(labels.numpy(), return_index=True)  # GB0087
    return torch.from_numpy(first)

@torch.compile
def padded(x: torch.Tensor):
    array = (x * 2).numpy()
    return torch.from_numpy(np.pad(array, 1, mode="reflect"))  # GB0087

firsts(torch.tensor([0, 1, 0]))
padded(torch.rand(3))
""",
        """
import numpy as np
import torch

@torch.compile
def columns(x: torch.Tensor):
    array = (x * 2).numpy()
    return torch.from_numpy(np.ravel(array, order="F"))  # GB0087

@torch.compile
def some(x: torch.Tensor):
    array = (x * 2).numpy()
    return x + np.sum(array, where=[True, False])  # GB0087

@torch.compile
def layout(x: torch.Tensor):
    y = x * 2
    return y.to_mkldnn().to_dense()  # GB0087

@torch.compile
def named(x: torch.Tensor):
    y = x * 2
    names = np.array(["a", "b"])  # GB0087
    return y * 2

columns(torch.rand(2, 2))
some(torch.rand(2))
layout(torch.rand(2))
named(torch.rand(2))
""",
    )
    CLEAN = (
        """
import numpy as np
import torch

@torch.compile
def fine(x: torch.Tensor):
    array = x.numpy()
    ordered = np.sort(array, kind="stable") + np.zeros(3, order="C") + array.mean(axis=0)
    return torch.from_numpy(np.stack([ordered, np.full(3, 2.0)]))

fine(torch.rand(3))
""",
        """
import numpy as np
import torch

@torch.compile
def rows(x: torch.Tensor):
    array = np.ravel((x * 2).numpy(), order="C") + np.array([1, 2, 3, 4])
    return torch.from_numpy(array) + np.sum(array, axis=0)

rows(torch.rand(2, 2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        measured = context.knowledge.verdict(event.callee) == self.meta.code
        if not (measured or event.callee == "torch.Tensor.to_mkldnn" or _unmodelled(event)):
            return None
        return Break(f"`{context.text(event.node)}` uses a part of NumPy that torch does not implement for tracing")


def _unmodelled(event: Call) -> bool:
    name = event.callee
    if name == "numpy.unique":
        return _is_true(event.argument(1, "return_index"))
    if name == "numpy.pad":
        mode = event.argument(2, "mode")
        return isinstance(mode, Const) and mode.value not in MODES
    if name == "numpy.array":
        return isinstance(event.argument(0, "object"), Sequence) and _holds_text(event.argument(0, "object"))
    order = event.kwargs.get("order")
    if isinstance(order, Const) and order.value == "F":
        return True
    return name == "numpy.random.shuffle" or (name in REDUCTIONS and "where" in event.kwargs)


def _is_true(value: Value | None) -> bool:
    return isinstance(value, Const) and bool(value.value)


def _holds_text(value: Value | None) -> bool:
    items = value.items if isinstance(value, Sequence) else None
    return bool(items) and all(type_name(item) == "str" for item in items or ())
