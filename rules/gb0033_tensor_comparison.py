"""A function that gives a Python truth value or number for a tensor: `torch.equal`, `allclose`, `math.sqrt`, `not`.

What breaks:
    `torch.equal`, `torch.allclose`, `torch.is_nonzero` and their methods, `torch._assert` of a tensor, any function of
    `math` on a tensor, `not t` where its value is kept, `torch.cov` and `torch.corrcoef`.
Why Dynamo breaks:
    The result is a Python value that depends on the contents of the tensor, which are not known while tracing.
Example:
    if torch.equal(a, b):
        return a
    scale = 1 / math.sqrt(x.var())
Instead:
    same = (a == b).all()
    scale = torch.rsqrt(x.var())
Fix:
    Stay with tensors: `(a == b).all()`, `torch.isclose(a, b).all()`, `torch.sqrt`, `torch.logical_not`,
    `torch._assert_async`.
Torch versions:
    Every release.
Limits:
    Where the value decides a branch, only this break is reported on the line. `if not t:` is GB0170.
"""

from __future__ import annotations

from gblint.rule_api import (
    Branch,
    Break,
    Call,
    Context,
    Plain,
    Rule,
    RuleMeta,
    Sequence,
    Value,
    as_tensor,
    tensor_certainty,
)

RESULTS = {
    "torch.equal": "bool", "torch.Tensor.equal": "bool", "torch.allclose": "bool", "torch.Tensor.allclose": "bool",
    "torch.is_nonzero": "bool", "torch.Tensor.is_nonzero": "bool", "torch.Tensor.__bool__": "bool",
    "torch.Tensor.__index__": "int", "torch._assert": "NoneType",
    "torch.cov": "", "torch.Tensor.cov": "", "torch.corrcoef": "", "torch.Tensor.corrcoef": "",
}  # fmt: skip
MATH_ON_SEQUENCES = {"math.fsum", "math.dist", "math.hypot"}
MATH_TRACED = {"math.prod", "math.sumprod"}


class TensorComparison(Rule):
    """Python values computed from tensors."""

    meta = RuleMeta(
        code="GB0033",
        slug="tensor-comparison",
        summary="a function gives a Python value that depends on a tensor",
        category="supportable",
        advice="Stay with tensors: (a == b).all(), torch.isclose, torch.sqrt, torch.logical_not.",
    )
    calls = ("math.*", *RESULTS)
    BREAKS = (
        """
import math
import torch

@torch.compile
def unchanged(a: torch.Tensor, b: torch.Tensor):
    if torch.equal(a, b):  # GB0033
        return a
    return a + b

@torch.compile
def close(a: torch.Tensor, b: torch.Tensor):
    same = a.allclose(b)  # GB0033
    return a * same

@torch.compile
def standardize(x: torch.Tensor):
    return x / math.sqrt(x.var())  # GB0033

@torch.compile
def valid(x: torch.Tensor):
    torch._assert((x >= 0).all(), "negative")  # GB0033
    return x + 1

@torch.compile
def empty(mask: torch.Tensor):
    nothing = not mask.any()  # GB0033
    return mask, nothing

unchanged(torch.rand(3), torch.rand(3))
close(torch.rand(3), torch.rand(3))
standardize(torch.rand(3))
valid(torch.rand(3))
empty(torch.tensor([True, False]))
""",
        """
import math
import torch

@torch.compile
def distance(x: torch.Tensor):
    y = x * 2
    return y + math.hypot(y.sum(), 1.0)  # GB0033

@torch.compile
def summed(x: torch.Tensor):
    y = x * 2
    return y + math.fsum([y[0], y[1]])  # GB0033

@torch.compile
def nonzero(x: torch.Tensor):
    y = x * 2
    return y * torch.is_nonzero(y.sum())  # GB0033

@torch.compile
def spread(x: torch.Tensor):
    y = x * 2
    return torch.corrcoef(y) + torch.allclose(y, x)  # GB0033

distance(torch.rand(3))
summed(torch.rand(3))
nonzero(torch.rand(3))
spread(torch.rand(2, 3))
""",
    )
    CLEAN = (
        """
import math
import torch

@torch.compile
def tensors(a: torch.Tensor, b: torch.Tensor):
    same = (a == b).all() & torch.isclose(a, b).all()
    torch._assert_async(torch.isfinite(a).all())
    torch._assert(a.shape == b.shape, "shapes differ")
    return torch.logical_not(same), ~same, a.eq(b), torch.rsqrt(a.var()), torch.isin(a, b)

tensors(torch.rand(3), torch.rand(3))
""",
        """
import math
import torch

@torch.compile
def numbers(x: torch.Tensor, scale: float = 2.0, bias: torch.Tensor | None = None):
    width = math.sqrt(x.shape[-1]) * math.prod(x.shape) + math.log(scale)
    missing = not x.requires_grad and bias is None
    if x.shape == (3,) and not missing:
        return x
    return x / width + math.pi * x.mean() + math.floor(x.numel() / 2)

numbers(torch.rand(3, 2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        if event.callee in MATH_TRACED:
            return None
        subjects = _subjects(event)
        best = max(subjects, key=tensor_certainty, default=None)
        certainty = tensor_certainty(best)
        if best is None or not certainty:
            return None
        message = f"`{context.text(event.node)}` needs the values of a tensor, which are not known while tracing"
        kind = RESULTS.get(event.callee, "float")
        return Break(message, certainty, about=as_tensor(best), result=Plain(kind) if kind else None)

    def on_branch(self, event: Branch, context: Context) -> Break | None:
        certainty = tensor_certainty(event.value) if event.kind == "not" else 0.0
        if not certainty:
            return None
        message = f"`not` needs the truth of `{context.text(event.node)}`, which is not known while tracing"
        return Break(message, certainty, about=as_tensor(event.value), result=Plain("bool"), fatal=True)


def _is_drawn(value: Value) -> bool:
    """A number of Python's random module, which is a matter of its own."""
    tensor = as_tensor(value)
    return tensor is not None and tensor.subclass == "random"


def _subjects(event: Call) -> list[Value]:
    """The arguments whose values are needed."""
    given = [v for v in (event.receiver, *event.args, *event.kwargs.values()) if v is not None and not _is_drawn(v)]
    if event.callee == "torch._assert":
        return given[:1]
    if event.callee in MATH_ON_SEQUENCES:
        given += [v.element() for v in given if isinstance(v, Sequence) and v.items]
    return given
