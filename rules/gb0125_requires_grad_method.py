"""`requires_grad_()` on an input or a parameter, where it changes the flag.

What breaks:
    `x.requires_grad_()` on an argument that does not require grad, `weight.requires_grad_(False)` on a parameter,
    `module.requires_grad_(False)` on a module with parameters.
Why Dynamo breaks:
    The flag belongs to a tensor that exists outside the graph, and the graph cannot change it.
Example:
    def forward(self, x):
        self.backbone.requires_grad_(False)
        return self.backbone(x)
Instead:
    def __init__(self):
        self.backbone.requires_grad_(False)
Fix:
    Freeze before compiling, use `with torch.no_grad():` or `.detach()` inside.
Torch versions:
    Every release.
Limits:
    A call that changes nothing is fine: `requires_grad_(True)` on a trainable parameter. On a tensor made in the region
    it is GB8985, an assignment to `requires_grad` is GB0206.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Const, Context, Rule, RuleMeta, Value, as_tensor, tensor_certainty

# How sure it is that the call changes the flag: by role of the tensor, for requires_grad_(True) and (False).
CHANGES = {"input": (0.85, 0.0), "buffer": (0.95, 0.0), "parameter": (0.0, 0.95), "": (0.5, 0.3)}


class RequiresGradMethod(Rule):
    """requires_grad_ on tensors from outside."""

    meta = RuleMeta(
        code="GB0125",
        slug="requires-grad-method",
        summary="`requires_grad_()` changes a tensor from outside the region",
        category="supportable",
        advice="Freeze or unfreeze before compiling; use no_grad or detach inside.",
    )
    calls = ("torch.Tensor.requires_grad_", "torch.nn.Module.requires_grad_")
    BREAKS = (
        """
import torch
from torch import nn

class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Linear(3, 3)
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        self.backbone.requires_grad_(False)  # GB0125
        self.scale.requires_grad_(False)  # GB0125
        return self.backbone(x) * self.scale

@torch.compile
def leaf(x: torch.Tensor):
    x.requires_grad_()  # GB0125
    return x * 2

torch.compile(Frozen())(torch.rand(2, 3))
leaf(torch.rand(3))
""",
    )
    CLEAN = (
        """
import torch
from torch import nn

class Trainable(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Linear(3, 3)
        self.scale = nn.Parameter(torch.ones(3))
        self.backbone.requires_grad_(False)

    def forward(self, x):
        self.scale.requires_grad_(True)
        x.requires_grad_(False)
        with torch.no_grad():
            x = self.backbone(x)
        return x.detach() * self.scale

torch.compile(Trainable())(torch.rand(2, 3))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        tensor = as_tensor(event.receiver)
        flag = event.argument(0, "requires_grad")
        if tensor is None:
            certainty = _freezes(flag) * 0.9 if event.callee.startswith("torch.nn.") else 0.0
        else:
            on, off = CHANGES.get(tensor.role, (0.0, 0.0))
            certainty = tensor_certainty(event.receiver) * (off if _freezes(flag) == 1 else on)
        if not certainty:
            return None
        message = f"`{context.text(event.node)}` changes a flag of a tensor that exists outside the graph"
        return Break(message, certainty, about=tensor)


def _freezes(flag: Value | None) -> float:
    """1 if the flag is False, 0 if it is True or left out, between if not known."""
    if flag is None:
        return 0.0
    return float(not flag.value) if isinstance(flag, Const) else 0.6
