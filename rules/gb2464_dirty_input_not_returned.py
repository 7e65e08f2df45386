"""An autograd `Function` marks an input as dirty but does not return that same variable.

What breaks:
    `Function.apply` where `forward` calls `ctx.mark_dirty(x)` and no `return` gives back `x` itself (`return
    x.clamp_(0, 1)` does not count).
Why Dynamo breaks:
    Dynamo recognises an in-place operation by the dirty input being among the results, and compares variables.
Example:
    ctx.mark_dirty(x)
    return x.clamp_(0, 1)
Instead:
    x.clamp_(0, 1)
    ctx.mark_dirty(x)
    return x
Fix:
    Change the tensor first, then return the marked variable.
Torch versions:
    Since 2.13; before, any `mark_dirty` is GB0060 or GB0156.
Limits:
    Only reported when a gradient may be needed; without one `forward` breaks at `mark_dirty` itself (GB2019).
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta


class DirtyInputNotReturned(Rule):
    """apply of Functions whose dirty input is not returned."""

    meta = RuleMeta(
        code="GB2464",
        slug="dirty-input-not-returned",
        summary="an autograd Function does not return the input it marks as dirty",
        category="user-error",
        advice="Change the tensor first, then return the marked variable itself.",
        by_hand="`forward` would have to return another variable, which its callers have to expect",
        torch=">=2.13",
    )
    calls = ("mark:dirty_not_returned",)
    BREAKS = (
        """
import torch

class ClampInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)  # GB2019, GB0092
        return x.clamp_(0, 1)

    @staticmethod
    def backward(ctx, grad):
        return grad

@torch.compile
def run(x):
    return ClampInPlace.apply(x * 2).sum()  # GB2464

run(torch.ones(2, requires_grad=True))
""",
    )
    CLEAN = (
        """
import torch

class ClampInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.clamp_(0, 1)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad

@torch.compile
def run(x):
    return ClampInPlace.apply(x * 2).sum()

run(torch.ones(2, requires_grad=True))
""",
        """
import torch

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        positive = x > 0
        ctx.mark_non_differentiable(positive)
        ctx.set_materialize_grads(False)
        return x * 2, positive

    @staticmethod
    def backward(ctx, grad, _):
        return grad

@torch.compile
def run(x):
    return Scale.apply(x * 2)[0].sum()

run(torch.ones(2, requires_grad=True))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        text = context.text(event.node)
        return Break(f"`{text}` applies a Function that does not return the input it marks as dirty")
