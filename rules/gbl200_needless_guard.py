"""A test of whether the code is being compiled keeps out code that Dynamo could trace.

What breaks:
    Nothing. `if not torch.compiler.is_compiling():` around code, or `if torch.compiler.is_compiling():` with an `else`
    for eager runs, directly or through a helper that asks (`is_torchdynamo_compiling()`).
Why Dynamo breaks:
    It does not: under the target torch, nothing in the code that is kept out breaks the graph, as far as its source and
    the values that reach it tell. Such a guard is often a workaround for an older release. It costs: compiled runs go
    without a check, or take a detour that eager runs do not, and the two can come to differ.
Example:
    if torch.compiler.is_compiling():
        y = slow(x)
    else:
        y = fast(x)
Instead:
    y = fast(x)
Fix:
    Take the test away, and with it the other way round the code, if there was no other reason for it.
Torch versions:
    Every release; whether the code breaks is asked of the target release.
Limits:
    The id is gblint's own. The rule is off until it is selected (`extend-select = ["GBL200"]`), since a test may be
    there for another reason than a break: for speed, or for the effect on results. It is silent where the code that is
    kept out changes an attribute, a list or a global, where a value or a callee in it is not known, and where the test
    is part of a larger condition.
"""

from __future__ import annotations

from gblint.rule_api import Break, Context, Guard, Rule, RuleMeta


class NeedlessGuard(Rule):
    """Tests of whether the code is being compiled that keep nothing out that breaks."""

    meta = RuleMeta(
        code="GBL200",
        slug="needless-guard",
        summary="a test of whether the code is compiled keeps out what Dynamo could trace",
        category="needless",
        advice="Let compiled code run what the test keeps out, unless it is kept out for another reason than a break.",
        optional=True,
    )
    BREAKS = (
        """
import torch

def is_tracing():
    return torch.compiler.is_compiling()

@torch.compile
def checked(x):
    if not torch.compiler.is_compiling():  # GBL200
        if x.shape[-1] % 2:
            raise ValueError("an even width is needed")
    return x * 2

@torch.compile
def detour(x, parts: int):
    if is_tracing():  # GBL200
        y = torch.stack([x * i for i in range(parts)]).sum(0)
    else:
        y = torch.einsum("bi,p->bi", x, torch.arange(parts, dtype=x.dtype))
    return y + 1

checked(torch.ones(2, 4))
detour(torch.ones(2, 4), 3)
""",
    )
    CLEAN = (
        """
import torch
from torch import nn

seen = []

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x, width):
        if not torch.compiler.is_compiling():
            print("eager")
        if not torch.compiler.is_compiling():
            self.calls += 1
        if not torch.compiler.is_compiling():
            seen.append(x.shape)
        if not torch.compiler.is_compiling():
            if x.sum() > 0:
                raise ValueError("a sum above zero")
        if not torch.compiler.is_compiling() and width > 2:
            x = x * 2
        if torch.compiler.is_compiling():
            x = x + 1
        return x

torch.compile(Net())(torch.ones(2, 4), 3)
""",
    )

    def on_guard(self, event: Guard, context: Context) -> Break | None:
        release = ".".join(map(str, context.torch))
        text = context.text(event.node)
        return Break(f"`{text}` keeps out code in which nothing breaks under torch {release}", consequence="needless")
