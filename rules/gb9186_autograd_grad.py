"""`torch.autograd.grad` inside the compiled region.

What breaks:
    `torch.autograd.grad(...)`, however it is imported.
Why Dynamo breaks:
    The gradient is computed by the autograd engine, which is traced only if `trace_autograd_ops` is set.
Example:
    grad = torch.autograd.grad(energy.sum(), positions, create_graph=True)[0]
Instead:
    grad = torch.func.grad(lambda p: energy_of(p).sum())(positions)
Fix:
    Use `torch.func.grad`, set `torch._dynamo.config.trace_autograd_ops = True`, or move the call out of the region.
Torch versions:
    Since 2.11; before, the call was a skipped function (GB0007).
Limits:
    An intermediate made a leaf for it (`x.detach().requires_grad_()`) breaks as well, as GB8985.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta, as_tensor


class AutogradGrad(Rule):
    """Calls of torch.autograd.grad."""

    meta = RuleMeta(
        code="GB9186",
        slug="autograd-grad",
        summary="`torch.autograd.grad` in a compiled region",
        category="supportable",
        advice="Use torch.func.grad, or set torch._dynamo.config.trace_autograd_ops = True.",
        by_hand="`torch.func.grad` asks for a function of the inputs, where here there are results alone",
        torch=">=2.11",
        renamed=(("<2.11", "GB0007"),),
        confidence=0.95,
    )
    calls = ("torch.autograd.grad",)
    BREAKS = (
        """
import torch
from torch import nn
from torch.autograd import grad

energy = nn.Linear(3, 1)

@torch.compile
def forces(positions: torch.Tensor):
    total = energy(positions).pow(2).sum()
    return -torch.autograd.grad(total, energy.weight, create_graph=True)[0]  # GB9186

@torch.compile
def penalty(positions: torch.Tensor):
    (slope,) = grad(energy(positions).sum(), energy.weight)  # GB9186
    return slope.norm()

forces(torch.rand(2, 3))
penalty(torch.rand(2, 3))
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def forces(positions: torch.Tensor):
    return -torch.func.grad(lambda p: p.pow(2).sum())(positions)

forces(torch.rand(2, 3))
""",
        """
import torch
from torch import nn

torch._dynamo.config.trace_autograd_ops = True
energy = nn.Linear(3, 1)

@torch.compile
def forces(positions: torch.Tensor):
    total = energy(positions).pow(2).sum()
    return -torch.autograd.grad(total, energy.weight)[0]

forces(torch.rand(2, 3))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        if context.enabled("trace_autograd_ops"):
            return None
        outputs = event.argument(0, "outputs")
        message = f"`{context.text(event.node)}` runs the autograd engine, which Dynamo does not trace"
        return Break(message, about=as_tensor(outputs))
