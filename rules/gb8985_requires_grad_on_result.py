"""`requires_grad_()` on a tensor made in the region, which then leaves it.

What breaks:
    `t.requires_grad_()` on an intermediate, if it, or something computed from it, is returned or lives on after the
    region.
Why Dynamo breaks:
    The compiled graph hands out tensors of its own autograd function. One that was made a leaf inside would come out
    with another history than in eager mode.
Example:
    mask = torch.zeros_like(query).requires_grad_()
    return query + mask
Instead:
    mask = torch.zeros_like(query)
    return query + mask
Fix:
    Leave the flag alone, make the leaf outside and pass it in, use `torch.func.grad`, or return `.detach()`ed values.
Torch versions:
    Since 2.12 under this id; before, GB0125.
Limits:
    A tensor in a variable that nothing reads does not break; otherwise whether it leaves the region is not followed.
    A tensor that requires grad already is fine. A flag that is passed on is less often True than one that is written,
    one that is False by default seldom, and that of another tensor (`requires_grad_(x.requires_grad)`) mostly.
"""

from __future__ import annotations

import libcst as cst

from gblint.rule_api import Break, Call, Const, Context, Plain, Rule, RuleMeta, as_tensor, tensor_certainty

MAYBE = 0.5  # that a flag which is passed on is True
SELDOM = 0.2  # of one that is False unless somebody says otherwise


class RequiresGradOnResult(Rule):
    """requires_grad_ on intermediates."""

    meta = RuleMeta(
        code="GB8985",
        slug="requires-grad-on-result",
        summary="`requires_grad_()` on a tensor made in the region",
        category="supportable",
        advice="Make the leaf outside and pass it in, or use torch.func.grad.",
        by_hand="whether the gradient of the leaf or that of what it was made from is wanted is not in the code",
        torch=">=2.12",
        renamed=(("<2.12", "GB0125"),),
        confidence=0.75,
    )
    calls = ("torch.Tensor.requires_grad_",)
    BREAKS = (
        """
import torch

@torch.compile
def leaf(x: torch.Tensor):
    x = x.clone().requires_grad_()  # GB8985
    return x * 2

@torch.compile
def padded(query: torch.Tensor):
    extra = torch.zeros_like(query).requires_grad_(True)  # GB8985
    return query + extra

@torch.compile
def alike(query: torch.Tensor):
    return query.detach().requires_grad_(query.requires_grad)  # GB8985

leaf(torch.rand(3))
padded(torch.rand(3))
alike(torch.rand(3, requires_grad=True))
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def untouched(x: torch.Tensor):
    y = x.clone().requires_grad_(False)
    return y * 2

@torch.compile
def consumed(x: torch.Tensor):
    y = torch.func.grad(lambda value: value.pow(2).sum())(x.detach())
    return y + x.detach()

@torch.compile
def forgotten(x: torch.Tensor):
    extra = torch.ones(3)
    extra.requires_grad_(True)
    return x + 1

forgotten(torch.rand(3))
untouched(torch.rand(3))
consumed(torch.rand(3))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        tensor = as_tensor(event.receiver)
        flag = event.argument(0, "requires_grad")
        if not event.used or tensor is None or tensor.role != "result" or (isinstance(flag, Const) and not flag.value):
            return None
        certainty = tensor_certainty(event.receiver)
        if flag is not None and not isinstance(flag, Const) and not _of_a_tensor(event.node):
            certainty *= SELDOM if isinstance(flag, Plain) and flag.off else MAYBE
        message = f"`{context.text(event.node)}` makes a leaf of an intermediate, which must not leave the graph"
        return Break(message, certainty, about=tensor)


def _of_a_tensor(node: cst.CSTNode) -> bool:
    """Whether the flag is that of another tensor: `y.requires_grad_(x.requires_grad)`."""
    flag = node.args[0].value if isinstance(node, cst.Call) and node.args else None
    return isinstance(flag, cst.Attribute) and flag.attr.value == "requires_grad"
