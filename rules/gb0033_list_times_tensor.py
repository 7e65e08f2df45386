"""A list, tuple or string repeated by a tensor.

What breaks:
    `[0] * n` and `"-" * n` where `n` is a tensor.
Why Dynamo breaks:
    Repeating needs a Python number, so the tensor is asked for its value, which does not exist while tracing.
Example:
    weights = [1.0] * lengths.max()
Instead:
    weights = torch.ones(x.shape[0])
Fix:
    Take the length from a shape or pass it in as a Python int, or keep a tensor.
Torch versions:
    Every release.
Limits:
    A NumPy scalar in place of the tensor is fine.
"""

from __future__ import annotations

from gblint.rule_api import (
    Break,
    Context,
    Operator,
    Rule,
    RuleMeta,
    Sequence,
    Value,
    as_tensor,
    members,
    tensor_certainty,
    type_name,
)

KINDS = ("list", "tuple", "str")


class ListTimesTensor(Rule):
    """Sequences repeated by tensors."""

    meta = RuleMeta(
        code="GB0033",
        slug="list-times-tensor",
        summary="a list is repeated by a tensor",
        category="supportable",
        advice="Take the length from a shape, or keep a tensor.",
        by_hand="the length is in a tensor alone, and only the caller may know it before",
    )
    BREAKS = (
        """
import torch

@torch.compile
def repeated(x: torch.Tensor, n: torch.Tensor):
    weights = [1.0] * n.sum()  # GB0033
    return x * len(weights)

repeated(torch.rand(3), torch.tensor([1, 1]))
""",
        """
import torch

@torch.compile
def spaced(x: torch.Tensor, counts: torch.Tensor):
    y = x * 2
    return y, counts.max() * "ab"  # GB0033

spaced(torch.rand(2), torch.tensor([1, 2]))
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def scaled(x: torch.Tensor, n: torch.Tensor):
    weights = [1.0] * x.shape[0] + [2.0] * 2
    return x * n.sum() * len(weights), 3 * n, sum(w * x for w in weights)

scaled(torch.rand(3), torch.tensor([1, 1, 1]))
""",
    )

    def on_operator(self, event: Operator, context: Context) -> Break | None:
        captured = context.enabled("capture_scalar_outputs")
        if event.operator not in ("*", "*=") or event.right is None or captured:
            return None
        for repeated, count in ((event.left, event.right), (event.right, event.left)):
            tensor = as_tensor(count)
            if _is_list(repeated) and tensor is not None and tensor.subclass != "ndarray":
                text = context.text(event.node)
                message = f"`{text}` repeats a sequence by a tensor, whose value is not known while tracing"
                return Break(message, tensor_certainty(count) ** 2, about=tensor, fatal=True)
        return None


def _is_list(value: Value) -> bool:
    return all((isinstance(m, Sequence) and m.kind in KINDS) or type_name(m) in KINDS for m in members(value))
