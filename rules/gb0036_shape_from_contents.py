"""An operation whose result has a shape that depends on the contents of a tensor.

What breaks:
    `nonzero`, `argwhere`, `torch.where` with one argument, `masked_select`, `unique` and its variants, `bincount` (even
    with `minlength`), `repeat_interleave` by a tensor without `output_size`, `combinations`, `linalg.lstsq`,
    `ctc_loss`, and the NumPy functions that Dynamo turns into these.
Why Dynamo breaks:
    Shapes must be known while tracing. How many elements are found is known only when the graph has run.
Example:
    hits = (counts > 0).nonzero()
    totals = torch.bincount(labels, minlength=n)
Instead:
    hits = torch.nonzero_static(counts > 0, size=k)
    totals = torch.zeros(n).scatter_add_(0, labels, ones)
Fix:
    Keep the shape: multiply by the mask, `torch.where(mask, a, b)`, `masked_fill`, `nonzero_static(size=n)`,
    `repeat_interleave(..., output_size=n)`, `scatter_add` instead of `bincount`. Or set
    `torch._dynamo.config.capture_dynamic_output_shape_ops = True`, which gives the result a symbolic size (not for
    `lstsq` and `ctc_loss`).
Torch versions:
    Every release.
Limits:
    `one_hot` without `num_classes` is GB0246.
"""

from __future__ import annotations

from gblint.rule_api import (
    Break,
    Call,
    Const,
    Context,
    Rule,
    RuleMeta,
    as_tensor,
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
TAKES_TENSORS = 0.85  # certainty where nothing is known of the argument: the function takes nothing but tensors


class ShapeFromContents(Rule):
    """Operations with a data-dependent output shape."""

    meta = RuleMeta(
        code="GB0036",
        slug="shape-from-contents",
        summary="the result's shape depends on the contents of a tensor",
        category="supportable",
        advice="Keep the shape: torch.where, mask arithmetic, or the form that takes an output size.",
        confidence=0.95,
    )
    calls = ("torch.*", "numpy.where", *ALWAYS)
    measured = True
    BREAKS = (
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

upsample(torch.rand(3, 2), torch.tensor([1, 2, 1]))
solve(torch.rand(3, 2), torch.rand(3, 1))
alignment(torch.rand(5, 1, 3), torch.ones(1, 2, dtype=torch.long), torch.tensor([5]))
""",
        """
import numpy as np
import torch

@torch.compile
def through_numpy(x: torch.Tensor):
    array = x.numpy()
    rows = np.argwhere(array > 0.5)  # GB0036
    return torch.from_numpy(rows) + 1

through_numpy(torch.rand(4))
""",
        """
import numpy as np
import torch

@torch.compile
def repeated(x: torch.Tensor, counts: torch.Tensor):
    return x.repeat_interleave(counts, output_size=None) * 2  # GB0036

@torch.compile
def owners(x: torch.Tensor, counts: torch.Tensor):
    return torch.repeat_interleave(counts) * 2  # GB0036

@torch.compile
def found(x: torch.Tensor):
    y = x * 2
    rows = np.where(y.numpy() > 1.0)[0]  # GB0036
    return torch.from_numpy(rows) + 1

@torch.compile
def aligned(scores: torch.Tensor, targets: torch.Tensor, lengths: torch.Tensor):
    y = scores.log_softmax(-1)
    return torch.nn.CTCLoss()(y, targets, lengths, lengths - 3)  # GB0036

repeated(torch.rand(3), torch.tensor([1, 2, 1]))
owners(torch.rand(3), torch.tensor([1, 2]))
found(torch.rand(3))
aligned(torch.rand(5, 1, 3), torch.ones(1, 2, dtype=torch.long), torch.tensor([5]))
""",
    )
    CLEAN = (
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
        certainty = max(tensor_certainty(best), TAKES_TENSORS if event.callee.startswith("torch.") else 0.0)
        if not certainty:
            return None
        name = event.callee.rpartition(".")[2] if not event.callee.endswith("__call__") else "ctc_loss"
        message = f"The shape of `{context.text(event.node)}` depends on the contents of its input (`{name}`)"
        return Break(message, certainty, about=as_tensor(best))


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
