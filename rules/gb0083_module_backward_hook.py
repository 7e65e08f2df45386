"""A module with a backward hook is called inside a compiled region.

What breaks:
    The call of a module on which `register_full_backward_hook` or `register_full_backward_pre_hook` was called before,
    when it is a part of what is compiled (a submodule, or a module called by a compiled function).
Why Dynamo breaks:
    The hook runs in the backward pass, outside of the forward graph. Dynamo supports it only with compiled autograd.
Example:
    self.layer.register_full_backward_hook(record)
Instead:
    self.layer.weight.register_hook(record)
Fix:
    Hook the parameters or tensors (`tensor.register_hook`) outside, remove the hook, or set
    `torch._dynamo.config.compiled_autograd = True`.
Torch versions:
    Every release.
Limits:
    A hook on the compiled module itself does not break; forward hooks do not break.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta


class ModuleBackwardHook(Rule):
    """Calls of modules that carry a backward hook."""

    meta = RuleMeta(
        code="GB0083",
        slug="module-backward-hook",
        summary="a module with a backward hook is called in a compiled region",
        category="supportable",
        advice="Hook the parameters with tensor.register_hook, or switch compiled autograd on.",
        by_hand="a hook of a tensor is handed other gradients than that of a module",
    )
    calls = ("mark:backward_hook",)
    BREAKS = (
        """
import torch
from torch import nn

def record(module, grad_input, grad_output):
    return None

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.first.register_full_backward_hook(record)

    def forward(self, x):
        return self.first(x) + 1  # GB0083

torch.compile(Net())(torch.ones(1, 2))
""",
    )
    CLEAN = (
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.first.weight.register_hook(lambda grad: grad)
        self.first.register_forward_hook(lambda module, args, output: None)

    def forward(self, x):
        return self.first(x) + 1

torch.compile(Net())(torch.ones(1, 2))
""",
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.register_full_backward_hook(self.record)

    def record(self, module, grad_input, grad_output):
        return None

    def forward(self, x):
        return self.first(x) + 1

torch.compile(Net())(torch.ones(1, 2))
""",
        """
import torch
from torch import nn

torch._dynamo.config.compiled_autograd = True
LAYER = nn.Linear(2, 2)
LAYER.register_full_backward_hook(lambda module, before, after: None)

@torch.compile
def hooked(x: torch.Tensor):
    return LAYER(x) * 2

hooked(torch.rand(2, 2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        if context.enabled("compiled_autograd"):
            return None
        return Break(f"`{context.text(event.node)}` calls a module that has a backward hook")
