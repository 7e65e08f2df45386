"""An iterator made outside the compiled region is iterated inside it.

What breaks:
    A loop, comprehension, `list()`, `sum()`, unpacking or `*` over a generator, `zip`, `map`, `filter`,
    `enumerate`, `reversed`, `iter(list)`, `itertools` object, `dict.values()` or `dict.items()` view, open file or
    `model.parameters()` that was made outside: passed as an argument, kept in a global or attribute, or made
    before an earlier graph break in the same function.
Why Dynamo breaks:
    Such an object is C code with hidden state: advancing it while tracing could not be undone or guarded. One that
    is made inside the region is modelled from its creation on.
Example:
    run(zip(inputs, targets))
Instead:
    run(list(zip(inputs, targets)))
Fix:
    Pass a list or tuple, or the things to iterate over, and make the iterator inside.
Torch versions:
    In 2.13 under this id; since 2.14 GB9493 and for generators GB0116, before 2.13 GB0156 and for generators GB0253.
Limits:
    `range`, `dict.keys()`, lists, tuples, sets, strings and iterators written in Python do not break. `next()` of
    such an object is GB4347.
"""

from __future__ import annotations

import libcst as cst

from gblint.rule_api import Break, Context, Instance, Iterate, Rule, RuleMeta, Stream, Value, members

FINE = ("range", "dict_keys")
FILES = ("io.TextIOWrapper", "io.BufferedReader", "builtins.open", "array.array", "_io.TextIOWrapper")


class IteratorFromOutside(Rule):
    """Iteration over iterators that come from outside."""

    meta = RuleMeta(
        code="GB0811",
        slug="iterator-from-outside",
        summary="an iterator made outside the compiled region is iterated",
        category="supportable",
        advice="Pass a list or tuple, or make the iterator inside.",
        torch=">=2.13,<2.14",
        renamed=((">=2.14", "GB9493"), ("<2.13", "GB0156")),
    )
    BREAKS = (
        """
import torch

@torch.compile
def dot(pairs):
    out = torch.zeros(())
    for a, b in pairs:  # GB0811
        out = out + (a * b).sum()
    return out

@torch.compile
def norm(parameters):
    y = torch.zeros(())
    return y + sum([p.sum() for p in parameters])  # GB0811

@torch.compile
def stacked(x, values):
    y = x + 1
    first, *rest = values  # GB0811
    return y * first

xs = [torch.ones(2), torch.ones(2)]
dot(zip(xs, xs))
norm(torch.nn.Linear(2, 2).parameters())
stacked(torch.ones(2), {"a": 1, "b": 2}.values())
""",
        """
import torch

STEPS = enumerate([1, 2])

@torch.compile
def counted(x):
    y = x + 1
    for i, step in STEPS:  # GB0811
        y = y * step + i
    return y

@torch.compile
def resumed(x):
    pairs = zip([1, 2], [3, 4])
    print("before the loop")  # GB0059
    for a, b in pairs:  # GB0811
        x = x * a + b
    return x

counted(torch.ones(2))
resumed(torch.ones(2))
""",
        """
import torch

def batches(x):
    for i in range(2):  # the frame of the generator is refused when the eager code runs it
        yield x + i

@torch.compile
def total(source):
    y = torch.zeros(2)
    for batch in source:  # GB0811
        y = y + batch
    return y

total(map(torch.sin, [torch.ones(2)]))
""",
        """
import array
import torch

WEIGHTS = array.array("i", [1, 2])

@torch.compile
def weighted(x: torch.Tensor):
    y = x * 2
    for weight in WEIGHTS:  # GB0811
        y = y + weight
    return y

weighted(torch.rand(3))
""",
    )
    CLEAN = (
        """
import torch

def batches(x):
    for i in range(2):
        yield x + i

class Source:
    def __init__(self):
        self.left = 2

    def __iter__(self):
        return self

    def __next__(self):
        self.left -= 1
        if self.left < 0:
            raise StopIteration
        return self.left

@torch.compile
def total(x, items, keys, source: Source):
    for i, (a, b) in enumerate(zip(items, reversed(items))):
        x = x * a + b + i
    for part in batches(x):
        x = x + part
    for key in keys:
        x = x + key
    for value in source:
        x = x * value
    return x + sum(v for v in items)

total(torch.ones(2), [1, 2], {1: 2}.keys(), Source())
""",
        """
import torch

@torch.compile
def dot(pairs: list, steps: range):
    out = torch.zeros(())
    for a, b in pairs:
        out = out + (a * b).sum()
    for i in steps:
        out = out + i
    return out

xs = [torch.ones(2), torch.ones(2)]
dot(list(zip(xs, xs)), range(2))
""",
        """
import torch

@torch.compile
def unused(x, pairs):
    return x + 1 if pairs is not None else x

unused(torch.ones(2), zip([1], [2]))
""",
    )

    def on_iterate(self, event: Iterate, context: Context) -> Break | None:
        kinds = [kind for member in members(event.value) if (kind := _from_outside(member))]
        if not kinds:
            return None
        certainty = 0.95 if len(kinds) == len(members(event.value)) else 0.6
        article = "an" if kinds[0][0] in "aei" else "a"
        message = f"`{context.text(event.node)}` is {article} {kinds[0]} made outside the compiled region"
        # A loop or unpacking cannot be resumed, a call (`list(pairs)`) can.
        fatal = not isinstance(event.node, cst.Call)
        return Break(message, certainty, about=event.value, fatal=fatal, code=_code_for(kinds[0], context.torch))


def _code_for(kind: str, torch: tuple[int, int]) -> str:
    """The id of generators, where it is another than that of all others."""
    if kind != "generator" or torch == (2, 13):
        return ""
    return "GB0253" if torch < (2, 13) else "GB0116"


def _from_outside(value: Value) -> str:
    """The kind of iterator a value is, if it comes from outside and cannot be iterated; "" otherwise."""
    if isinstance(value, Stream):
        return value.kind if value.passed_in and value.kind not in FINE else ""
    if isinstance(value, Instance) and value.base in FILES and value.born == "outside":
        return "file" if value.base != "array.array" else "array"
    return ""
