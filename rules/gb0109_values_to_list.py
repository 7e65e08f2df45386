"""`.tolist()` of a tensor that does not hold signed integers.

What breaks:
    `t.tolist()` where `t` holds floats, booleans, unsigned integers or complex numbers, and `.tolist()` of a NumPy
    array of floats.
Why Dynamo breaks:
    Every element has to become a Python number, which Dynamo only attempts for signed integers.
Example:
    scales = weights.tolist()
    out = [x * s for s in scales]
Instead:
    out = [x * s for s in weights.unbind()]
Fix:
    Iterate the tensor itself (`for s in weights`, `weights.unbind()`), or make the list outside the region.
Torch versions:
    Every release.
Limits:
    Integers are GB0033, and so is a tensor of unknown dtype.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Plain, Rule, RuleMeta, Sequence, Value, as_tensor, tensor_certainty


class ValuesToList(Rule):
    """Float and boolean tensors turned into lists."""

    meta = RuleMeta(
        code="GB0109",
        slug="values-to-list",
        summary="`.tolist()` of a tensor that does not hold integers",
        category="supportable",
        advice="Iterate the tensor itself, or make the list outside the compiled region.",
    )
    calls = ("torch.Tensor.tolist", "numpy.ndarray.tolist")
    BREAKS = (
        """
import torch

@torch.compile
def scaled(x: torch.Tensor, weights: torch.Tensor):
    scales = weights.float().tolist()  # GB0109
    return [x * scale for scale in scales]

@torch.compile
def flags(x: torch.Tensor):
    first, second = (x > 0.5).tolist()  # GB0109
    return x * 2 if first or second else x

scaled(torch.rand(3), torch.rand(2))
flags(torch.rand(2))
""",
        """
import torch

torch._dynamo.config.capture_scalar_outputs = True

@torch.compile
def captured(x: torch.Tensor):
    return x + sum(x.sigmoid().tolist())  # GB0109

captured(torch.rand(3))
""",
        """
import torch

@torch.compile
def listed(x: torch.Tensor):
    y = x * 2
    rows = y.sum().reshape(1, 1).tolist()  # GB0109
    y = y + rows[0][0]
    flags = (y > 1).tolist()  # GB0109
    return y * flags[0]

listed(torch.rand(2))
""",
        """
import torch

@torch.compile
def parts(x: torch.Tensor):
    y = x * 2
    turned = x.to(torch.complex64).tolist()  # GB0109
    y = y + len(turned) * turned[0].real
    rows = x.reshape(1, 1, 3).tolist()  # GB0109
    return y * len(rows[0][0])

parts(torch.rand(3))
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def scaled(x: torch.Tensor, weights: torch.Tensor):
    rows = list(x) + list(weights.unbind())
    return [x * scale for scale in weights], rows, list(x.shape), x.shape.numel()

scaled(torch.rand(3), torch.rand(2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        tensor = as_tensor(event.receiver)
        if tensor is None or tensor.dtype not in ("float", "bool", "complex"):
            return None
        message = f"`{context.text(event.node)}` needs every value of a tensor, which are not known while tracing"
        result = _listed(tensor.rank, tensor.dtype)
        return Break(message, tensor_certainty(event.receiver), about=tensor, result=result)


def _listed(rank: int | None, dtype: str) -> Value:
    """Nested lists of numbers, or something that is certainly no tensor."""
    if rank == 0:
        return Plain(dtype)
    element: Value = Plain("") if rank is None else _listed(rank - 1, dtype)
    return Sequence("list", None, element)
