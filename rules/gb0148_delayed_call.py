"""A call that Dynamo has decided never to trace: `Tensor.set_`, `resize_` of an argument, a disabled module.

What breaks:
    `tensor.set_(…)`, `tensor.resize_(…)` of a tensor that comes from outside, and a call of a module object
    wrapped by `torch.compiler.disable(module)`.
Why Dynamo breaks:
    Swapping the storage of a tensor would invalidate what is known of its shape and aliases. A disabled module is
    to be kept out of graphs.
Example:
    buffer.set_(new)
Instead:
    buffer = new
Fix:
    Bind a new tensor or use `copy_`; wrap methods rather than modules, or call the disabled module outside.
Torch versions:
    Every release.
Limits:
    `resize_` of a tensor made in the region is GB0126. `tensor.data = …` does not break. Disabled functions are
    GB0098, disabled methods GB0099.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta, as_tensor, tensor_certainty

OUTSIDE = ("input", "parameter", "buffer")


class DelayedCall(Rule):
    """Storage swaps and disabled modules."""

    meta = RuleMeta(
        code="GB0148",
        slug="delayed-call",
        summary="a call that Dynamo never traces (`set_`, `resize_`, a disabled module)",
        category="supportable",
        advice="Bind a new tensor or use copy_; call the disabled module outside.",
    )
    measured = True
    calls = ("torch.Tensor.set_", "torch.Tensor.resize_", "mark:disable_module")
    BREAKS = (
        """
import torch

@torch.compile
def swap(buffer: torch.Tensor, new: torch.Tensor):
    buffer.set_(new)  # GB0148
    return buffer * 2

@torch.compile
def grow(buffer: torch.Tensor):
    buffer.resize_(4)  # GB0148
    return buffer * 2

swap(torch.ones(2), torch.zeros(2))
grow(torch.ones(2))
""",
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.debug = torch.compiler.disable(nn.Linear(2, 2))

    def forward(self, x):
        return self.debug(x * 2) + 1  # GB0148

torch.compile(Net())(torch.ones(1, 2))
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def swap(buffer: torch.Tensor, new: torch.Tensor):
    buffer.copy_(new)
    buffer.data = new
    return buffer.view(1, 2).reshape(2) + 1

swap(torch.ones(2), torch.zeros(2))
""",
        """
import torch

class Table:
    def set_(self, value):
        self.value = value

    def resize_(self, n):
        return n

@torch.compile
def step(x, table: Table):
    table.set_(2)
    return x * table.resize_(3) * table.value

step(torch.ones(2), Table())
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        text = context.text(event.node)
        if event.callee == "mark:disable_module":
            return Break(f"`{text}` calls a module wrapped by `torch.compiler.disable`")
        tensor = as_tensor(event.receiver)
        if tensor is None or (event.callee.endswith("resize_") and tensor.role not in OUTSIDE):
            return None
        certainty = tensor_certainty(event.receiver)
        return Break(f"`{text}` swaps the storage of a tensor, which Dynamo never traces", certainty, about=tensor)
