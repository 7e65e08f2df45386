"""A tensor indexed by a 0-d tensor.

What breaks:
    `x[i]`, read or written, where `i` is a 0-d integer tensor (`scores.argmax()`, an element of a loop over a 1-d
    tensor) or a 0-d boolean tensor (`x[(x > 0).any()] = 0`). A list or a slice indexed by a NumPy scalar as well.
Why Dynamo breaks:
    An index without dimensions is taken for a Python number: the tensor is asked for its value while it is traced.
Example:
    best = hidden[scores.argmax()]
Instead:
    best = hidden.index_select(0, scores.argmax()[None])[0]
Fix:
    Index with a 1-d tensor (`i[None]`, `i.view(1)`), use `index_select`, `gather` or `torch.where`, or compute the
    position outside. With `torch._dynamo.config.capture_scalar_outputs = True` it still breaks.
Torch versions:
    Every release; writes by a boolean since 2.10.
Limits:
    Reported only where the index is seen to be 0-d. A 0-d int64 tensor that is an argument of the compiled function, or
    `torch.tensor(3)`, is fine. A list indexed by a tensor is GB0124.
"""

from __future__ import annotations

from collections.abc import Iterator

from gblint.rule_api import Break, Context, Index, Rule, RuleMeta, Slice, Value, as_tensor, tensor_certainty


class ScalarTensorIndex(Rule):
    """Subscripts by 0-d tensors."""

    meta = RuleMeta(
        code="GB0033",
        slug="scalar-tensor-index",
        summary="a tensor is indexed by a 0-d tensor",
        category="supportable",
        advice="Index with a 1-d tensor, or use index_select, gather or torch.where.",
    )
    BREAKS = (
        """
import torch

@torch.compile
def best(hidden: torch.Tensor, scores: torch.Tensor):
    return hidden[scores.argmax()] * 2  # GB0033

@torch.compile
def zeroed(x: torch.Tensor):
    x = x.clone()
    x[(x > 2).any()] = 0.0  # GB0033
    return x

@torch.compile
def last(x: torch.Tensor, mask: torch.Tensor):
    x = x.clone()
    x[:, mask.sum() - 1] += 1.0  # GB0033
    return x

@torch.compile
def chained(x: torch.Tensor, order: torch.Tensor):
    order = order.flatten()
    return x[order[0]] + x[order[1:]].sum(0)  # GB0033

@torch.compile
def reshaped(x: torch.Tensor, hits: torch.Tensor):
    i = hits[-1].reshape(())
    return x[i + 1] - x[torch.reshape(hits, (1,))]  # GB0033

best(torch.rand(3, 2), torch.rand(3))
reshaped(torch.rand(3, 2), torch.tensor([1]))
zeroed(torch.rand(3))
last(torch.rand(2, 3), torch.tensor([1, 1, 0]))
chained(torch.rand(3, 2), torch.tensor([2, 0, 1]))
""",
        """
import torch

@torch.compile
def each(x: torch.Tensor):
    total = x.new_zeros(x.shape[1])
    for row in torch.arange(3):
        total = total + x[row]  # GB0033
    return total

each(torch.rand(3, 2))
""",
        """
import torch

@torch.compile
def cleared(x: torch.Tensor):
    y = x * 2
    y[(x > 2).any()] = 0.0  # GB0033
    return y + 1

cleared(torch.rand(3))
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def gathers(x: torch.Tensor, scores: torch.Tensor, mask: torch.Tensor):
    one = x[scores.argmax()[None]] + x.index_select(0, scores.argmax().view(1))
    many = x[scores.argsort()] + x[scores.argmax().reshape(1)] + x[scores.argmax(-1, keepdim=True)] + x[mask.long()]
    x = x.clone()
    x[mask] = 0.0
    x[0], x[-1, 0], x[..., 1] = 1.0, 2.0, 3.0
    return one, many, x[:, 1], x[None], torch.where(mask.any(), x, -x)

gathers(torch.rand(3, 2), torch.rand(3), torch.tensor([True, False, True]))
""",
        """
import torch

@torch.compile
def given(x: torch.Tensor, i: torch.Tensor):
    return x[i] + x[torch.tensor(1)]

@torch.compile
def positions(x: torch.Tensor):
    total = x.new_zeros(x.shape[1])
    for row in range(x.shape[0]):
        total = total + x[row]
    return total

given(torch.rand(3, 2), torch.tensor(2))
positions(torch.rand(3, 2))
""",
    )

    def on_index(self, event: Index, context: Context) -> Break | None:
        array = next((bound for part in event.index for bound in _arrays(part)), None)
        position = array if array is not None else next((part for part in event.index if _is_scalar(part)), None)
        base = tensor_certainty(event.base) if array is None else 1.0
        if position is None or not base or (context.torch < (2, 10) and event.store and _is_bool(position)):
            return None
        text = context.text(event.node)
        message = f"`{text}` is indexed by a 0-d tensor, whose value is not known while tracing"
        return Break(message, min(base, tensor_certainty(position)), about=as_tensor(position))


def _arrays(part: Value) -> Iterator[Value]:
    """NumPy arrays of no dimension, which are read as numbers; one that is used as a bound can have none."""
    parts, ranks = ((part.lower, part.upper, part.step), (0, None)) if isinstance(part, Slice) else ((part,), (0,))
    for value in parts:
        tensor = as_tensor(value)
        if tensor is not None and tensor.subclass == "ndarray" and tensor.rank in ranks:
            yield value


def _is_bool(value: Value) -> bool:
    tensor = as_tensor(value)
    return tensor is not None and tensor.dtype == "bool"


def _is_scalar(value: Value) -> bool:
    """A 0-d boolean or integer tensor whose value is not known."""
    tensor = as_tensor(value)
    if tensor is None or tensor.rank != 0 or tensor.dtype not in ("bool", "int", ""):
        return False
    return tensor.dtype == "bool" or tensor.role not in ("input", "constant")
