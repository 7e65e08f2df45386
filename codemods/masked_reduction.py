"""Sums, means and losses over masked elements, computed at full size with the mask.

What it does:
    Computes with all elements what is reduced anyway, and lets the mask take effect in the reduction:
    `x[mask].mean()` becomes `torch.where(mask, x, 0).sum() / mask.sum()`, `F.mse_loss(a[m], b[m])` the loss of each
    element likewise, `len(x[mask])` becomes `mask.sum()`. Variables on the way, and what is computed of them element
    by element, are followed.
Applicability:
    Safe for truth values and sums of integers. Unsafe for the rest: sums of floats are rounded in another order, a
    count becomes a tensor, an operation with an infinite slope where the mask leaves out spoils the gradient.
Preconditions:
    All that is made of the masked elements ends in a reduction over them; the mask stays as it is until then; functions
    on the way are known to work element by element.
Instead:
    `torch._dynamo.config.capture_dynamic_output_shape_ops = True`.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Declined,
    Difference,
    Example,
    Repair,
    Selection,
    Site,
    as_tensor,
    full_size,
    require,
    selected_by,
)

EXACT = ("any", "all")


class MaskedReduction(Codemod):
    """Reductions of what a mask selects."""

    meta = CodemodMeta(
        name="masked-reduction",
        summary="reduce over masked elements at full size",
        fixes=("boolean-mask-read", "shape-from-contents"),
        rank=20,
    )
    EXAMPLES = (
        Example(
            """
import torch


@torch.compile
def masked_loss(loss, mask):
    loss = loss[mask]  # what counts
    return loss.mean()


print("checksum", masked_loss(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([True, False, True])).item())
""",
            """
import torch


@torch.compile
def masked_loss(loss, mask):
    return torch.where(mask, loss, 0).sum() / mask.sum()


print("checksum", masked_loss(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([True, False, True])).item())
""",
            "unsafe",
        ),
        Example(
            """
import torch
import torch.nn.functional as F


@torch.compile
def objective(a, b, mask):
    fit = F.mse_loss(a[mask], b[mask])
    peak = (a[mask] - b[mask]).abs().max()
    return 2 * fit + peak / a[mask].shape[0]


a, b = torch.tensor([1.0, 2.0, 4.0]), torch.tensor([2.0, 2.0, 2.0])
print("checksum", objective(a, b, torch.tensor([True, False, True])).item())
""",
            """
import torch
import torch.nn.functional as F


@torch.compile
def objective(a, b, mask):
    fit = torch.where(mask, F.mse_loss(a, b, reduction="none"), 0).sum() / mask.sum()
    peak = torch.where(mask, (a - b).abs(), float("-inf")).max()
    return 2 * fit + peak / mask.sum()


a, b = torch.tensor([1.0, 2.0, 4.0]), torch.tensor([2.0, 2.0, 2.0])
print("checksum", objective(a, b, torch.tensor([True, False, True])).item())
""",
            "unsafe",
        ),
        Example(
            """
import torch

@torch.compile
def hits(pred, target):
    valid = target >= 0
    return (pred == target)[valid].sum(), (pred[valid] > 2).any()

print("checksum", hits(torch.tensor([1, 2, 3]), torch.tensor([1, -1, 3])))
""",
            """
import torch

@torch.compile
def hits(pred, target):
    valid = target >= 0
    return torch.where(valid, pred == target, 0).sum(), (valid & (pred > 2)).any()

print("checksum", hits(torch.tensor([1, 2, 3]), torch.tensor([1, -1, 3])))
""",
        ),
        Example(
            """
import torch
import torch.nn.functional as F

@torch.compile
def language_loss(logits, labels):
    kept = labels != 0
    return F.cross_entropy(logits[kept], labels[kept])

print("checksum", f"{language_loss(torch.eye(3), torch.tensor([0, 1, 2])).item():.5f}")
""",
            """
import torch
import torch.nn.functional as F

@torch.compile
def language_loss(logits, labels):
    kept = labels != 0
    return F.cross_entropy(logits, labels.masked_fill(~kept, -100))

print("checksum", f"{language_loss(torch.eye(3), torch.tensor([0, 1, 2])).item():.5f}")
""",
            "unsafe",
        ),
        Example(
            """
import torch

def mean(x, rows):
    return x[rows].mean()

@torch.compile
def both(x: torch.Tensor, given):
    return mean(x, x > 1) + mean(x, given["rows"])

print("checksum", both(torch.arange(4.0), {"rows": torch.tensor([True, True, False, False])}).item())
""",
            """
import torch

def mean(x, rows):
    return torch.where(rows, x, 0).sum() / rows.sum()

@torch.compile
def both(x: torch.Tensor, given):
    return mean(x, x > 1) + mean(x, given["rows"])

print("checksum", both(torch.arange(4.0), {"rows": torch.tensor([True, True, False, False])}).item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def kept(x, mask):
    return x[mask]

kept(torch.ones(3), torch.tensor([True, False, True]))
""",
            "is used in a way that has no masked form",
        ),
        Declined(
            """
import torch

@torch.compile
def spread(x, mask):
    chosen = x[mask]
    return chosen.sum() + chosen.softmax(0).max()

spread(torch.ones(3), torch.tensor([True, False, True]))
""",
            "is used in a way that has no masked form",
        ),
        Declined(
            """
import torch

@torch.compile
def total(x, mask):
    chosen = x[mask]
    mask = mask & (x > 1)
    return chosen.sum() + mask.sum()

total(torch.ones(3), torch.tensor([True, False, True]))
""",
            "`mask` is changed between the read and where it ends",
        ),
        Declined(
            """
import torch

@torch.compile
def largest(x, mask):
    return x[mask].max()

largest(torch.tensor([1, 2, 3]), torch.tensor([True, False, True]))
""",
            "no neutral element",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        selection = selected_by(site)
        if selection is None or any(s.name in ("write", "update") for s in selection.sinks):
            return None
        counts = [s.node for s in selection.sinks if s.name in ("count", "numel")]
        require(not any(_is_told_apart(site, node) for node in counts), "which object the count is, is asked for")
        where, imports = site.refer("torch.where")
        texts = {s.node: full_size(selection, s, where) for s in selection.sinks}
        edits = [*selection.edits(texts), *imports]
        doubt = _doubt(selection)
        message = "compute at full size and reduce with the mask"
        differs: tuple[Difference, ...] = ("errors",) if selection.notes else ()
        return Repair("unsafe" if doubt else "safe", f"{message}; {doubt}" if doubt else message, edits, differs)


def _is_told_apart(site: Site, node: cst.CSTNode) -> bool:
    """Whether what is computed of a number is compared by identity (`(n > 0) is True`)."""
    for above in site.ancestors(node):
        if not isinstance(above, cst.BaseExpression | cst.ComparisonTarget):
            break
        if isinstance(above, cst.Comparison) and any(
            isinstance(t.operator, cst.Is | cst.IsNot) for t in above.comparisons
        ):
            return True
    return False


def _doubt(selection: Selection) -> str:
    """What could differ; empty if nothing can."""
    if selection.notes:
        return selection.notes[0]
    if not selection.gentle:
        return "where the mask leaves out, an infinite slope would reach the gradient"
    if any(s.name in ("count", "numel") for s in selection.sinks):
        return "the count becomes a tensor"
    if any(s.name not in EXACT and _dtype(selection, s.inner[0]) not in ("int", "bool") for s in selection.sinks):
        return "floats are summed in another order, and the largest of none is no error"
    return ""


def _dtype(selection: Selection, node: object) -> str:
    tensor = as_tensor(selection.site.value(node))  # type: ignore[arg-type]
    return tensor.dtype if tensor is not None else ""
