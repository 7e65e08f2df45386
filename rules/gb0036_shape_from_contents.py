"""An operation whose result has a shape that depends on the contents of a tensor.

What breaks:
    Reading with a boolean mask (`x[mask]`, also inside a write: `y[mask] = x[mask]`, `x[mask] += 1`), `nonzero`,
    `argwhere`, `torch.where` with one argument, `masked_select`, `unique` and its variants, `bincount` (even with
    `minlength`), `repeat_interleave` by a tensor without `output_size`, `combinations`, `linalg.lstsq`, `ctc_loss`,
    and the NumPy functions that Dynamo turns into these.
Why Dynamo breaks:
    Shapes must be known while tracing. How many elements a mask selects is known only when the graph has run.
Example:
    loss = loss[mask].mean()
Instead:
    loss = (loss * mask).sum() / mask.sum().clamp(min=1)
Fix:
    Keep the shape: multiply by the mask, `torch.where(mask, a, b)`, `masked_fill`, `nonzero_static(size=n)`,
    `repeat_interleave(..., output_size=n)`, `scatter_add` instead of `bincount`. Or set
    `torch._dynamo.config.capture_dynamic_output_shape_ops = True`, which gives the result a symbolic size (not for
    `lstsq` and `ctc_loss`).
Torch versions:
    Every release.
Limits:
    Writing one value or a tensor through a mask (`x[mask] = 0`) is fine. A 0-d boolean index is GB0033, `one_hot`
    without `num_classes` GB0246.
"""

from __future__ import annotations

from gblint.rule_api import (
    Break,
    Call,
    Const,
    Context,
    Index,
    Plain,
    Rule,
    RuleMeta,
    Sequence,
    Tensor,
    Unknown,
    Value,
    as_tensor,
    members,
    tensor_certainty,
)

ALWAYS = frozenset({
    "torch.nonzero", "torch.argwhere", "torch.masked_select", "torch.unique", "torch.unique_consecutive",
    "torch.bincount", "torch.combinations", "torch.linalg.lstsq", "torch.ctc_loss", "torch.nn.functional.ctc_loss",
    "torch.nn.CTCLoss.__call__", "torch.Tensor.nonzero", "torch.Tensor.argwhere", "torch.Tensor.masked_select",
    "torch.Tensor.unique", "torch.Tensor.unique_consecutive", "torch.Tensor.bincount",
    "numpy.nonzero", "numpy.argwhere", "numpy.flatnonzero", "numpy.unique", "numpy.bincount",
})  # fmt: skip
SETTING = "capture_dynamic_output_shape_ops"


class ShapeFromContents(Rule):
    """Operations with a data-dependent output shape."""

    meta = RuleMeta(
        code="GB0036",
        slug="shape-from-contents",
        summary="the result's shape depends on the contents of a tensor",
        category="supportable",
        advice="Keep the shape: torch.where, masked_fill, mask arithmetic, or the form that takes an output size.",
        confidence=0.95,
    )
    calls = ("torch.*", "numpy.where", *ALWAYS)
    measured = True
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
import torch

@torch.compile
def hits(counts: torch.Tensor, x: torch.Tensor):
    experts = (counts > 0).nonzero(as_tuple=True)[0]  # GB0036
    return x[experts]

@torch.compile
def pairs(labels: torch.Tensor):
    a, b = torch.where(labels[:, None] == labels[None])  # GB0036
    return a + b

@torch.compile
def classes(labels: torch.Tensor):
    names, inverse = torch.unique(labels, return_inverse=True)  # GB0036
    return names[inverse] + 1

@torch.compile
def histogram(labels: torch.Tensor):
    return torch.bincount(labels, minlength=4) + 1  # GB0036

@torch.compile
def selected(x: torch.Tensor):
    return torch.masked_select(x, x > 0.5).sum()  # GB0036

hits(torch.tensor([1, 0, 2]), torch.rand(3))
pairs(torch.tensor([0, 1, 0]))
classes(torch.tensor([0, 1, 0]))
histogram(torch.tensor([0, 1, 0]))
selected(torch.rand(4))
""",
        """
import torch
import torch.nn.functional as F

@torch.compile
def upsample(x: torch.Tensor, durations: torch.Tensor):
    return torch.repeat_interleave(x, durations, dim=0) * 2  # GB0036

@torch.compile
def solve(a: torch.Tensor, b: torch.Tensor):
    return torch.linalg.lstsq(a, b).solution * 2  # GB0036

@torch.compile
def alignment(scores: torch.Tensor, targets: torch.Tensor, lengths: torch.Tensor):
    return F.ctc_loss(scores.log_softmax(-1), targets, lengths, lengths - 3)  # GB0036

@torch.compile
def taken(x: torch.Tensor):
    pattern = [True, False, True]
    return x[pattern] + x[torch.tensor([0, 2])]  # GB0036

upsample(torch.rand(3, 2), torch.tensor([1, 2, 1]))
solve(torch.rand(3, 2), torch.rand(3, 1))
alignment(torch.rand(5, 1, 3), torch.ones(1, 2, dtype=torch.long), torch.tensor([5]))
taken(torch.rand(3))
""",
        """
import numpy as np
import torch

@torch.compile
def through_numpy(x: torch.Tensor):
    array = x.numpy()
    rows = np.argwhere(array > 0.5)  # GB0036
    return torch.from_numpy(rows) + 1

@torch.compile
def numpy_mask(x: torch.Tensor):
    array = x.numpy() * 2
    return torch.from_numpy(array[array > 1.0])  # GB0036

through_numpy(torch.rand(4))
numpy_mask(torch.rand(4))
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
import torch.nn.functional as F

@torch.compile
def fixed_sizes(x: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor):
    kept = torch.where(mask, x, 0.0)
    share = (x * mask).sum() / mask.sum().clamp(min=1)
    one_hot = F.one_hot(labels, 3).sum(0)
    counts = torch.zeros(3).scatter_add_(0, labels, torch.ones(3))
    first = torch.nonzero_static(mask, size=2)
    longer = x.repeat_interleave(2) + x.repeat_interleave(labels + 1, output_size=6)
    return kept, share, one_hot, counts, first, longer, torch.count_nonzero(mask)

fixed_sizes(torch.rand(3), torch.tensor([0, 1, 2]), torch.tensor([True, False, True]))
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
    return x[mask].sum() + torch.nonzero(x).sum()

symbolic(torch.rand(3), torch.tensor([True, False, True]))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        if not _is_dynamic(event, context) or context.enabled(SETTING):
            return None
        inputs = [event.receiver, *event.args, *event.kwargs.values()]
        tensors = [v for v in inputs if v is not None and as_tensor(v) is not None]
        best = max(tensors, key=tensor_certainty, default=None)
        if best is None:
            return None
        name = event.callee.rpartition(".")[2] if not event.callee.endswith("__call__") else "ctc_loss"
        message = f"The shape of `{context.text(event.node)}` depends on the contents of its input (`{name}`)"
        return Break(message, tensor_certainty(best), about=as_tensor(best))

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


def _is_dynamic(event: Call, context: Context) -> bool:
    """Whether this call, as it is written, has a shape that depends on contents."""
    name = context.knowledge.canonical(event.callee)
    if name == "numpy.unique" and "return_index" in event.kwargs:
        return False  # not implemented at all, another break
    if name in ALWAYS or context.knowledge.verdict(name) == "GB0036":
        return True
    if name in ("torch.where", "numpy.where"):
        return len(event.args) + len(event.kwargs) == 1 and not event.opaque_args
    if name in ("torch.repeat_interleave", "torch.Tensor.repeat_interleave"):
        return _repeats_by_tensor(event)
    return context.knowledge.dynamic_condition(name) == "always"


def _repeats_by_tensor(event: Call) -> bool:
    given = event.kwargs.get("output_size")
    if given is not None and not (isinstance(given, Const) and given.value is None):
        return False
    position = 0 if event.receiver is not None else 1
    repeats = event.argument(position, "repeats") or event.argument(0, "repeats")
    return as_tensor(repeats) is not None


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
    return 0.8 if unknown or isinstance(base, Tensor) else 0.0
