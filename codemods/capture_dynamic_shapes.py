"""Shapes that depend on contents become symbols: `torch._dynamo.config.capture_dynamic_output_shape_ops = True`.

What it does:
    Switches on the setting under which Dynamo keeps `x[mask]`, `nonzero`, `torch.where(cond)`, `unique`, `bincount`,
    `masked_select` and `repeat_interleave` in the graph, their results with symbolic sizes, in a line behind the
    imports.
Applicability:
    Unsafe: the setting holds for the whole process, and not every backend compiles symbolic sizes well.
Preconditions:
    The operation has a shape function in torch, nothing branches on the number of elements found, and nothing loops
    over them or turns them into a list.
Instead:
    Keep the shape: `torch.where`, `masked_fill`, arithmetic with the mask, or the form that takes an output size.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Declined,
    Example,
    Refusal,
    Repair,
    Site,
    decides,
    depends,
    only,
    reads,
    refuse,
    require,
    walk,
)

SETTING = "torch._dynamo.config.capture_dynamic_output_shape_ops"
WITHOUT_SHAPE = frozenset({"lstsq", "ctc_loss", "__call__", "combinations"})
LOOPS = frozenset(
    {"list", "tuple", "zip", "enumerate", "map", "filter", "sorted", "reversed", "set", "sum", "max", "min"}
)


class CaptureDynamicShapes(Codemod):
    """Offers the setting for results whose size nothing decides on."""

    meta = CodemodMeta(
        name="capture-dynamic-shapes",
        summary="keep results of unknown size in the graph (capture_dynamic_output_shape_ops)",
        fixes=("boolean-mask-read", "shape-from-contents"),
        rank=90,
    )
    EXAMPLES = (
        Example(
            """
import torch


@torch.compile
def positions(ids):
    rows = torch.where(ids == 2)[0]
    return rows * 2


print("checksum", positions(torch.tensor([2, 0, 2])).sum().item())
""",
            """
import torch

torch._dynamo.config.capture_dynamic_output_shape_ops = True


@torch.compile
def positions(ids):
    rows = torch.where(ids == 2)[0]
    return rows * 2


print("checksum", positions(torch.tensor([2, 0, 2])).sum().item())
""",
            "unsafe",
        ),
        Example(
            """
import torch

@torch.compile
def kept(x, mask):
    chosen = x[mask]
    return chosen / chosen.shape[0]

print("checksum", kept(torch.ones(3), torch.tensor([True, False, True])).sum().item())
""",
            """
import torch

torch._dynamo.config.capture_dynamic_output_shape_ops = True

@torch.compile
def kept(x, mask):
    chosen = x[mask]
    return chosen / chosen.shape[0]

print("checksum", kept(torch.ones(3), torch.tensor([True, False, True])).sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def fit(a, b):
    return torch.linalg.lstsq(a, b).solution * 2

fit(torch.randn(4, 2), torch.randn(4, 1))
""",
            "`lstsq` has no shape function",
        ),
        Declined(
            """
import torch

@torch.compile
def kept(x, mask):
    chosen = x[mask]
    if chosen.numel() > 0:
        x = x * 2
    return x

kept(torch.ones(3), torch.tensor([True, False, True]))
""",
            "`chosen.numel() > 0` decides what runs",
        ),
        Declined(
            """
import torch

@torch.compile
def per_class(x, labels):
    for c in torch.unique(labels):
        x = x + c
    return x

per_class(torch.ones(3), torch.tensor([1, 0, 1]))
""",
            "loops over the elements",
        ),
        Declined(
            """
import torch

@torch.compile
def per_class(x, labels):
    return x, [c * 2 for c in labels.unique()]

per_class(torch.ones(3), torch.tensor([1, 0, 1]))
""",
            "loops over the elements",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        node = site.node
        last = site.callee(node).rpartition(".")[2]
        require(last not in WITHOUT_SHAPE, f"`{last}` has no shape function for elements it does not know")
        test = decides(site, node)
        require(test is None, f"`{site.text(test)}` decides what runs" if test is not None else "")
        if isinstance(node, cst.BaseExpression):
            _require_no_loop(site, node)
        torch, imports = site.refer("torch", outside=True)
        setting = SETTING.replace("torch", torch, 1)
        return Repair(
            "unsafe",
            "keep results of unknown size in the graph; the setting holds for the whole process",
            [site.at_module_level(f"{setting} = True\n"), *imports],
        )


def _require_no_loop(site: Site, node: cst.BaseExpression) -> None:
    """Refuses where the rows of the result are taken one by one, or made Python values."""
    try:
        places = reads(site, node)
    except Refusal:
        places = [node]
    for part in only(walk(site.function.body), cst.For, cst.CompFor, cst.Call):
        taken = _taken_apart(site, part)
        if taken is not None and any(depends(taken, place, ()) and _is_whole(site, taken, place) for place in places):
            refuse(f"`{site.text(taken)}` loops over the elements found")


def _taken_apart(site: Site, part: cst.CSTNode) -> cst.BaseExpression | None:
    if isinstance(part, cst.For | cst.CompFor):
        return part.iter
    if isinstance(part, cst.Call) and isinstance(part.func, cst.Attribute) and part.func.attr.value == "tolist":
        return part.func.value
    if isinstance(part, cst.Call) and site.callee(part).removeprefix("builtins.") in LOOPS and part.args:
        return part.args[0].value
    return None


def _is_whole(site: Site, taken: cst.BaseExpression, place: cst.CSTNode) -> bool:
    """Whether the result reaches the loop as it is: through names, attributes and subscripts only."""
    above: cst.CSTNode | None = place
    while above is not None and above is not taken:
        above = site.parent(above)
        if not isinstance(above, cst.Attribute | cst.Subscript | cst.Call | cst.Arg) and above is not taken:
            return False
    return True
