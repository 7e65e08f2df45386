"""`next()` of an iterator made outside the compiled region.

What breaks:
    `next(it)` where `it` is a generator, `zip`, `map`, `itertools.cycle` … that was passed in or is kept in a global or
    attribute.
Why Dynamo breaks:
    Advancing the iterator changes state that Dynamo cannot see.
Example:
    batch = next(self.batches)
Instead:
    batch is an argument
Fix:
    Call `next` outside the compiled function and pass the item in.
Torch versions:
    In 2.13 under this id; since 2.14 GB9493 and for generators GB0116, before 2.13 GB0156 and for generators GB0253.
Limits:
    `itertools.count` and iterators written in Python do not break; a loop over such an iterator is GB0811.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta, Stream, members


class NextOfOutsideIterator(Rule):
    """next() of passed-in iterators."""

    meta = RuleMeta(
        code="GB4347",
        slug="next-of-outside-iterator",
        summary="`next()` of an iterator made outside the compiled region",
        category="supportable",
        advice="Call next outside and pass the item in.",
        torch=">=2.13,<2.14",
        renamed=((">=2.14", "GB9493"), ("<2.13", "GB0156")),
    )
    calls = ("builtins.next",)
    BREAKS = (
        """
import itertools
import torch

TURNS = itertools.cycle([1, 2])

@torch.compile
def step(x, pairs):
    y = x * next(pairs)[0]  # GB4347
    y = y + 1
    return y * next(TURNS)  # GB4347

step(torch.ones(2), zip([1], [2]))
""",
    )
    CLEAN = (
        """
import torch

class Source:
    def __iter__(self):
        return self

    def __next__(self):
        return 2

@torch.compile
def step(x, items, source: Source):
    y = x * next(iter(items))
    return y * next(source) + next(i for i in items)

step(torch.ones(2), [1, 2], Source())
""",
        """
import torch

pairs = zip([1], [2])

@torch.compile
def step(x, pair):
    return x * pair[0]

step(torch.ones(2), next(pairs))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        if not event.args:
            return None
        found = [m for m in members(event.args[0]) if isinstance(m, Stream) and m.passed_in and m.kind != "range"]
        if not found:
            return None
        kind = found[0].kind
        article = "an" if kind[0] in "aei" else "a"
        message = f"`{context.text(event.node)}` advances {article} {kind} made outside the compiled region"
        return Break(message, 0.95, code=_code_for(kind, context.torch))


def _code_for(kind: str, torch: tuple[int, int]) -> str:
    """The id of generators, where it is another than that of all others."""
    if kind != "generator" or torch == (2, 13):
        return ""
    return "GB0253" if torch < (2, 13) else "GB0116"
