"""Shallow copies of lists, dicts and sets by their own method.

What it does:
    Writes `copy.copy(items)` as `items.copy()`. `copy.copy` ends in a C function that Dynamo skips; the method of the
    container is traced, and makes the same new container with the same elements.
Applicability:
    Safe: the value is known to be a builtin list, dict, set or deque on every traced run.
Preconditions:
    What is copied is one of these containers and nothing else.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import Codemod, CodemodMeta, Declined, Example, Mapping, Repair, Sequence, Site, require

_KINDS = ("list", "dict", "set", "deque")


class CopyByMethod(Codemod):
    """Replaces copy.copy of containers."""

    meta = CodemodMeta(
        name="copy-by-method",
        summary="items.copy() instead of copy.copy(items)",
        fixes=("shallow-copy",),
        rank=10,
    )
    EXAMPLES = (
        Example(
            """
import copy
import torch

@torch.compile
def with_flip(batch):
    other = copy.copy(batch)
    other["image"] = batch["image"].flip(-1)
    return other["image"] + batch["image"] * batch["weight"]

batch = {"image": torch.arange(4.0), "weight": torch.ones(1)}
print("checksum", with_flip(batch).sum().item(), batch["image"][0].item())
""",
            """
import torch

@torch.compile
def with_flip(batch):
    other = batch.copy()
    other["image"] = batch["image"].flip(-1)
    return other["image"] + batch["image"] * batch["weight"]

batch = {"image": torch.arange(4.0), "weight": torch.ones(1)}
print("checksum", with_flip(batch).sum().item(), batch["image"][0].item())
""",
        ),
    )
    DECLINES = (
        Declined(
            """
import copy
import os
import torch

@torch.compile
def twice(x):
    held = [x] if os.environ.get("GBLINT_EXAMPLE") else x
    return copy.copy(held)[0] + x

twice(torch.ones(2))
""",
            "is not surely a list, dict, set or deque",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        node = site.node
        if not isinstance(node, cst.Call) or site.callee(node) != "copy.copy" or len(node.args) != 1:
            return None
        copied = node.args[0].value
        value = site.value(copied)
        known = isinstance(value, Sequence | Mapping) and value.kind in _KINDS
        require(known, f"`{site.text(copied)}` is not surely a list, dict, set or deque")
        text = f"{site.operand(copied)}.copy()"
        return Repair("safe", "copy with the container's own method", [site.replace(node, text)])
