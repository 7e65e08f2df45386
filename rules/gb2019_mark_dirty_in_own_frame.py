"""`ctx.mark_dirty` in a `forward` that Dynamo traces outside of `Function.apply`.

What breaks:
    `ctx.mark_dirty(x)` when `apply` could not be traced as a whole: the dirty input is not returned (GB2464), or
    no input needs a gradient. The context object cannot be rebuilt either, so GB0092 is reported on the same line.
Why Dynamo breaks:
    Without the surrounding `apply`, the context is an object Dynamo has no model of.
Example:
    ctx.mark_dirty(x)
    return x.clamp_(0, 1)
Instead:
    return x.clamp(0, 1)
Fix:
    Return the marked variable itself; avoid in-place Functions where no gradient is needed.
Torch versions:
    Since 2.13.
Limits:
    Follows from how the Function is applied; see GB2464.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta


class MarkDirtyInOwnFrame(Rule):
    """mark_dirty outside of a traced apply."""

    meta = RuleMeta(
        code="GB2019",
        slug="mark-dirty-in-own-frame",
        summary="`ctx.mark_dirty` is traced outside of `apply`",
        category="supportable",
        advice="Return the marked variable itself from forward.",
        by_hand="`forward` would have to return another variable, which its callers have to expect",
        torch=">=2.13",
    )
    calls = ("mark:mark_dirty",)
    BREAKS = (
        """
import torch

class ClampInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.clamp_(0, 1)
        ctx.mark_dirty(x)  # GB2019, GB0092
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad

@torch.compile
def run(x):
    with torch.no_grad():
        return ClampInPlace.apply(x * 2).sum()

run(torch.ones(2))
""",
    )
    CLEAN = (
        """
import torch

class ClampInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        x.clamp_(0, 1)
        ctx.mark_dirty(x)
        return y * 2, x

    @staticmethod
    def backward(ctx, grad, other):
        return grad, other

@torch.compile
def run(x):
    return ClampInPlace.apply(x * 2, x)[0].sum()

run(torch.ones(2, requires_grad=True))
""",
        """
import torch

class Book:
    def mark_dirty(self, x):
        return x + 1

@torch.compile
def run(x, book: Book):
    return book.mark_dirty(x)

run(torch.ones(2), Book())
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        return Break(f"`{context.text(event.node)}` is traced outside of `apply`", 0.9)
