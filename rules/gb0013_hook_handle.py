"""The handle of a module hook is used inside a compiled region.

What breaks:
    Calling `handle.remove()`, or passing or storing the handle, where `handle` is what `register_forward_hook` and
    similar methods of a module returned.
Why Dynamo breaks:
    Registering the hook broke the graph, so that the handle is an object of eager code, which Dynamo does not know.
Example:
    handle = self.conv.register_forward_hook(save)
    y = self.conv(x)
    handle.remove()
Instead:
    y = self.conv(x)
    self.saved.append(y)
Fix:
    Register and remove hooks outside the compiled function, or return the intermediate value.
Torch versions:
    Every release.
Limits:
    Handles of `tensor.register_hook` on intermediate tensors do not break.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta


class HookHandle(Rule):
    """Uses of the handles of module hooks."""

    meta = RuleMeta(
        code="GB0013",
        slug="hook-handle",
        summary="the handle of a module hook is used in a compiled region",
        category="supportable",
        advice="Register and remove hooks outside the compiled function.",
        by_hand="when a hook is put on and taken off is up to the code that calls the region",
    )
    calls = ("torch.autograd.graph.RemovableHandle.remove",)
    BREAKS = (
        """
import torch
from torch import nn

class Saliency(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.saved = []

    def forward(self, x):
        y = x + 1
        handle = self.fc.register_forward_hook(lambda module, args, out: self.saved.append(out))  # GB0467
        y = self.fc(y)
        handle.remove()  # GB0013
        return y * 2

torch.compile(Saliency())(torch.ones(1, 2))
""",
    )
    CLEAN = (
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.handle = self.fc.register_forward_hook(lambda module, args, out: out * 2)

    def forward(self, x):
        return self.fc(x) + 1

net = Net()
torch.compile(net)(torch.ones(1, 2))
net.handle.remove()
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        return Break(f"`{context.text(event.node)}` uses the handle of a module hook, an object of eager code")
