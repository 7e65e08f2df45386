"""A tensor that is made inside the region is made without `requires_grad=True`.

What it does:
    Drops the flag from `torch.tensor(0.0, requires_grad=True)` and the other factories, where the tensor only starts a
    sum or takes part in other arithmetic. The result gets its gradient from what it is computed with.
Applicability:
    Unsafe: a result that is computed of nothing else no longer requires a gradient.
Preconditions:
    Nothing asks for the gradient of the tensor itself (`.grad`, `.backward()`, hooks, `torch.autograd.grad`), and it is
    not handed out before it is part of something else.
Instead:
    Make the tensor outside of the compiled function and pass it in.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import Codemod, CodemodMeta, Declined, Edit, Example, Repair, Site, refuse, require

OF_LEAVES = frozenset(
    {
        "grad", "backward", "requires_grad", "requires_grad_", "is_leaf", "grad_fn", "retain_grad", "retains_grad",
        "register_hook", "register_post_accumulate_grad_hook",
    }
)  # fmt: skip
ASKING = ("torch.autograd.", "torch.func.", "torch.nn.Parameter", "torch.nn.parameter.")


class FactoryWithoutGrad(Codemod):
    """Drops requires_grad=True from factories."""

    meta = CodemodMeta(
        name="factory-without-grad",
        summary="make a tensor without requires_grad=True",
        fixes=("factory-requires-grad",),
        rank=30,
    )
    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
def total(parts, scale: torch.Tensor):
    loss = torch.tensor(0.0, device=scale.device, requires_grad=True)
    for part in parts:
        loss = loss + part.sum()
    return loss * scale + torch.zeros_like(
        scale,
        requires_grad=True,
    )

weight = torch.ones(2, requires_grad=True)
loss = total([weight, weight * 2], torch.tensor(3.0))
loss.backward()
print("checksum", loss.item(), weight.grad.sum().item())
""",
            """
import torch

@torch.compile
def total(parts, scale: torch.Tensor):
    loss = torch.tensor(0.0, device=scale.device)
    for part in parts:
        loss = loss + part.sum()
    return loss * scale + torch.zeros_like(
        scale,
    )

weight = torch.ones(2, requires_grad=True)
loss = total([weight, weight * 2], torch.tensor(3.0))
loss.backward()
print("checksum", loss.item(), weight.grad.sum().item())
""",
            "unsafe",
        ),
        Example(
            """
import torch

@torch.compile
def f(x: torch.Tensor):
    bias: torch.Tensor = torch.zeros(requires_grad=True, size=(2,))
    scale = torch.ones_like(x, requires_grad=True)
    scale = scale * 2
    y = torch.mul(bias + x, scale)
    y[0] = (-bias)[0] + scale[0] * len(scale.shape)
    return y.detach()

print("checksum", f(torch.ones(2)).sum().item())
""",
            """
import torch

@torch.compile
def f(x: torch.Tensor):
    bias: torch.Tensor = torch.zeros(size=(2,))
    scale = torch.ones_like(x)
    scale = scale * 2
    y = torch.mul(bias + x, scale)
    y[0] = (-bias)[0] + scale[0] * len(scale.shape)
    return y.detach()

print("checksum", f(torch.ones(2)).sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def slope(x: torch.Tensor):
    step = torch.zeros(2, requires_grad=True)
    return torch.autograd.grad(((x + step) ** 2).sum(), step)[0]

slope(torch.ones(2))
""",
            "`torch.autograd.grad` may ask for the gradient of `step`",
        ),
        Declined(
            """
import torch

@torch.compile
def start(x: torch.Tensor):
    weight = torch.zeros_like(x, requires_grad=True)
    return x.sin(), weight

start(torch.ones(2))
""",
            "`weight` is handed out as it is made",
        ),
        Declined(
            """
import torch

@torch.compile
def start(x: torch.Tensor):
    weight = torch.ones_like(x, requires_grad=True)
    (weight * x).sum().backward()
    return weight.grad

start(torch.ones(2))
""",
            "`weight.grad` is of the tensor that is made",
        ),
        Declined(
            """
import torch

def ask(weight):
    return weight.grad

@torch.compile
def given(x: torch.Tensor):
    weight: torch.Tensor = torch.ones_like(x, requires_grad=True)
    return x * 2, weight

@torch.compile
def asked(x: torch.Tensor):
    weight = torch.ones_like(x, requires_grad=True)
    return x * 2, ask(weight)

@torch.compile
def at_once(x: torch.Tensor):
    return x * 2, torch.ones_like(x, requires_grad=True)

for f in (given, asked, at_once):
    f(torch.ones(2))
""",
            "is handed out as it is made",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        node = site.node
        if not isinstance(node, cst.Call):
            return None
        place = next((i for i, a in enumerate(node.args) if a.keyword and a.keyword.value == "requires_grad"), None)
        require(place is not None, "`requires_grad` is not given by name")
        assert place is not None
        name = _variable(site, node)
        if name is None:
            _check(site, node, site.text(node), joined=False)
        else:
            for load in site.loads(name):
                _check(site, load, name, joined=_bound_between(site, name, node, load))
        message = "make the tensor without requires_grad; what is computed of it alone then requires no gradient"
        return Repair("unsafe", message, [_without(site, node, place)])


def _variable(site: Site, node: cst.Call) -> str | None:
    """The variable that a call is bound to; None where it is part of something else."""
    above = site.parent(node)
    if isinstance(above, cst.Assign) and len(above.targets) == 1 and isinstance(above.targets[0].target, cst.Name):
        return above.targets[0].target.value
    if isinstance(above, cst.AnnAssign) and isinstance(above.target, cst.Name):
        return above.target.value
    return None


def _bound_between(site: Site, name: str, node: cst.Call, load: cst.Name) -> bool:
    """Whether a variable is bound anew, in the text, between a call and a read."""
    return any(site.span(node)[2] < site.span(s)[0] <= site.span(load)[0] for s in site.stores(name))


def _check(site: Site, node: cst.BaseExpression, name: str, joined: bool) -> None:
    """Raises Refusal where a place that reads the tensor may see that it is a leaf. joined: something else may have
    become part of the value by then."""
    above = site.parent(node)
    if isinstance(above, cst.Attribute) and above.value is node:
        if above.attr.value in OF_LEAVES:
            refuse(f"`{site.text(above)}` is of the tensor that is made")
        return
    if isinstance(above, cst.BinaryOperation | cst.UnaryOperation | cst.Comparison | cst.ComparisonTarget):
        return
    if isinstance(above, cst.Subscript | cst.AugAssign):
        return
    call = site.parent(above) if isinstance(above, cst.Arg) else None
    if isinstance(call, cst.Call):
        callee = site.callee(call)
        asks = callee.startswith(ASKING) or not (callee.startswith("torch.") or joined)
        require(not asks, f"`{site.text(call.func)}` may ask for the gradient of `{name}`")
        return
    require(joined, f"`{name}` is handed out as it is made")


def _without(site: Site, node: cst.Call, place: int) -> Edit:
    """The edit that takes out an argument with the comma next to it."""
    if place:
        first, last = site.span(node.args[place - 1])[2:], site.span(node.args[place])[2:]
    else:
        require(len(node.args) > 1, "the call has no other argument")
        first, last = site.span(node.args[0])[:2], site.span(node.args[1])[:2]
    return Edit(site.module.path, *first, *last, "")
