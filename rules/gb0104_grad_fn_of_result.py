"""`grad_fn` of a tensor computed in the region.

What breaks:
    Reading `t.grad_fn` where `t` was computed in the region from something that requires grad.
Why Dynamo breaks:
    While tracing, tensors have no autograd graph; the node would exist only when the graph runs.
Example:
    loss = self.head(x).sum()
    if loss.grad_fn is not None:
        x = x + 1
Instead:
    loss = self.head(x).sum()
    if loss.requires_grad:
        x = x + 1
Fix:
    Ask `requires_grad`, or look at the autograd graph outside the compiled region.
Torch versions:
    Every release.
Limits:
    Inputs and parameters have no `grad_fn` to trace and are fine, and so are results that need no gradient, which
    cannot always be told apart.
"""

from __future__ import annotations

from gblint.rule_api import Break, Context, GetAttr, Rule, RuleMeta, as_tensor, tensor_certainty


class GradFnOfResult(Rule):
    """Reads of grad_fn."""

    meta = RuleMeta(
        code="GB0104",
        slug="grad-fn-of-result",
        summary="`grad_fn` of a tensor computed in the region",
        category="fundamental",
        advice="Ask requires_grad, or inspect the autograd graph outside the compiled region.",
        by_hand="only code that runs eagerly can look at the autograd graph",
        confidence=0.7,
    )
    BREAKS = (
        """
import torch
from torch import nn

class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        y = self.linear(x)
        if y.grad_fn is not None:  # GB0104
            y = y * 2
        return y

torch.compile(Head())(torch.rand(2, 3))
""",
    )
    CLEAN = (
        """
import torch
from torch import nn

class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        if x.grad_fn is None and self.linear.weight.grad_fn is None:
            x = x + 1
        y = self.linear(x)
        return y * 2 if y.requires_grad and not y.is_leaf else y

torch.compile(Head())(torch.rand(2, 3))
""",
    )

    def on_getattr(self, event: GetAttr, context: Context) -> Break | None:
        tensor = as_tensor(event.receiver)
        if event.name != "grad_fn" or tensor is None or tensor.role != "result":
            return None
        message = f"`{context.text(event.node)}` reads the autograd graph of a tensor that is still being traced"
        return Break(message, tensor_certainty(event.receiver), about=tensor, fatal=True)
