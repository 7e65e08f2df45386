"""`max` or `min` with `key` or `default`.

What breaks:
    `max(items, key=…)`, `min(items, default=…)`, where the items are tensors, objects or come from an iterator.
Why Dynamo breaks:
    Its handler for these builtins takes the items alone. Where it can, it lets Python compute the call at once, which
    works for constants.
Example:
    best = max(candidates, key=lambda t: t.dim())
Instead:
    best = sorted(candidates, key=lambda t: t.dim())[-1]
Fix:
    Sort with the key, or write the loop.
Torch versions:
    Until 2.14; the id is not in 2.15.
Limits:
    A key that gives tensors cannot be sorted by either (GB0207). Lists of numbers or strings are fine, with any key.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Const, Context, Plain, Rule, RuleMeta, Sequence, Unknown, Value


class ExtremeWithKey(Rule):
    """Keys and defaults of max and min."""

    meta = RuleMeta(
        code="GB0193",
        slug="extreme-with-key",
        summary="`max` or `min` with a key or a default",
        category="supportable",
        advice="Sort with the key, or write the loop.",
        by_hand="sorting picks another one of elements with equal keys",
        torch="<2.15",
    )
    calls = ("builtins.max", "builtins.min")
    BREAKS = (
        """
import torch

@torch.compile
def best(xs):
    return max(xs, key=lambda t: t.dim()) + 1  # GB0193

@torch.compile
def first(xs):
    return min(xs, default=xs[0]) + 1  # GB0193

@torch.compile
def named(x, table):
    name, _ = max(table.items(), key=lambda pair: pair[1])  # GB0193
    return x + len(name)

best([torch.ones(2), torch.ones(2)])
first([torch.ones(2)])
named(torch.ones(2), {"a": 1, "b": 2})
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def best(x):
    longest = max(["a", "bc"], key=len)
    largest = max([1, -2], key=lambda n: -n) + max(x.shape, key=lambda n: n) + max(x.shape, default=1)
    return x * largest + max([], default=3) + len(longest) + max(x[0], x[1])

best(torch.ones(2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        if not event.kwargs.keys() & {"key", "default"}:
            return None
        given = [*event.args, *(value for name, value in event.kwargs.items() if name == "default")]
        if all(_is_constant(value) for value in given):
            return None
        return Break(
            f"`{context.text(event.node)}` has a key or a default, which Dynamo's model of it does not take", 0.95
        )


def _is_constant(value: Value) -> bool:
    """Whether a value is one that Dynamo computes with while tracing; what nothing is known of counts as such."""
    if isinstance(value, Sequence):
        return all(_is_constant(item) for item in (value.items if value.items is not None else [value.element()]))
    return isinstance(value, Const | Plain | Unknown)
