"""Functions or types of NumPy compared with `==`.

What breaks:
    `dtype == np.float32` where `dtype` is a NumPy type such as `np.float32` itself (not an `np.dtype`), and `==` or
    `!=` between NumPy functions.
Why Dynamo breaks:
    Its model of objects of the numpy module has no comparison.
Example:
    if self.dtype == np.float32:
        ...
Instead:
    if self.dtype is np.float32:
        ...
Fix:
    Use `is`, membership in a tuple, or compare `np.dtype(...)` objects.
Torch versions:
    In 2.13 under this id; before, GB0290, and without an id in 2.9. Traced since 2.14.
Limits:
    Seen where both sides are known.
"""

from __future__ import annotations

from gblint.rule_api import Break, Context, External, Operator, Rule, RuleMeta, Value

CONSTANTS = ("numpy.pi", "numpy.e", "numpy.inf", "numpy.nan", "numpy.newaxis", "numpy.euler_gamma")


class NumpyObjectComparison(Rule):
    """== between objects of the numpy module."""

    meta = RuleMeta(
        code="GB9648",
        slug="numpy-object-comparison",
        summary="NumPy types or functions are compared with `==`",
        category="dynamo-bug",
        advice="Compare with `is`, or compare np.dtype objects.",
        by_hand="`is` does not hold for all that is equal",
        torch=">=2.13,<2.14",
        renamed=((">=2.10,<2.13", "GB0290"), ("<2.10", "")),
    )
    BREAKS = (
        """
import numpy as np
import torch

precision = np.float32

@torch.compile
def cast(x: torch.Tensor):
    x = x * 2
    if precision == np.float32:  # GB9648
        x = x + 1
    return x

cast(torch.rand(3))
""",
    )
    CLEAN = (
        """
import numpy as np
import torch

precision = np.float32

@torch.compile
def cast(x: torch.Tensor):
    if precision is np.float32 or precision in (np.float16, np.float64) or np.dtype("float32") == np.float32:
        x = x + np.pi
    return x.float() if x.dtype == torch.float64 else x

cast(torch.rand(3))
""",
    )

    def on_operator(self, event: Operator, context: Context) -> Break | None:
        both = event.operator in ("==", "!=") and event.right is not None
        if not both or not _is_numpy(event.left) or not _is_numpy(event.right):
            return None
        return Break(f"`{context.text(event.node)}` compares objects of NumPy, for which Dynamo has no comparison")


def _is_numpy(value: Value | None) -> bool:
    return isinstance(value, External) and value.dotted.startswith("numpy.") and value.dotted not in CONSTANTS
