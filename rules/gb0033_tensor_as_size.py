"""A tensor given to a torch function that needs a Python number: a size, a dimension, a count, a scalar.

What breaks:
    `torch.zeros(n)`, `torch.arange(n)`, `x.view(n, -1)`, `x.split([a, b])`, `F.pad(x, (0, n))`, `x.repeat(n, 1)`,
    `F.dropout(x, p)`, `x.clamp(0, t)` and the like with a 0-d tensor computed in the region.
Why Dynamo breaks:
    The function asks the tensor for its value while it is traced, and a traced tensor has a shape but no value.
Example:
    mask = torch.arange(lengths.max())[None] < lengths[:, None]
Instead:
    mask = torch.arange(x.shape[1])[None] < lengths[:, None]
Fix:
    Take sizes from shapes or pass them in as Python ints. Where the number must come from a tensor, set
    `torch._dynamo.config.capture_scalar_outputs = True`.
Torch versions:
    Every release.
Limits:
    A 0-d int64 tensor that is an argument of the compiled function may be used as a size, and so may one made from a
    Python number (`torch.tensor(3)`). Parameters that take tensors too (`torch.full`'s value, `linspace`'s ends) are
    fine.
"""

from __future__ import annotations

from functools import lru_cache

from gblint.rule_api import (
    Break,
    Call,
    Context,
    Plain,
    Rule,
    RuleMeta,
    Sequence,
    Tensor,
    Value,
    as_tensor,
    tensor_certainty,
    type_name,
)

SETTING = "capture_scalar_outputs"
NUMBERS = {"int", "size", "number", "float"}
TENSORS = {"tensor", "tensors", "any"}
# Measured: written in Python, these compute with the number as with a tensor; size and stride are other breaks.
TAKES_TENSOR = {
    ("torch.nn.functional.gumbel_softmax", "tau"), ("torch.nn.functional.normalize", "eps"),
    ("torch.full", "fill_value"), ("torch.Tensor.size", "dim"), ("torch.Tensor.stride", "dim"),
}  # fmt: skip
NUMERIC = ("int", "float", "number")


class TensorAsSize(Rule):
    """Arguments that must be Python numbers."""

    meta = RuleMeta(
        code="GB0033",
        slug="tensor-as-size",
        summary="a tensor is given where a torch function needs a Python number",
        category="supportable",
        advice="Take sizes from shapes, or pass them in as Python ints.",
    )
    calls = ("torch.*",)
    BREAKS = (
        """
import torch
import torch.nn.functional as F

@torch.compile
def causal(lengths: torch.Tensor):
    return torch.arange(lengths.max())[None] < lengths[:, None]  # GB0033

@torch.compile
def regroup(x: torch.Tensor, groups: torch.Tensor):
    count = groups.max() + 1
    return x.view(count, -1).sum(1)  # GB0033

@torch.compile
def lengthen(x: torch.Tensor, target: torch.Tensor):
    missing = target - torch.tensor(x.shape)[0]
    return F.pad(x, (0, missing.sum()))  # GB0033

@torch.compile
def table(ids: torch.Tensor):
    return torch.zeros(ids.shape[0], ids.max() + 1) + 1  # GB0033

causal(torch.tensor([1, 3]))
regroup(torch.rand(6), torch.tensor([0, 1, 2]))
lengthen(torch.rand(3), torch.tensor([5]))
table(torch.tensor([0, 2]))
""",
        """
import torch
import torch.nn.functional as F

@torch.compile
def pieces(x: torch.Tensor, sizes: torch.Tensor):
    first, second = sizes[0], sizes[1]
    return torch.split(x, [first, second])[0] * 2  # GB0033

@torch.compile
def bounded(x: torch.Tensor):
    return x.clamp(0.0, x.mean())  # GB0033

@torch.compile
def dropped(x: torch.Tensor):
    return F.dropout(x, p=x.mean().sigmoid())  # GB0033

@torch.compile
def shifted(x: torch.Tensor, steps: torch.Tensor):
    return torch.roll(x, steps.sum()) + 1  # GB0033

@torch.compile
def window(x: torch.Tensor, starts: torch.Tensor):
    return x.narrow(0, starts.max(), 2) * 2  # GB0033

@torch.compile
def capped(x: torch.Tensor):
    return torch.clip(x, min=x.mean(), max=0.5) * 2  # GB0033

pieces(torch.rand(5), torch.tensor([2, 3]))
bounded(torch.rand(3))
dropped(torch.rand(3))
shifted(torch.rand(3), torch.tensor([1, 1]))
window(torch.rand(4), torch.tensor([0, 1]))
capped(torch.rand(3))
""",
    )
    CLEAN = (
        """
import torch
import torch.nn.functional as F

@torch.compile
def shapes(x: torch.Tensor):
    n, width = x.shape
    y = x.view(n * width // 2, -1).repeat(2, 1)
    z = torch.arange(n)[:, None] + torch.zeros(n, width).expand(n, width)
    return y.sum() + z + F.pad(x, (0, len(x)))[:, :width] + torch.full((n, width), x.size(1))

shapes(torch.rand(4, 3))
""",
        """
import torch

@torch.compile
def tensors_allowed(x: torch.Tensor, t: torch.Tensor):
    low = t.sum()
    filled = torch.full((2, 2), low) + torch.linspace(0, low, 2)
    return filled, x.clamp(min=low), x.masked_fill(x > 0.5, low), torch.where(x > 0, low, x), x.pow(low), 3 * low

tensors_allowed(torch.rand(3), torch.rand(2))
""",
        """
import torch

@torch.compile
def constant_tensor(x: torch.Tensor):
    n = torch.tensor(2)
    return torch.zeros(n) + x.reshape(n, -1)[:, 0]

@torch.compile
def given(x: torch.Tensor, n: torch.Tensor):
    return x.reshape(n, -1) + torch.zeros(n, 2)

constant_tensor(torch.rand(4))
given(torch.rand(4), torch.tensor(2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        if context.enabled(SETTING):
            return None
        name = context.knowledge.canonical(event.callee)
        found = _tensor_for_number(event, context, name) or _mixed_bounds(event, name)
        if found is None:
            return None
        value, parameter = found
        certainty = tensor_certainty(value) ** 2  # an int taken for a tensor is the usual mistake here
        text = context.text(event.node)
        message = f"`{text}` needs a number for `{parameter}` and gets a tensor, whose value is not known while tracing"
        return Break(message, certainty, about=as_tensor(value))


def _tensor_for_number(event: Call, context: Context, name: str) -> tuple[Value, str] | None:
    by_position, by_name, rest = _number_parameters(context, name)
    named = [(p, a) for p, a in event.kwargs.items() if p in by_name]
    placed = [(by_position.get(i, rest), a) for i, a in enumerate(event.args)]
    for parameter, argument in placed + named:
        if parameter and (name, parameter) not in TAKES_TENSOR:
            value = _number_tensor(argument)
            if value is not None:
                return value, parameter
    return None


@lru_cache(maxsize=4096)
def _number_parameters(context: Context, name: str) -> tuple[dict[int, str], frozenset[str], str]:
    """Parameters that take only numbers: by position, by name, and the one that takes all further positions."""
    kinds: dict[int, set[str]] = {}
    labels: dict[int, str] = {}
    by_name = set()
    for parameter in context.knowledge.parameters(name):
        own = set(parameter.kinds)
        if own & NUMBERS and not own & TENSORS:
            by_name.add(parameter.name)
        if parameter.position is not None:
            kinds.setdefault(parameter.position, set()).update(own or {"any"})
            labels[parameter.position] = parameter.name.lstrip("*")
    by_position = {p: labels[p] if k & NUMBERS and not k & TENSORS else "" for p, k in kinds.items()}
    last = max(kinds, default=-1)
    rest = by_position[last] if last >= 0 and "size" in kinds[last] else ""
    return by_position, frozenset(by_name), rest


def _mixed_bounds(event: Call, name: str) -> tuple[Value, str] | None:
    """clamp takes two numbers or two tensors: beside a number, a tensor must be one too. narrow's start likewise."""
    short = name.rpartition(".")[2].rstrip("_")
    first = 0 if event.receiver is not None else 1
    if short == "narrow":
        start = _number_tensor(event.argument(first + 1, "start"))
        return (start, "start") if start is not None else None
    if short not in ("clamp", "clip"):
        return None
    low, high = event.argument(first, "min"), event.argument(first + 1, "max")
    for bound, other, parameter in ((low, high, "min"), (high, low, "max")):
        tensor = as_tensor(bound)
        scalar = tensor is not None and tensor.rank in (0, None)
        if bound is not None and scalar and type_name(other or Plain()) in NUMERIC:
            return bound, parameter
    return None


def _number_tensor(value: Value | None) -> Value | None:
    """The value, or the element of a sequence, that is a tensor which may be 0-d and whose value is not known."""
    if isinstance(value, Sequence):
        items = value.items if value.items is not None else [value.elem]
        return next((found for item in items if (found := _number_tensor(item)) is not None), None)
    tensor = as_tensor(value)
    return value if tensor is not None and tensor.rank in (0, None) and not _is_known_number(tensor) else None


def _is_known_number(tensor: Tensor) -> bool:
    """A 0-d integer tensor from outside becomes a symbol; one made from a Python number keeps its value.

    A tensor from outside that is used as a size can only be such a tensor, so its rank need not be known.
    """
    return tensor.dtype in ("int", "") and tensor.role in ("input", "constant")
