"""A function that is declared to break the graph is called inside a compiled region.

What breaks:
    A call of a function that `[tool.gblint.functions]` in the settings, or an installed plugin, says `breaks` of.
Why Dynamo breaks:
    That is what the declaration says, and the report repeats it. gblint takes its word: it is meant for functions whose
    source does not tell, such as those of compiled extensions.
Example:
    h = self.proj(x)
    metrics.send(h.shape)  # "shop.metrics.send" = { breaks = "sends over the network" }
    return torch.relu(h)
Instead:
    h = self.proj(x)
    return torch.relu(h)  # sent outside of the compiled function
Fix:
    Move the call out of the compiled function, or guard it with `if not torch.compiler.is_compiling():`.
Torch versions:
    Every release.
Limits:
    The id is gblint's own: which of PyTorch's ids Dynamo reports depends on the function.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta


class DeclaredBreak(Rule):
    """Calls of functions that are declared to break."""

    meta = RuleMeta(
        code="GBL100",
        slug="declared-break",
        summary="a function is called that the settings or a plugin declare to break the graph",
        category="user-error",
        advice="Move the call out of the compiled function, or guard it with `torch.compiler.is_compiling()`.",
        by_hand="what the function does is known to those who declared it",
        confidence=0.97,
    )
    calls = ("mark:declared",)

    def on_call(self, event: Call, context: Context) -> Break | None:
        declared = context.declared.find(event.name)
        if declared is None:
            return None
        return Break(f"`{context.text(event.node)}` calls `{event.name}`, which breaks the graph: {declared.breaks}")
