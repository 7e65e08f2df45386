"""`one_hot` without the number of classes.

What breaks:
    `torch.nn.functional.one_hot(ids)` and `one_hot(ids, -1)`.
Why Dynamo breaks:
    The width of the result would be the largest id plus one, which is not known while tracing.
Example:
    encoded = F.one_hot(ids)
Instead:
    encoded = F.one_hot(ids, num_classes=self.num_classes)
Fix:
    Pass `num_classes` as a Python number.
Torch versions:
    Since 2.9; before, GB0036.
Limits:
    `num_classes=-1` by keyword breaks as GB0033; a number computed from a tensor (`int(ids.max()) + 1`) as GB0124.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Const, Context, Rule, RuleMeta


class OneHotWithoutClasses(Rule):
    """one_hot with an unknown width."""

    meta = RuleMeta(
        code="GB0246",
        slug="one-hot-without-classes",
        summary="`one_hot` without `num_classes`",
        category="user-error",
        advice="Pass num_classes as a Python number.",
        torch=">=2.9",
        confidence=0.97,
    )
    calls = ("torch.nn.functional.one_hot",)
    BREAKS = (
        """
import torch
import torch.nn.functional as F
from torch.nn.functional import one_hot

@torch.compile
def encode(ids):
    y = one_hot(ids)  # GB0246
    n = -1
    return y + F.one_hot(ids, n)  # GB0246

encode(torch.tensor([0, 2]))
""",
    )
    CLEAN = (
        """
import torch
import torch.nn.functional as F

@torch.compile
def encode(ids: torch.Tensor, n: int):
    return F.one_hot(ids, 4), F.one_hot(ids, num_classes=n), F.one_hot(ids, ids.shape[0] + 3)

encode(torch.tensor([0, 2]), 5)
""",
        """
import torch

def one_hot(ids):
    return (ids[:, None] == torch.arange(4)).float()

@torch.compile
def encode(ids: torch.Tensor):
    return one_hot(ids)

encode(torch.tensor([0, 2]))
""",
        """
import torch
import torch.nn.functional as F

@torch.compile
def spread(ids: torch.Tensor, sizes: list):
    return F.one_hot(ids, *sizes)

spread(torch.tensor([0, 2]), [4])
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        if event.opaque_args or "num_classes" in event.kwargs:
            return None
        classes = event.argument(1, "num_classes")
        if classes is not None and not (isinstance(classes, Const) and classes.value == -1):
            return None
        return Break(f"the width of `{context.text(event.node)}` depends on the largest id")
