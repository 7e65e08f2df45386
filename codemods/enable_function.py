"""A function that was kept out of graphs is traced.

What it does:
    Removes the decorator `@torch.compiler.disable` (or `@torch._dynamo.disable`) from the function that a compiled
    region calls.
Applicability:
    Unsafe: the decorator may be there on purpose. The function is then part of the graph. The message says whether
    nothing in it breaks under the target torch, as far as its source and the calls in view tell.
Preconditions:
    The function is disabled by a decorator of its own, in a file of the project, and holds nothing that surely breaks.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Declined,
    Example,
    Repair,
    Site,
    definition,
    marked,
    require,
    tried,
    without_decorator,
)

NAMES = frozenset({"torch.compiler.disable", "torch._dynamo.disable", "torch._disable_dynamo"})


class EnableFunction(Codemod):
    """Removes decorators that keep functions out of graphs."""

    meta = CodemodMeta(
        name="enable-function",
        summary="trace a function that was disabled",
        fixes=("disabled-function", "disabled-method"),
        rank=50,
    )
    EXAMPLES = (
        Example(
            """
import torch


@torch.compiler.disable(reason="debugging")
def accuracy(logits, target):
    return (logits.argmax(-1) == target).float().mean()


@torch.compile
def f(logits, target):
    return logits.sum() + accuracy(logits, target)


print("checksum", f(torch.eye(2), torch.tensor([0, 0])).item())
""",
            """
import torch


def accuracy(logits, target):
    return (logits.argmax(-1) == target).float().mean()


@torch.compile
def f(logits, target):
    return logits.sum() + accuracy(logits, target)


print("checksum", f(torch.eye(2), torch.tensor([0, 0])).item())
""",
            "unsafe",
        ),
        Example(
            """
import torch
from torch import nn

seen = []


def keep(scale):
    @torch._dynamo.disable
    def hook(module, args, output):
        seen.append(output * scale)

    return hook


layer = nn.Linear(2, 2)
nn.init.ones_(layer.weight)
nn.init.zeros_(layer.bias)
layer.register_forward_hook(keep(2))
y = torch.compile(layer)(torch.ones(1, 2))
print("checksum", y.sum().item(), seen[0].sum().item())
""",
            """
import torch
from torch import nn

seen = []


def keep(scale):
    def hook(module, args, output):
        seen.append(output * scale)

    return hook


layer = nn.Linear(2, 2)
nn.init.ones_(layer.weight)
nn.init.zeros_(layer.bias)
layer.register_forward_hook(keep(2))
y = torch.compile(layer)(torch.ones(1, 2))
print("checksum", y.sum().item(), seen[0].sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

def plain(x):
    return x + 1

wrapped = torch.compiler.disable(plain)

@torch.compile
def f(x):
    return wrapped(x) * 2

f(torch.ones(2))
""",
            "not disabled by a decorator",
        ),
        Declined(
            """
import torch

@torch.compiler.disable
def scaled(x):
    return x / x.max().item()

@torch.compile
def f(x):
    return scaled(x) * 2

f(torch.ones(2))
""",
            "would break the graph itself",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        function = marked(site)
        require(function is not None, "the disabled function is not in view")
        assert function is not None
        place, tree = definition(site, function)
        found = [d for d in tree.decorators if self._disables(place, d)]
        require(found, f"`{function.name}` is not disabled by a decorator of its own")
        verdict = tried(site)
        require(verdict is None or verdict.breaks is None, f"`{function.name}` would break the graph itself")
        message = f"trace `{function.name}`, which was kept out of graphs, maybe on purpose"
        if verdict is not None and verdict.clean:
            message += f"; nothing in it breaks under torch {site.torch[0]}.{site.torch[1]}"
        return Repair("unsafe", message, [without_decorator(place, d) for d in found])

    def _disables(self, place: Site, decorator: cst.Decorator) -> bool:
        node = decorator.decorator
        return place.dotted(node) in NAMES or place.callee(node) in NAMES
