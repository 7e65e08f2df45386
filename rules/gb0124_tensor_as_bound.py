"""A tensor as bound of a slice, or as index of a Python sequence.

What breaks:
    `x[:n]`, `x[start:end]` and `y[start:] = 0` with a tensor as bound, and a list, tuple, range, `torch.Size` or
    `ModuleList` indexed by a tensor.
Why Dynamo breaks:
    Bounds and positions are Python numbers, so the tensor is asked for its value, which does not exist while tracing.
Example:
    x = x[:, : lengths.max()]
Instead:
    x = x * (positions < lengths[:, None])
Fix:
    Mask instead of cutting, use `index_select` or `gather`, compute all branches and select with `torch.where`, or set
    `torch._dynamo.config.capture_scalar_outputs = True`.
Torch versions:
    Every release. Until 2.11 the index of a list is GB0070 and that of a ModuleList GB0218, until 2.9 the bound of a
    slice GB0038.
Limits:
    A tensor indexed by a 0-d tensor is GB0033.
"""

from __future__ import annotations

from gblint.rule_api import (
    Break,
    Context,
    Index,
    Instance,
    Plain,
    Rule,
    RuleMeta,
    Sequence,
    Slice,
    Stream,
    Value,
    as_tensor,
    members,
    tensor_certainty,
)


class TensorAsBound(Rule):
    """Tensors in subscripts that need Python numbers."""

    meta = RuleMeta(
        code="GB0124",
        slug="tensor-as-bound",
        summary="a tensor is the bound of a slice or the index of a Python sequence",
        category="supportable",
        advice="Mask instead of cutting, or select with gather, index_select or torch.where.",
    )
    BREAKS = (
        """
import torch

@torch.compile
def crop(x: torch.Tensor, lengths: torch.Tensor):
    return x[:, : lengths.max()]  # GB0124

@torch.compile
def clear(x: torch.Tensor, start: torch.Tensor):
    y = x.clone()
    y[start:] = 0.0  # GB0124
    return y

@torch.compile
def segments(x: torch.Tensor, ends: torch.Tensor):
    total = x.new_zeros(())
    for start, end in zip(ends[:-1], ends[1:]):
        total = total + x[start:end].sum()  # GB0124
    return total

crop(torch.rand(2, 5), torch.tensor([2, 4]))
clear(torch.rand(5), torch.tensor(2))
segments(torch.rand(5), torch.tensor([0, 2, 5]))
""",
        """
import torch
from torch import nn

class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
        self.router = nn.Linear(3, 2)

    def forward(self, x):
        best = self.router(x.mean(0)).argmax()
        return self.experts[best](x)  # GB0124

@torch.compile
def pick(x: torch.Tensor, which: torch.Tensor):
    views = [x, x.flip(0), x.roll(1, 0)]
    return views[which + 0] * 2  # GB0124

torch.compile(Experts())(torch.rand(2, 3))
pick(torch.rand(3), torch.tensor(1))
""",
        """
import torch

@torch.compile
def steps(x: torch.Tensor, counts: torch.Tensor):
    y = x * 2
    return y[:: counts.max()] + 1  # GB0124

@torch.compile
def sliced(x: torch.Tensor, counts: torch.Tensor):
    y = x * 2
    return y + len([1, 2, 3][counts.min() :])  # GB0124

steps(torch.rand(4), torch.tensor([1, 2]))
sliced(torch.rand(4), torch.tensor([1, 2]))
""",
    )
    CLEAN = (
        """
import torch
from torch import nn

layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])

@torch.compile
def sliced(x: torch.Tensor, ids: torch.Tensor, start: int = 1):
    half = x.shape[0] // 2
    parts = [x[:half], x[start:], x[-1:], x[:, ::2].repeat(1, 2)]
    total = sum(part.sum() for part in parts[: x.dim()])
    return layers[start](x) * total, x[ids], x[ids[:1]], parts[half % 2], x.shape[x.dim() - 1]

sliced(torch.rand(4, 2), torch.tensor([0, 2]))
""",
    )

    def on_index(self, event: Index, context: Context) -> Break | None:
        if context.enabled("capture_scalar_outputs"):
            return None
        bound, position = _bound(event), _position(event)
        needed = bound or position
        if needed is None:
            return None
        message = f"`{context.text(event.node)}` needs the value of a tensor, which is not known while tracing"
        code = _code_for(event.base, bound is not None, context.torch)
        # Dynamo cannot resume between the making of a slice and its use.
        return Break(message, _certainty(needed), about=as_tensor(needed), fatal=bound is not None, code=code)


def _code_for(base: Value, slices: bool, torch: tuple[int, int]) -> str:
    """The id of the case in releases that told them apart."""
    if slices:
        return "GB0038" if torch < (2, 10) else ""
    if torch >= (2, 12):
        return ""
    return "GB0218" if any(isinstance(m, Instance) for m in members(base)) else "GB0070"


def _certainty(value: Value | None) -> float:
    """How sure it is that the value is a tensor and no NumPy array (those are another break)."""
    tensor = as_tensor(value)
    return tensor_certainty(value) if tensor is not None and tensor.subclass != "ndarray" else 0.0


def _bound(event: Index) -> Value | None:
    """A tensor among the bounds of a slice."""
    for part in event.index:
        if isinstance(part, Slice):
            for bound in (part.lower, part.upper, part.step):
                if _certainty(bound):
                    return bound
    return None


def _position(event: Index) -> Value | None:
    """A tensor that picks an element of a Python sequence."""
    if len(event.index) != 1 or not _is_sequence(event.base):
        return None
    return event.index[0] if _certainty(event.index[0]) else None


def _is_sequence(value: Value) -> bool:
    return all(
        isinstance(m, Sequence)
        or (isinstance(m, Stream) and m.kind == "range")
        or (isinstance(m, Plain) and m.type in ("list", "tuple", "range", "size"))
        or (isinstance(m, Instance) and m.base == "torch.nn.ModuleList")
        for m in members(value)
    )
