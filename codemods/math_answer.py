"""`np.isfinite(n)` of a Python number is asked of `math`.

What it does:
    Writes `np.isnan(n)`, `np.isinf(n)` and `np.isfinite(n)` as the functions of `math` of the same names. NumPy's give
    an array, whose contents are not known while tracing; those of `math` give a bool at once.
Applicability:
    Safe.
Preconditions:
    What is asked about is a Python number, and the answer is only tested.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Const,
    Declined,
    Example,
    Plain,
    Repair,
    Site,
    Value,
    members,
    require,
    tested,
)

ANSWERS = ("numpy.isnan", "numpy.isinf", "numpy.isfinite")


class MathAnswer(Codemod):
    """Replaces questions of NumPy about numbers."""

    meta = CodemodMeta(
        name="math-answer",
        summary="math.isfinite(n) instead of np.isfinite(n) for a number",
        fixes=("branch-on-tensor",),
        rank=10,
    )
    EXAMPLES = (
        Example(
            """
import numpy as np
import torch

@torch.compile
def scaled(x: torch.Tensor, factor: float, steps: int):
    if factor < 0 or not np.isfinite(factor):
        raise ValueError(factor)
    return x if np.isnan(float(steps)) else x * factor

print("checksum", scaled(torch.ones(2), 2.0, 3).sum().item())
""",
            """
import math

import torch

@torch.compile
def scaled(x: torch.Tensor, factor: float, steps: int):
    if factor < 0 or not math.isfinite(factor):
        raise ValueError(factor)
    return x if math.isnan(float(steps)) else x * factor

print("checksum", scaled(torch.ones(2), 2.0, 3).sum().item())
""",
        ),
    )
    DECLINES = (
        Declined(
            """
import numpy as np
import torch

@torch.compile
def scaled(x: torch.Tensor):
    if np.isnan(x.numpy()).any() or np.isnan(x.numpy()[0]):
        return x
    return x * 2

scaled(torch.ones(2))
""",
            "`x.numpy()[0]` is not surely a Python number",
        ),
        Declined(
            """
import numpy as np
import torch

@torch.compile
def scaled(x: torch.Tensor, n: float):
    if np.isnan(n, casting="same_kind"):
        return x
    return x * 2

scaled(torch.ones(2), 1.0)
""",
            "more is given than a number",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        node = site.node
        name = site.callee(node)
        if not isinstance(node, cst.Call) or name not in ANSWERS:
            return None
        require(len(node.args) == 1 and not (node.args[0].keyword or node.args[0].star), "more is given than a number")
        asked = node.args[0].value
        require(_is_number(site.value(asked)), f"`{site.text(asked)}` is not surely a Python number")
        require(tested(site)[0] is not None, "the answer is not only tested")
        function, imports = site.refer(name.replace("numpy.", "math."))
        return Repair("safe", f"ask `{function}`", [site.replace(node.func, function), *imports])


def _is_number(value: Value | None) -> bool:
    if value is None:
        return False
    return all(
        type(m.value) in (int, float) if isinstance(m, Const) else isinstance(m, Plain) and m.type in ("int", "float")
        for m in members(value)
    )
