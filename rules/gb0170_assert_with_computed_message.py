"""An assert on a tensor whose message is not a constant.

What breaks:
    `assert condition, f"..."` and any other message that is computed, where the condition is a tensor. Also
    `assert not t` and `assert a and b`, whatever the message.
Why Dynamo breaks:
    An assert with a constant message becomes a check inside the graph. A computed message would have to be made where
    the check fails, and a negation or `and` is a jump of its own: both are branches on a value that is not known.
Example:
    assert torch.isfinite(x).all(), f"not finite: {x.shape}"
    assert not torch.isnan(x).any()
Instead:
    assert torch.isfinite(x).all(), "not finite"
    assert (~torch.isnan(x)).all()
Fix:
    Make the message a constant, write `~` for `not` and `&` for `and`, or use `torch._assert_async`.
Torch versions:
    Every release.
Limits:
    Asserts on sizes are fine with any message. With `python -O` there is no assert at all.
"""

from __future__ import annotations

from gblint.rule_api import Branch, Break, Context, Rule, RuleMeta, as_tensor, tensor_certainty


class AssertWithComputedMessage(Rule):
    """Asserts that cannot become part of the graph."""

    meta = RuleMeta(
        code="GB0170",
        slug="assert-with-computed-message",
        summary="an assert on a tensor has a message that is not a constant",
        category="fundamental",
        advice="Make the message a constant, or use torch._assert_async.",
    )
    BREAKS = (
        """
import torch

@torch.compile
def formatted(x: torch.Tensor):
    assert (x >= 0).all(), f"negative values in {tuple(x.shape)}"  # GB0170
    return x + 1

@torch.compile
def negated(x: torch.Tensor):
    assert not torch.isnan(x).any(), "nan"  # GB0170
    return x + 1

@torch.compile
def joined(x: torch.Tensor):
    assert x.min() >= 0 and x.max() <= 1, "out of range"  # GB0170
    return x + 1

formatted(torch.rand(3))
negated(torch.rand(3))
joined(torch.rand(3))
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def checks(x: torch.Tensor):
    assert (x >= 0).all()
    assert x.sum() > 0, "all zero"
    assert x.shape[0] == 3, f"expected 3 rows, got {x.shape[0]}"
    torch._assert_async(torch.isfinite(x).all())
    return x + 1

checks(torch.rand(3))
""",
    )

    def on_branch(self, event: Branch, context: Context) -> Break | None:
        certainty = tensor_certainty(event.value) if event.kind == "assert" and not event.plain_message else 0.0
        if not certainty:
            return None
        text = context.text(event.node)
        message = f"The message of the assert on `{text}` is computed, so the check cannot become part of the graph"
        return Break(message, certainty, about=as_tensor(event.value))
