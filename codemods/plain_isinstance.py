"""`torch.jit.isinstance` of plain classes is Python's own `isinstance`.

What it does:
    Writes `torch.jit.isinstance(x, torch.Tensor)` as `isinstance(x, torch.Tensor)`, which Dynamo traces. The two differ
    only for containers with types of elements; TorchScript compiles both.
Applicability:
    Safe.
Preconditions:
    What is asked for is a class, or a tuple of them, and none is a container: of `dict[str, torch.Tensor]` the elements
    are looked at as well.
Instead:
    `isinstance(x, dict)` where the types of the elements need no check.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Class,
    Codemod,
    CodemodMeta,
    Declined,
    Example,
    External,
    Repair,
    Site,
    refuse,
    require,
)

PLAIN = frozenset({"builtins.int", "builtins.float", "builtins.bool", "builtins.str", "builtins.complex"})


class PlainIsinstance(Codemod):
    """Replaces torch.jit.isinstance."""

    meta = CodemodMeta(
        name="plain-isinstance",
        summary="isinstance instead of torch.jit.isinstance",
        fixes=("skipped-torch-function",),
        rank=10,
    )
    EXAMPLES = (
        Example(
            """
import torch
from torch import nn

class Join(nn.Module):
    def forward(self, x, skip=None):
        if skip is not None and torch.jit.isinstance(skip, torch.Tensor):
            x = torch.cat([x, skip])
        if torch.jit.isinstance(skip, (int, float)):
            x = x * skip
        return x

join = torch.compile(Join())
print("checksum", join(torch.ones(2), torch.ones(3)).sum().item(), join(torch.ones(2), 3).sum().item())
""",
            """
import torch
from torch import nn

class Join(nn.Module):
    def forward(self, x, skip=None):
        if skip is not None and isinstance(skip, torch.Tensor):
            x = torch.cat([x, skip])
        if isinstance(skip, (int, float)):
            x = x * skip
        return x

join = torch.compile(Join())
print("checksum", join(torch.ones(2), torch.ones(3)).sum().item(), join(torch.ones(2), 3).sum().item())
""",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def f(x):
    if torch.jit.isinstance(x, dict[str, torch.Tensor]):
        return x["image"] * 2
    return x

f({"image": torch.ones(2)})
""",
            "`dict[str, torch.Tensor]` is no plain class",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        node = site.node
        if not isinstance(node, cst.Call) or site.callee(node) != "torch.jit.isinstance":
            return None
        plain = len(node.args) == 2 and not any(a.keyword or a.star for a in node.args)
        require(plain, "the arguments are given by name or unpacked")
        require(
            not site.binds("isinstance") and "isinstance" not in site.module.bindings, "`isinstance` is another name"
        )
        wanted = node.args[1].value
        for part in [e.value for e in wanted.elements] if isinstance(wanted, cst.Tuple) else [wanted]:
            if not _is_plain(site, part):
                refuse(f"`{site.text(part)}` is no plain class")
        return Repair("safe", "ask with Python's own isinstance", [site.replace(node.func, "isinstance")])


def _is_plain(site: Site, node: cst.BaseExpression) -> bool:
    """Whether an expression is surely a class that is no container with types of elements."""
    value = site.value(node)
    if not isinstance(value, External):
        return isinstance(value, Class)
    return value.dotted in PLAIN or site.knowledge.what(value.dotted) in ("class", "module-class")
