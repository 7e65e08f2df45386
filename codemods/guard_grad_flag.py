"""A flag of an intermediate result that compiled code can do without.

What it does:
    Puts `t.requires_grad = True` (or `t.requires_grad_()` as a statement) under a test for
    `not torch.compiler.is_compiling()`. Inside an expression, `t.requires_grad_()` of a tensor just made becomes the
    tensor.
Applicability:
    Unsafe: gradients with respect to that very tensor are not kept then. Those of parameters and inputs are what they
    were.
Preconditions:
    The tensor is a local variable or a value made on the spot, no parameter, buffer or input; nothing in the function
    asks for gradients (`backward`, `autograd.grad`, `.grad`, `retain_grad`).
Instead:
    Set the flag on the input before the compiled call.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Declined,
    Example,
    Repair,
    Site,
    Tensor,
    guarded,
    is_guarded,
    members,
    refuse,
    require,
    walk,
)

ASKS = frozenset({"grad", "backward", "retain_grad", "register_hook", "is_leaf"})
LOST = "compiled code keeps no gradient of this tensor itself"


class GuardGradFlag(Codemod):
    """Sets requires_grad of intermediate results only when not compiling."""

    meta = CodemodMeta(
        name="guard-grad-flag",
        summary="set requires_grad of a result only when not compiling",
        fixes=("requires-grad-assignment", "requires-grad-method", "requires-grad-on-result"),
        rank=45,
    )
    EXAMPLES = (
        Example(
            """
import torch
from torch import nn

class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Linear(3, 3)
        self.checkpointed = True

    def forward(self, x):
        h = x[:, None]
        if self.checkpointed and self.training:
            h.requires_grad = True
        return self.conv(h)

torch.manual_seed(0)
model = Features()
y = torch.compile(model)(torch.ones(2, 3)).sum()
y.backward()
print("checksum", y.item(), model.conv.weight.grad.sum().item())
""",
            """
import torch
from torch import nn

class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Linear(3, 3)
        self.checkpointed = True

    def forward(self, x):
        h = x[:, None]
        if self.checkpointed and self.training and not torch.compiler.is_compiling():
            h.requires_grad = True
        return self.conv(h)

torch.manual_seed(0)
model = Features()
y = torch.compile(model)(torch.ones(2, 3)).sum()
y.backward()
print("checksum", y.item(), model.conv.weight.grad.sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def f(x):
    h = x * 2
    h.requires_grad = True
    y = h.sin().sum()
    return torch.autograd.grad(y, h)[0]

f(torch.ones(2))
""",
            "the function asks for gradients",
        ),
        Declined(
            """
import torch
from torch import nn

class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        self.linear.weight.requires_grad = False
        return self.linear(x)

torch.compile(Frozen())(torch.ones(2, 3))
""",
            "`self.linear.weight` is no local variable",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        if is_guarded(site, site.node):
            return None
        statement = self._setting(site)
        if statement is None:
            return self._in_expression(site)
        self._check_readers(site)
        message = f"set the flag only when not compiling; {LOST}"
        return Repair("unsafe", message, guarded(site, [site.statement(statement)]))

    def _setting(self, site: Site) -> cst.BaseSmallStatement | None:
        """The statement that does nothing but set the flag of a local variable."""
        node = site.node
        line = site.statement(node)
        if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
            return None
        (small,) = line.body
        if (
            isinstance(small, cst.Assign)
            and len(small.targets) == 1
            and isinstance(small.targets[0].target, cst.Attribute)
        ):
            owner: cst.BaseExpression = small.targets[0].target.value
        elif (
            isinstance(small, cst.Expr)
            and isinstance(small.value, cst.Call)
            and isinstance(small.value.func, cst.Attribute)
        ):
            owner = small.value.func.value
        else:
            return None
        require(isinstance(owner, cst.Name), f"`{site.flat(owner)}` is no local variable")
        self._check_owner(site, owner)
        return small

    def _in_expression(self, site: Site) -> Repair | None:
        node = site.node
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
            return None
        if node.func.attr.value != "requires_grad_" or node.args:
            return None
        made = node.func.value
        require(isinstance(made, cst.Call), f"`{site.flat(made)}` is not made on the spot")
        self._check_owner(site, made)
        self._check_readers(site)
        return Repair("unsafe", f"leave the flag out; no gradient of `{site.flat(made)}` itself is kept", [
            site.replace(node, site.text(made)),
        ])  # fmt: skip

    def _check_owner(self, site: Site, owner: cst.BaseExpression) -> None:
        value = site.value(owner)
        for part in members(value) if value is not None else ():
            if isinstance(part, Tensor) and part.role in ("parameter", "buffer", "input"):
                refuse(f"`{site.flat(owner)}` is a {part.role}")

    def _check_readers(self, site: Site) -> None:
        names = {n.attr.value for n in walk(site.function) if isinstance(n, cst.Attribute)}
        require(not names & ASKS, "the function asks for gradients")
