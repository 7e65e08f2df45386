"""`.tolist()` of an integer tensor.

What breaks:
    `t.tolist()` where `t` holds integers, whatever becomes of the list.
Why Dynamo breaks:
    Every element has to become a Python number, and a traced tensor has no values.
Example:
    lengths = mask.sum(-1).tolist()
    parts = torch.split(x, lengths)
Instead:
    parts = x * mask[..., None]
Fix:
    Take the lengths outside the compiled region and pass the list in, keep padded tensors with a mask, or set
    `torch._dynamo.config.capture_scalar_outputs = True` (every element then becomes a symbol).
Torch versions:
    Since 2.10; before, such a list breaks only where its numbers are used as bounds or dimensions.
Limits:
    `.tolist()` of floats, booleans and unsigned integers is GB0109; where the dtype is not known, this one is reported,
    since lists of sizes are the usual case.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Plain, Rule, RuleMeta, Sequence, Value, as_tensor, tensor_certainty


class IntegersToList(Rule):
    """Integer tensors turned into lists."""

    meta = RuleMeta(
        code="GB0033",
        slug="integers-to-list",
        summary="`.tolist()` of an integer tensor",
        category="supportable",
        advice="Pass the list in from outside, or keep a padded tensor with a mask.",
    )
    calls = ("torch.Tensor.tolist", "numpy.ndarray.tolist")
    BREAKS = (
        """
import torch

@torch.compile
def parts(x: torch.Tensor, grid: torch.Tensor):
    sizes = (grid.prod(-1) // 4).tolist()  # GB0033
    return [part.mean() for part in torch.split(x, sizes)]

@torch.compile
def padded(x: torch.Tensor, mask: torch.Tensor):
    lengths = mask.sum(dim=1).tolist()  # GB0033
    return x[: max(lengths)] * 2

@torch.compile
def grids(x: torch.Tensor, grid: torch.Tensor):
    y = x * 2
    total = sum(h * w for h, w in grid.tolist())  # GB0033
    return y + total

@torch.compile
def axes(x: torch.Tensor):
    dims = torch.arange(1, x.dim()).tolist()  # GB0033
    return x.sum(dim=dims) * 2

parts(torch.rand(4), torch.tensor([[2, 2], [3, 4]]))
padded(torch.rand(4), torch.tensor([[1, 1], [1, 0]]))
grids(torch.rand(4), torch.tensor([[2, 2], [3, 4]]))
axes(torch.rand(4, 2, 2))
""",
        """
import torch

@torch.compile
def listed(x: torch.Tensor, counts: torch.Tensor):
    y = x * 2
    rows = counts.sum().reshape(1, 1).tolist()  # GB0033
    y = y + rows[0][0]
    total = counts.sum().tolist()  # GB0033
    return y + total

listed(torch.rand(2), torch.tensor([1, 2]))
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def shapes(x: torch.Tensor, sizes: list[int]):
    parts = torch.split(x, sizes)
    return parts[0] + len(list(x.shape)) + sum(x.size()), x.unbind(0), list(x)

shapes(torch.rand(4), [2, 2])
""",
        """
import torch

torch._dynamo.config.capture_scalar_outputs = True

@torch.compile
def captured(ids: torch.Tensor):
    return ids.sum() + sum(ids.tolist())

captured(torch.tensor([1, 2]))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        tensor = as_tensor(event.receiver)
        captured = context.enabled("capture_scalar_outputs")
        if tensor is None or captured or tensor.dtype in ("float", "bool", "complex") or context.torch < (2, 10):
            return None
        message = f"`{context.text(event.node)}` needs every value of a tensor, which are not known while tracing"
        return Break(message, tensor_certainty(event.receiver), about=tensor, result=_listed(tensor.rank))


def _listed(rank: int | None) -> Value:
    """Nested lists of ints, or something that is certainly no tensor."""
    if rank == 0:
        return Plain("int")
    element: Value = Plain("") if rank is None else _listed(rank - 1)
    return Sequence("list", None, element)
