"""`dtype`, `flags` or `base` of a NumPy array.

What breaks:
    Reading `a.dtype`, `a.flags` or `a.base` where `a` is a NumPy array, also through `getattr`.
Why Dynamo breaks:
    An array is traced as a tensor, and these attributes have no counterpart there.
Example:
    if array.dtype == np.float32:
        array = array.astype(np.float64)
Instead:
    if x.dtype == torch.float32:
        array = x.double().numpy()
Fix:
    Ask the tensor the array came from, or do the NumPy part outside the compiled region.
Torch versions:
    Every release.
Limits:
    `shape`, `ndim`, `size`, `T`, `itemsize`, `strides` and most methods are fine.
"""

from __future__ import annotations

from gblint.rule_api import Break, Context, GetAttr, Rule, RuleMeta, as_tensor, tensor_certainty

UNTRACED = ("dtype", "flags", "base")


class NdarrayAttribute(Rule):
    """Attributes of arrays that Dynamo does not model."""

    meta = RuleMeta(
        code="GB0157",
        slug="ndarray-attribute",
        summary="an attribute of a NumPy array that Dynamo does not trace",
        category="supportable",
        advice="Ask the tensor for its dtype, or do the NumPy part outside the compiled region.",
        by_hand="a tensor has nothing equal to the attribute",
    )
    BREAKS = (
        """
import numpy as np
import torch

@torch.compile
def widened(x: torch.Tensor):
    array = (x * 2).numpy()
    if array.dtype == np.float32:  # GB0157
        array = array + 1
    return torch.from_numpy(array)

widened(torch.rand(3))
""",
    )
    CLEAN = (
        """
import numpy as np
import torch

@torch.compile
def widened(x: torch.Tensor):
    array = x.numpy().astype(np.float64)
    if x.dtype == torch.float32 and array.ndim == 1 and array.shape[0] == array.size:
        array = array.T.copy()
    return torch.from_numpy(array)

widened(torch.rand(3))
""",
    )

    def on_getattr(self, event: GetAttr, context: Context) -> Break | None:
        array = as_tensor(event.receiver)
        if event.name not in UNTRACED or array is None or array.subclass != "ndarray":
            return None
        # A parameter that may be an array is mostly a tensor in compiled code.
        certainty = tensor_certainty(event.receiver) * (1.0 if array.role == "result" else 0.4)
        message = f"`{context.text(event.node)}` reads an attribute of a NumPy array that Dynamo does not trace"
        return Break(message, certainty, about=array, fatal=True)
