"""`Tensor.retain_grad()`.

What breaks:
    `t.retain_grad()`, on any tensor.
Why Dynamo breaks:
    The gradient of an intermediate does not exist as a tensor of its own once the backward pass is compiled.
Example:
    h = self.encoder(x)
    h.retain_grad()
    return self.head(h)
Instead:
    h = self.encoder(x)
    return self.head(h), h
Fix:
    Return the intermediate and ask for its gradient outside with `torch.autograd.grad`, or use a tensor hook.
Torch versions:
    Every release.
Limits:
    None known.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta, as_tensor, tensor_certainty


class RetainGrad(Rule):
    """Calls of retain_grad."""

    meta = RuleMeta(
        code="GB0108",
        slug="retain-grad",
        summary="`Tensor.retain_grad()` in a compiled region",
        category="fundamental",
        advice="Return the intermediate and take its gradient outside.",
        by_hand="the intermediate would have to be returned, by all functions on the way out",
    )
    calls = ("torch.Tensor.retain_grad",)
    BREAKS = (
        """
import torch
from torch import nn

class Probe(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(3, 3)

    def forward(self, x):
        h = self.encoder(x)
        h.retain_grad()  # GB0108
        return h.relu()

torch.compile(Probe())(torch.rand(2, 3))
""",
    )
    CLEAN = (
        """
import torch
from torch import nn

class Probe(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(3, 3)

    def forward(self, x):
        h = self.encoder(x)
        h.register_hook(lambda grad: grad * 2)
        return h.relu(), h, h.requires_grad, h.detach()

torch.compile(Probe())(torch.rand(2, 3))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        certainty = tensor_certainty(event.receiver)
        if not certainty:
            return None
        message = f"`{context.text(event.node)}` keeps a gradient that a compiled graph does not hold on to"
        return Break(message, max(certainty, 0.9), about=as_tensor(event.receiver))
