"""A generator function is compiled.

What breaks:
    `torch.compile` of a function, method or `forward` that contains `yield`, also one decorated with
    `contextlib.contextmanager`.
Why Dynamo breaks:
    A generator frame is suspended and resumed, which Dynamo cannot do for the frame it compiles. It skips the frame
    without a word: the function runs eagerly and no graph break is logged.
Example:
    @torch.compile
    def batches(x):
        for part in x.split(2):
            yield part * 2
Instead:
    @torch.compile
    def batches(x):
        return [part * 2 for part in x.split(2)]
Fix:
    Return a list, or compile a function that calls the generator: generators called inside a compiled function are
    traced.
Torch versions:
    Every release.
Limits:
    A function that only defines, calls or returns a generator is fine.
"""

from __future__ import annotations

from gblint.rule_api import Break, Context, Entry, Rule, RuleMeta


class CompiledGenerator(Rule):
    """Generator functions as compiled roots."""

    meta = RuleMeta(
        code="GB0003",
        slug="compiled-generator",
        summary="a generator function is compiled, and silently runs eagerly",
        category="fundamental",
        advice="Return a list, or compile the function that calls the generator.",
    )
    BREAKS = (
        """
import torch

@torch.compile  # silent: GB0003
def parts(x):
    for part in x.split(2):
        yield part * 2

def rows(x):  # silent: GB0003
    yield from x

class Model(torch.nn.Module):
    def forward(self, x):  # silent: GB0003
        yield x + 1

@torch.compile
def traced(x):
    return x + 1

list(parts(torch.ones(4)))
list(torch.compile(rows)(torch.ones(2, 2)))
list(torch.compile(Model())(torch.ones(2)))
traced(torch.ones(2))
""",
    )
    CLEAN = (
        """
import torch

def parts(x):
    for part in x.split(2):
        yield part * 2

@torch.compile
def total(x):
    return sum(parts(x)) + sum(v for v in [x, x]).sum()

@torch.compile
def collected(x):
    def rows():
        yield x
        yield x + 1
    return list(rows())

total(torch.ones(4))
collected(torch.ones(4))
""",
        """
import torch

@torch.compile
def doubled(x):
    return (v * 2 for v in [x, x + 1])

def lazily(x):
    yield doubled(x)

list(lazily(torch.ones(2)))
""",
    )

    def on_entry(self, event: Entry, context: Context) -> Break | None:
        info = event.function.info
        if not event.is_root or info is None or not info.is_generator:
            return None
        message = f"`{event.function.name}` is a generator function: Dynamo skips it and it runs eagerly"
        return Break(message, silent=True, fatal=True)
