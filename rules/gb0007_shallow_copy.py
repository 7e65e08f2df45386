"""`copy.copy` of a list, dict or set inside a compiled region.

What breaks:
    `copy.copy(x)` where `x` is a list, a dict or a set.
Why Dynamo breaks:
    `copy.copy` looks up a C function for these types, and Dynamo skips it.
Example:
    names = copy.copy(names)
Instead:
    names = list(names)
Fix:
    Use `list(x)`, `dict(x)`, `set(x)` or `x.copy()`, which Dynamo traces.
Torch versions:
    Every release; until 2.12 a copy of anything breaks.
Limits:
    A copy of a number, string, tuple, `OrderedDict` or object of a class does not break; of a tensor it is GB0208, of a
    module GB0008. `copy.deepcopy` of tensors or modules is GB4198.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Mapping, Rule, RuleMeta, Sequence, Value, members, type_name


class ShallowCopy(Rule):
    """copy.copy of builtin containers."""

    meta = RuleMeta(
        code="GB0007",
        slug="shallow-copy",
        summary="`copy.copy` of a builtin container",
        category="supportable",
        advice="Use list(x), dict(x), set(x) or x.copy().",
    )
    calls = ("copy.copy",)
    BREAKS = (
        """
import copy
import torch

@torch.compile
def snapshot(x, names: list[str], table: dict[str, int]):
    kept = copy.copy(names)  # GB0007
    x = x * len(kept)
    sizes = copy.copy({"a": 1})  # GB0007
    x = x * len(sizes)
    counts = copy.copy(table)  # GB0007
    x = x + len(counts)
    return x * len(copy.copy({1, 2}))  # GB0007

snapshot(torch.ones(2), ["w"], {"w": 1})
""",
        """
import copy
import torch

@torch.compile
def sets(x: torch.Tensor):
    y = x * 2
    names = copy.copy({1, 2})  # GB0007
    return y * len(names)

sets(torch.rand(2))
""",
    )
    CLEAN = (
        """
import collections
import copy
import torch

class Config:
    scale = 2

@torch.compile
def snapshot(x, names: list[str], config: Config):
    kept = names.copy() + list(names)
    other = copy.copy(config)
    size = copy.copy(x.shape)
    order = copy.copy(collections.OrderedDict(a=1))
    deep = copy.deepcopy([1, 2])
    n = len(kept) + len(order) + len(deep) + other.scale + copy.copy(1) + len(copy.copy((1,))) + size[0]
    return x * n

snapshot(torch.ones(2), ["w"], Config())
""",
        """
import torch

class Store:
    def copy(self, x):
        return x + 1

@torch.compile
def step(x, store):
    return store.copy(x)

step(torch.ones(2), Store())
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        kinds = {kind for kind in map(_kind, members(event.args[0])) if kind} if event.args else set()
        if not kinds and (context.torch >= (2, 13) or not event.args):
            return None
        name = sorted(kinds)[0] if kinds else "value"
        return Break(f"`{context.text(event.node)}` copies a {name} through a C function that Dynamo skips", 0.95)


def _kind(value: Value) -> str:
    """The builtin container a value is; "" if it is something else, or unknown."""
    if isinstance(value, Sequence) and value.kind in ("list", "set"):
        return value.kind
    if isinstance(value, Mapping) and value.kind == "dict":
        return "dict"
    name = type_name(value)
    return name if name in ("list", "dict", "set") else ""
