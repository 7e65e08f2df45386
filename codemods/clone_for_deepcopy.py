"""Deep copies of tensors by cloning them.

What it does:
    Writes `copy.deepcopy(x)` of a tensor as `x.detach().clone()`, and of a list, tuple or dict of tensors as a
    comprehension that does so for each element.
Applicability:
    Unsafe: a deep copy keeps `requires_grad`, attributes and sharing between elements, a clone does not.
Preconditions:
    What is copied is a tensor, or a plain list, tuple or dict whose elements are all tensors.
Instead:
    Copy before the compiled region is entered.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Declined,
    Example,
    Mapping,
    Repair,
    Sequence,
    Site,
    Tensor,
    Value,
    members,
    refuse,
    require,
)


class CloneForDeepcopy(Codemod):
    """Replaces deep copies of tensors."""

    meta = CodemodMeta(
        name="clone-for-deepcopy",
        summary="clone tensors instead of copying them deeply",
        fixes=("deepcopy-of-tensor",),
        rank=30,
    )
    EXAMPLES = (
        Example(
            """
import copy
import torch

@torch.compile
def snapshot(state, x):
    saved = copy.deepcopy(state)
    first = copy.deepcopy(x)
    x.add_(1)
    return {k: v + first for k, v in saved.items()}

print("checksum", snapshot({"w": torch.ones(2)}, torch.ones(2))["w"].sum().item())
""",
            """
import torch

@torch.compile
def snapshot(state, x):
    saved = {k: v.detach().clone() for k, v in state.items()}
    first = x.detach().clone()
    x.add_(1)
    return {k: v + first for k, v in saved.items()}

print("checksum", snapshot({"w": torch.ones(2)}, torch.ones(2))["w"].sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import copy
import torch

net = torch.nn.Linear(2, 2)

@torch.compile
def f(x):
    fast = copy.deepcopy(net)
    return fast(x)

f(torch.ones(2))
""",
            "is no tensor and no plain container of tensors",
        ),
        Declined(
            """
import copy
import torch

@torch.compile
def f(batch):
    saved = copy.deepcopy(batch)
    return saved["x"] * saved["n"]

f({"x": torch.ones(2), "n": [1]})
""",
            "holds more than tensors",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        node = site.node
        if not isinstance(node, cst.Call) or site.callee(node) != "copy.deepcopy" or len(node.args) != 1:
            return None
        copied = node.args[0].value
        text = self._clone(site, copied)
        return Repair(
            "unsafe", "clone the tensors; the copies do not require gradients", [site.replace(node, text)]
        )

    def _clone(self, site: Site, copied: cst.BaseExpression) -> str:
        base = site.operand(copied)
        if site.tensor(copied) is not None:
            return f"{base}.detach().clone()"
        value = site.value(copied)
        if isinstance(value, Mapping) and value.kind == "dict":
            parts = [*value.items.values(), *([value.elem] if value.elem is not None else [])]
            require(parts and all(map(_is_tensor, parts)), f"`{site.text(copied)}` holds more than tensors")
            return f"{{k: v.detach().clone() for k, v in {base}.items()}}"
        if isinstance(value, Sequence) and value.kind in ("list", "tuple"):
            require(_is_tensor(value.element()), f"`{site.text(copied)}` holds more than tensors")
            made = f"[v.detach().clone() for v in {site.flat(copied)}]"
            return made if value.kind == "list" else f"tuple({made[1:-1]})"
        refuse(f"`{site.text(copied)}` is no tensor and no plain container of tensors")


def _is_tensor(value: Value) -> bool:
    return all(isinstance(m, Tensor) for m in members(value))
