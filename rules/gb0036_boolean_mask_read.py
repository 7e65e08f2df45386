"""A tensor read with a boolean mask.

What breaks:
    `x[mask]` with a boolean tensor or a list of True and False, alone or beside other indices (`x[:, mask]`), also
    inside a write: `y[mask] = x[mask]`, `x[mask] += 1`.
Why Dynamo breaks:
    Shapes must be known while tracing. How many elements a mask selects is known only when the graph has run.
Example:
    loss = loss[mask].mean()
    x[mask] = x[mask] * 2
Instead:
    loss = (loss * mask).sum() / mask.sum().clamp(min=1)
    x = torch.where(mask, x * 2, x)
Fix:
    Keep the shape: multiply by the mask, `torch.where`, `masked_fill`. Or set
    `torch._dynamo.config.capture_dynamic_output_shape_ops = True`, which gives the result a symbolic size.
Torch versions:
    Every release.
Limits:
    Writing one value or a tensor through a mask (`x[mask] = 0`) is fine. A 0-d boolean index is GB0033. A mask of dtype
    uint8 makes Dynamo fail (GB4315).
"""

from __future__ import annotations

from gblint.rule_api import (
    Break,
    Const,
    Context,
    Index,
    Plain,
    Rule,
    RuleMeta,
    Sequence,
    Unknown,
    Value,
    as_tensor,
    members,
    tensor_certainty,
)

SETTING = "capture_dynamic_output_shape_ops"


class BooleanMaskRead(Rule):
    """Reads through masks."""

    meta = RuleMeta(
        code="GB0036",
        slug="boolean-mask-read",
        summary="a tensor is read with a boolean mask",
        category="supportable",
        advice="Keep the shape: torch.where, masked_fill or arithmetic with the mask.",
        confidence=0.95,
    )
    BREAKS = (
        """
import torch

@torch.compile
def masked_mean(loss: torch.Tensor, mask: torch.Tensor):
    loss = loss[mask.bool()]  # GB0036
    return loss.mean()

@torch.compile
def swap(x: torch.Tensor, y: torch.Tensor):
    x = x.clone()
    mask = y > 0.5
    x[mask] = y[mask]  # GB0036
    return x

@torch.compile
def scale(x: torch.Tensor):
    x = x.clone()
    x[x < 0.5] *= 2.0  # GB0036
    return x

@torch.compile
def off_diagonal(x: torch.Tensor):
    return x[:, ~torch.eye(3, dtype=torch.bool)]  # GB0036

masked_mean(torch.rand(4), torch.tensor([1, 0, 1, 1]))
swap(torch.rand(4), torch.rand(4))
scale(torch.rand(4))
off_diagonal(torch.rand(2, 3, 3))
""",
        """
import numpy as np
import torch

@torch.compile
def taken(x: torch.Tensor):
    pattern = [True, False, True]
    return x[pattern] + x[torch.tensor([0, 2])]  # GB0036

@torch.compile
def numpy_mask(x: torch.Tensor):
    array = x.numpy() * 2
    return torch.from_numpy(array[array > 1.0])  # GB0036

taken(torch.rand(3))
numpy_mask(torch.rand(4))
""",
        """
import torch

@torch.compile
def untyped(x, scores: torch.Tensor):
    rows = x[scores > 0.5]  # GB0036
    return rows * 2

untyped(torch.rand(3), torch.rand(3))
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def writes(x: torch.Tensor, mask: torch.Tensor):
    x = x.clone()
    x[mask] = 0.0
    x[x > 0.9] = 1
    x[~mask] = torch.zeros(2)
    x.index_put_((mask,), torch.tensor(0.5))
    return x.masked_fill(x < 0, 0.0)

writes(torch.rand(3), torch.tensor([True, False, False]))
""",
        """
import torch

@torch.compile
def gathers(x: torch.Tensor, ids: torch.Tensor, mask: torch.Tensor):
    order = x.argsort()
    values, top = x.topk(2)
    picked = x[order] + x[ids] + x[mask.long()]
    return picked, x[top], x[[0, 1]], x.gather(0, ids), x.masked_scatter(mask, x), torch.isin(ids, top)

gathers(torch.rand(3), torch.tensor([0, 1, 2]), torch.tensor([True, False, True]))
""",
        """
import torch

torch._dynamo.config.capture_dynamic_output_shape_ops = True

@torch.compile
def symbolic(x: torch.Tensor, mask: torch.Tensor):
    return x[mask].sum() + 1

symbolic(torch.rand(3), torch.tensor([True, False, True]))
""",
        """
import torch

@torch.compile(fullgraph=True)
def whole(x: torch.Tensor, mask: torch.Tensor):
    return x[mask].sum() + x.nonzero().sum()

whole(torch.rand(3), torch.tensor([True, False, True]))
""",
        """
import torch

@torch.compile
def written(x: torch.Tensor, mask: torch.Tensor, names: dict):
    y = x.clone()
    y[mask > 0.5] = 0.0
    return y * x[[0, 1, 0]] * [1, 2][True] * names["a"]

written(torch.rand(3), torch.rand(3), {"a": 2})
""",
    )

    def on_index(self, event: Index, context: Context) -> Break | None:
        if event.store or context.enabled(SETTING):
            return None
        mask = next((part for part in event.index if _is_mask(part)), None)
        if mask is None:
            return None
        certainty = _base_certainty(event.base) * _mask_certainty(mask)
        if not certainty:
            return None
        message = f"`{context.text(event.node)}` selects by a mask: how many elements come out depends on its contents"
        return Break(message, certainty, about=as_tensor(mask) or mask)


def _is_mask(value: Value) -> bool:
    """A boolean tensor of one or more dimensions, or a list of True and False."""
    if isinstance(value, Sequence):
        return bool(value.items) and all(isinstance(i, Const) and isinstance(i.value, bool) for i in value.items or ())
    tensor = as_tensor(value)
    return tensor is not None and tensor.dtype == "bool" and tensor.rank != 0


def _mask_certainty(mask: Value) -> float:
    return tensor_certainty(mask) if as_tensor(mask) is not None else 1.0


def _base_certainty(base: Value) -> float:
    """Only a tensor can be read with a mask, so nearly nothing need be known of the base."""
    if as_tensor(base) is not None:
        return max(tensor_certainty(base), 0.9)
    unknown = any(isinstance(m, Unknown) or (isinstance(m, Plain) and not m.type) for m in members(base))
    return 0.8 if unknown else 0.0
