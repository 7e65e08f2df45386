"""An operator without a fake implementation is called: a nested tensor is built, or a raw `torch.library` operator.

What breaks:
    `torch.nested.nested_tensor(…)` and `torch.nested.as_nested_tensor(…)` with the default (strided) layout.
Why Dynamo breaks:
    While tracing, every operator runs on tensors without contents. These operators have no such version.
Example:
    nested = torch.nested.nested_tensor([a, b])
Instead:
    nested = torch.nested.nested_tensor([a, b], layout=torch.jagged)
Fix:
    Use the jagged layout, or pad and mask. An operator of your own needs `torch.library.register_fake`.
Torch versions:
    Every release.
Limits:
    Operators defined in C++ or by `torch.library.define` without a fake version break alike, but are not visible
    in the source that calls them.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, External, Rule, RuleMeta, Tensor, is_none


class NestedTensorConstruction(Rule):
    """Construction of strided nested tensors."""

    meta = RuleMeta(
        code="GB0090",
        slug="nested-tensor-construction",
        summary="a strided nested tensor is built in a compiled region",
        category="supportable",
        advice="Use layout=torch.jagged, or pad and mask.",
    )
    calls = ("torch.nested.nested_tensor", "torch.nested.as_nested_tensor")
    BREAKS = (
        """
import torch

@torch.compile
def ragged(a: torch.Tensor, b: torch.Tensor):
    nested = torch.nested.nested_tensor([a, b])  # GB0090
    return nested.to_padded_tensor(0.0)  # GB0016

@torch.compile
def returned(a: torch.Tensor, b: torch.Tensor):
    return torch.nested.as_nested_tensor([a, b])  # GB0090

ragged(torch.ones(2, 3), torch.ones(1, 3))
returned(torch.ones(2, 3), torch.ones(1, 3))
""",
        """
import torch

@torch.compile
def ragged(a: torch.Tensor, b: torch.Tensor):
    nested = torch.nested.nested_tensor([a, b], layout=None)  # GB0090
    return a, nested.to_padded_tensor(0.0)  # GB0016

ragged(torch.ones(2, 3), torch.ones(1, 3))
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def ragged(a: torch.Tensor, b: torch.Tensor):
    nested = torch.nested.nested_tensor([a, b], layout=torch.jagged)
    return nested * 2

ragged(torch.ones(2, 3), torch.ones(1, 3))
""",
        """
import torch

class Builder:
    def nested_tensor(self, parts):
        return torch.cat(parts)

@torch.compile
def joined(a: torch.Tensor, b: torch.Tensor):
    return Builder().nested_tensor([a, b])

joined(torch.ones(2, 3), torch.ones(1, 3))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        layout = event.kwargs.get("layout")
        if layout is not None and not is_none(layout) and not _is_strided(layout):
            return None
        message = f"`{context.text(event.node)}` builds a strided nested tensor, which cannot be built while tracing"
        return Break(message, result=Tensor(role="result", subclass="nested"))


def _is_strided(layout: object) -> bool:
    return isinstance(layout, External) and layout.dotted == "torch.strided"
