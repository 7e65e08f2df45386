"""A tensor's value read into Python: `.item()`, `int(t)`, `float(t)`, `bool(t)`, `v in t`.

What breaks:
    `t.item()`, `int(t)`, `float(t)`, `bool(t)`, `operator.index(t)`, `itertools.islice(items, t)`, a membership test
    in a tensor (`2 in ids`), `torch._check_tensor_all(t)`.
Why Dynamo breaks:
    The number does not exist while tracing. Unless scalars may stay in the graph as symbols, Dynamo ends the graph,
    runs it, and goes on with the number it got.
Example:
    loss_scale = 1.0 / weights.sum().item()
Instead:
    loss_scale = 1.0 / weights.sum()
Fix:
    Keep the value as a 0-d tensor, take it outside the compiled region and pass it in, or set
    `torch._dynamo.config.capture_scalar_outputs = True` if it is used as a size or in arithmetic.
Torch versions:
    Every release. A membership test is GB0170 from 2.10 to 2.12, GB0088 before; `bool(t)` is GB0059 until 2.9.
Limits:
    Numbers read from NumPy arrays are GB0033, `range(t)` is GB0059.
"""

from __future__ import annotations

from gblint.rule_api import (
    Break,
    Call,
    Compare,
    Context,
    Plain,
    Rule,
    RuleMeta,
    Value,
    as_tensor,
    tensor_certainty,
)

CONVERSIONS = {
    "builtins.int": "int", "builtins.float": "float", "builtins.bool": "bool",
    "torch.Tensor.__int__": "int", "torch.Tensor.__float__": "float",
}  # fmt: skip
SETTING = "capture_scalar_outputs"


class ReadTensorValue(Rule):
    """Conversions of a tensor to a Python number."""

    meta = RuleMeta(
        code="GB0124",
        slug="read-tensor-value",
        summary="a tensor's value is read into Python",
        category="supportable",
        advice="Keep the value as a 0-d tensor, or read it outside the compiled region.",
    )
    calls = ("torch.Tensor.item", "torch._check_tensor_all", "itertools.islice", "operator.index", *CONVERSIONS)
    BREAKS = (
        """
import torch

@torch.compile
def normalize(x: torch.Tensor):
    total = x.sum().item()  # GB0124
    return x / total

@torch.compile
def widen(ids: torch.Tensor):
    count = int(ids.max()) + 1  # GB0124
    return torch.zeros(ids.shape[0], count).scatter_(1, ids[:, None], 1.0)

@torch.compile
def eps(x: torch.Tensor):
    return x + float(torch.abs(x.max())) / 1000  # GB0124

@torch.compile
def shortcut(x: torch.Tensor, mask: torch.Tensor):
    if bool(mask.any()):  # GB0124
        x = x.masked_fill(mask, 0.0)
    return x

@torch.compile
def has_padding(ids: torch.Tensor, x: torch.Tensor):
    padded = 0 in ids  # GB0124
    return x * padded

normalize(torch.rand(3))
has_padding(torch.tensor([0, 1]), torch.rand(2))
widen(torch.tensor([0, 2, 1]))
eps(torch.rand(3))
shortcut(torch.rand(3), torch.tensor([True, False, True]))
""",
        """
import itertools
import operator
import torch

@torch.compile
def cut(x: torch.Tensor, count: torch.Tensor):
    y = x * 2
    rows = list(itertools.islice([1, 2, 3], count.sum()))  # GB0124
    return y * len(rows)

@torch.compile
def outside(ids: torch.Tensor, x: torch.Tensor):
    y = x * 2
    return y * (5 not in ids)  # GB0124

@torch.compile
def as_index(x: torch.Tensor, ids: torch.Tensor):
    y = x * 2
    return y * operator.index(ids.max())  # GB0124

cut(torch.rand(3), torch.tensor([1, 1]))
outside(torch.tensor([0, 1]), torch.rand(2))
as_index(torch.rand(2), torch.tensor([0, 1]))
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def sizes(x: torch.Tensor):
    n = int(x.shape[0]) + int(x.numel() / 3)
    scale = float(x.size(-1)) ** -0.5
    lowest = float(torch.finfo(x.dtype).min)
    kept = bool(x.dim() == 2)
    return (x[: n // 2] * scale).clamp(min=lowest), kept, 3 in x.shape, x.dtype in (torch.float32, torch.float16)

sizes(torch.rand(4, 3))
""",
        """
import torch

@torch.compile
def tensors(x: torch.Tensor, ids: torch.Tensor):
    total = x.sum()
    flags = x.bool() & (x > 0).float().bool()
    rows = x[ids] + x[ids[:1]] + torch.isin(ids, 2)[:, None]
    parts = [x, x * 2]
    return rows / total * flags[:1], parts[-1], {"a": x}["a"]

tensors(torch.rand(3, 2), torch.tensor([0, 2, 1]))
""",
        """
import torch

torch._dynamo.config.capture_scalar_outputs = True

@torch.compile
def captured(x: torch.Tensor, n: torch.Tensor):
    total = x.sum().item()
    return x[: n + 0] * total + float(x.mean())

captured(torch.rand(4), torch.tensor(2))
""",
        """
import torch

@torch.compile(fullgraph=True)
def whole(x: torch.Tensor):
    return x * x.sum().item() + float(x.mean())

whole(torch.rand(4))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        if context.enabled(SETTING):
            return None
        subject = _subject(event)
        certainty = _certainty(subject)
        if not certainty:
            return None
        tensor = as_tensor(subject)
        kind = CONVERSIONS.get(event.callee) or (tensor.dtype if tensor is not None else "") or "number"
        message = f"`{context.text(event.node)}` needs the value of a tensor, which is not known while tracing"
        result = Plain(kind) if event.callee != "itertools.islice" else None
        code = "GB0059" if event.callee == "builtins.bool" and context.torch < (2, 10) else ""
        return Break(message, certainty, about=tensor, result=result, code=code)

    def on_compare(self, event: Compare, context: Context) -> Break | None:
        certainty = tensor_certainty(event.right)
        if event.operator not in ("in", "not in") or not certainty or context.enabled(SETTING):
            return None
        message = f"`{context.text(event.node)}` searches a tensor, whose contents are not known while tracing"
        code = "" if context.torch >= (2, 13) else "GB0170" if context.torch >= (2, 10) else "GB0088"
        return Break(message, certainty, about=as_tensor(event.right), result=Plain("bool"), fatal=True, code=code)


def _subject(event: Call) -> Value | None:
    """What is turned into a number."""
    if event.callee == "itertools.islice":
        return next((a for a in event.args[1:] if as_tensor(a) is not None), None)
    return event.receiver if event.receiver is not None else event.argument(0, "input")


def _certainty(value: Value | None) -> float:
    """How sure it is that the value is a tensor, not a NumPy array or random number (those are other breaks)."""
    tensor = as_tensor(value)
    return tensor_certainty(value) if tensor is not None and tensor.subclass not in ("ndarray", "random") else 0.0
