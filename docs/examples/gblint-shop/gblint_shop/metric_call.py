"""A metric is sent from inside a compiled region.

What breaks:
    A call of `shop_native.send`.
Why Dynamo breaks:
    The function is part of a compiled extension, which Dynamo cannot trace.
Example:
    shop_native.send("loss", loss)
Instead:
    if not torch.compiler.is_compiling():
        shop_native.send("loss", loss)
Fix:
    Send the metric from the training loop.
Torch versions:
    Every release.
Limits:
    None.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta, as_tensor


class MetricCall(Rule):
    """Calls of shop_native.send."""

    meta = RuleMeta(
        code="SHOP001",
        slug="metric-call",
        summary="a metric is sent from a compiled region",
        category="user-error",
        advice="Send it from the training loop, on what the compiled function returns.",
        confidence=0.95,
        page="https://wiki.example.org/metrics",
    )
    calls = ("shop_native.send",)

    def on_call(self, event: Call, context: Context) -> Break | None:
        value = event.argument(1, "value")
        what = "a tensor, and waits for it" if as_tensor(value) else "a metric"
        return Break(f"`{context.text(event.node)}` sends {what}", about=value)
