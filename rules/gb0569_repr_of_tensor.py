"""`repr()` of a tensor inside a compiled region.

What breaks:
    `repr(t)`, `repr([t])` and `f"{t!r}"`, where `t` is a tensor.
Why Dynamo breaks:
    The text of a tensor holds its contents, which are not known while tracing.
Example:
    label = f"{scores!r}"
Instead:
    label = f"{tuple(scores.shape)}"
Fix:
    Make the text outside the compiled function, or use the shape.
Torch versions:
    Since 2.13; before, GB0059.
Limits:
    `f"{t}"` without `!r` breaks only where the text is used, and then with another id.
"""

from __future__ import annotations

from gblint.rule_api import (
    Break,
    Call,
    Context,
    Format,
    Mapping,
    Rule,
    RuleMeta,
    Sequence,
    Value,
    as_tensor,
    tensor_certainty,
)


class ReprOfTensor(Rule):
    """repr() and !r of tensors."""

    meta = RuleMeta(
        code="GB0569",
        slug="repr-of-tensor",
        summary="`repr` of a tensor",
        category="supportable",
        advice="Make the text outside the compiled function, or use the shape.",
        torch=">=2.13",
        renamed=(("<2.13", "GB0059"),),
    )
    calls = ("builtins.repr",)
    BREAKS = (
        """
import torch

@torch.compile
def label(x: torch.Tensor):
    text = repr(x)  # GB0569
    return x * len(text)

@torch.compile
def label_list(x: torch.Tensor):
    y = x + 1
    text = repr([y, x])  # GB0569
    return x * len(text)

label(torch.ones(2))
label_list(torch.ones(2))
""",
        """
import torch

@torch.compile
def shown(x: torch.Tensor):
    y = x * 2
    return y, repr([y]), repr(y.shape), repr([])  # GB0569

@torch.compile
def mapped(x: torch.Tensor):
    y = x * 2
    return y, repr({"y": y})  # GB0569

shown(torch.rand(2))
mapped(torch.rand(2))
""",
        """
import torch

@torch.compile
def formatted(x: torch.Tensor):
    y = x * 2
    return y, f"{y!r}"  # GB0569

formatted(torch.rand(2))
""",
    )
    CLEAN = (
        """
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        return x * len(repr(x.shape) + repr(x.dtype) + repr([1, "a"]))

torch.compile(Net())(torch.ones(2))
""",
        """
import torch

@torch.compile
def label(x: torch.Tensor, names: list[str]):
    text = f"{x.shape!r} {names!r}"
    return x * len(text), f"{x}"

label(torch.ones(2), ["a"])
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        return _answer(event.args[0], context.text(event.node)) if event.args else None

    def on_format(self, event: Format, context: Context) -> Break | None:
        if event.kind != "repr":
            return None
        return _answer(event.value, context.text(event.node), fatal=True)


def _answer(value: Value, text: str, fatal: bool = False) -> Break | None:
    inner = value
    if isinstance(value, Sequence | Mapping) and (value.items or value.elem is not None):
        inner = value.element()
    certainty = tensor_certainty(inner)
    if not certainty or (isinstance(value, Sequence) and value.kind == "size"):
        return None
    return Break(f"`{text}` needs the contents of a tensor as text", certainty, about=as_tensor(inner), fatal=fatal)
