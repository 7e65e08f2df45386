"""An assignment to `requires_grad`.

What breaks:
    `t.requires_grad = value` for any tensor and any value, also through `setattr`.
Why Dynamo breaks:
    The flag is a property of the tensor object that autograd reads; Dynamo does not model its assignment.
Example:
    if self._requires_grad and self.training:
        hidden_states.requires_grad = True
Instead:
    inputs = inputs.requires_grad_()
    model(inputs)
Fix:
    Set the flag before the region: on parameters when the model is built, on inputs before the call. To cut gradients
    inside use `.detach()` or `torch.no_grad()`.
Torch versions:
    Every release, in 2.9 without an id. On a tensor made in the region GB8985 since 2.15.
Limits:
    None known; the value assigned does not matter.
"""

from __future__ import annotations

from gblint.rule_api import Break, Context, Rule, RuleMeta, SetAttr, as_tensor, tensor_certainty


class RequiresGradAssignment(Rule):
    """Assignments to requires_grad."""

    meta = RuleMeta(
        code="GB0206",
        slug="requires-grad-assignment",
        summary="`requires_grad` is assigned in a compiled region",
        category="supportable",
        advice="Set requires_grad before the region; inside use detach() or torch.no_grad().",
        confidence=0.95,
    )
    BREAKS = (
        """
import torch
from torch import nn

class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Linear(3, 3)
        self._requires_grad = True

    def forward(self, x):
        h = x[:, None]
        if self._requires_grad and self.training:
            h.requires_grad = True  # GB0206
        return self.conv(h)

class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        for parameter in self.linear.parameters():
            parameter.requires_grad = False  # GB0206
        return self.linear(x)

@torch.compile
def by_name(x: torch.Tensor):
    y = x * 2
    setattr(y, "requires_grad", True)  # GB0206
    return y + 1

torch.compile(Features())(torch.rand(2, 3))
torch.compile(Frozen())(torch.rand(2, 3))
by_name(torch.rand(3))
""",
    )
    CLEAN = (
        """
import torch
from torch import nn

class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.requires_grad = False
        for parameter in self.linear.parameters():
            parameter.requires_grad = False

    def forward(self, x):
        self.frozen = self.linear.weight.requires_grad
        y = self.linear(x)
        return y.detach() if y.requires_grad or x.requires_grad else y

torch.compile(Frozen())(torch.rand(2, 3))
""",
        """
import torch

class Flags:
    pass

@torch.compile
def flagged(x: torch.Tensor):
    flags = Flags()
    flags.requires_grad = True
    return x * 2 if flags.requires_grad else x

flagged(torch.rand(2))
""",
    )

    def on_setattr(self, event: SetAttr, context: Context) -> Break | None:
        certainty = tensor_certainty(event.receiver) if event.name == "requires_grad" else 0.0
        if not certainty:
            return None
        message = f"`{context.text(event.node)}` is assigned, and Dynamo does not trace changes of that flag"
        tensor = as_tensor(event.receiver)
        made_here = tensor is not None and tensor.role == "result" and context.torch >= (2, 15)
        return Break(message, max(certainty, 0.8), about=tensor, code="GB8985" if made_here else "")
