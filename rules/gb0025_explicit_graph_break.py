"""A graph break that is asked for: `torch._dynamo.graph_break()`, `optimizer.step()`.

What breaks:
    `torch._dynamo.graph_break()`, and `step()` of torch's optimizers, which calls it.
Why Dynamo breaks:
    It was told to.
Example:
    loss.backward()
    optimizer.step()
Instead:
    loss = compiled_loss(x, y)
    loss.backward()
    compiled_step()
Fix:
    Remove the call. For an optimizer compile `optimizer.step` in a function of its own.
Torch versions:
    Every release.
Limits:
    Optimizers written in the project are not torch's. `zero_grad()` is GB0008.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta


class ExplicitGraphBreak(Rule):
    """Calls that ask for a break."""

    meta = RuleMeta(
        code="GB0025",
        slug="explicit-graph-break",
        summary="a graph break that the code asks for",
        category="user-error",
        advice="Remove the call, or compile the optimizer step in a function of its own.",
        by_hand="why somebody wanted the break is not in the code",
        confidence=0.95,
    )
    calls = ("torch._dynamo.graph_break", "torch.optim.*")
    BREAKS = (
        """
import torch
from torch import nn

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

@torch.compile
def update(x: torch.Tensor):
    y = model(x)
    optimizer.step()  # GB0025
    return y * 2

@torch.compile
def debug(x: torch.Tensor):
    x = x * 2
    torch._dynamo.graph_break()  # GB0025
    return x + 1

update(torch.rand(2, 3))
debug(torch.rand(3))
""",
    )
    CLEAN = (
        """
import torch
from torch import nn

class Counter:
    def __init__(self):
        self.count = 0

    def step(self):
        self.count += 1

counter = Counter()

@torch.compile
def update(x: torch.Tensor):
    counter.step()
    return x * 2

update(torch.rand(3))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        if event.callee.startswith("torch.optim."):
            stepper = event.callee.endswith(".step") and "lr_scheduler" not in event.callee
            if not stepper or event.receiver is None:
                return None
            return Break(f"`{context.text(event.node)}`: torch's optimizers break the graph before they step")
        return Break(f"`{context.text(event.node)}` asks for a graph break")
