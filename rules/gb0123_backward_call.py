"""`Tensor.backward()` inside the compiled region.

What breaks:
    `loss.backward()`.
Why Dynamo breaks:
    The backward pass runs in the autograd engine, which is not traced by default.
Example:
    @torch.compile
    def step(x, y):
        loss = F.mse_loss(model(x), y)
        loss.backward()
Instead:
    @torch.compile
    def loss_of(x, y):
        return F.mse_loss(model(x), y)
    loss_of(x, y).backward()
Fix:
    Compile forward and loss only; the backward pass is compiled along with them. Or set
    `torch._dynamo.config.trace_autograd_ops = True` (2.11 and later), or use `torch.func.grad`.
Torch versions:
    Every release.
Limits:
    `torch.autograd.backward` is GB0007, `torch.autograd.grad` GB9186.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta, as_tensor, tensor_certainty


class BackwardCall(Rule):
    """Calls of backward."""

    meta = RuleMeta(
        code="GB0123",
        slug="backward-call",
        summary="`backward()` in a compiled region",
        category="fundamental",
        advice="Compile forward and loss only, and call backward outside.",
        by_hand="where the training step should be cut in two is for its author to say",
    )
    calls = ("torch.Tensor.backward",)
    BREAKS = (
        """
import torch
from torch import nn

model = nn.Linear(3, 1)

@torch.compile
def step(x: torch.Tensor):
    loss = model(x).pow(2).mean()
    loss.backward()  # GB0123
    return loss.detach()

step(torch.rand(2, 3))
""",
    )
    CLEAN = (
        """
import torch
from torch import nn

model = nn.Linear(3, 1)

@torch.compile
def loss_of(x: torch.Tensor):
    return model(x).pow(2).mean()

@torch.compile
def gradient(x: torch.Tensor):
    return torch.func.grad(lambda value: value.pow(2).sum())(x)

loss_of(torch.rand(2, 3)).backward()
gradient(torch.rand(3))
""",
        """
import torch
from torch import nn

torch._dynamo.config.trace_autograd_ops = True
model = nn.Linear(3, 1)

@torch.compile
def step(x: torch.Tensor):
    loss = model(x).pow(2).mean()
    loss.backward()
    return loss.detach()

step(torch.rand(2, 3))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        certainty = tensor_certainty(event.receiver)
        if not certainty or context.enabled("trace_autograd_ops"):
            return None
        message = f"`{context.text(event.node)}` runs the autograd engine, which Dynamo does not trace"
        return Break(message, max(certainty, 0.9), about=as_tensor(event.receiver))
