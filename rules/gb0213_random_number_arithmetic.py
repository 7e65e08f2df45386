"""Python arithmetic on a number drawn by `random`.

What breaks:
    An operator between a number from `random.uniform` or `random.randint` and a Python number:
    `3 * random.uniform(0, 1)`, `-r`, `r + 1`, `10 ** r`.
Why Dynamo breaks:
    Such a number is traced as a 0-d tensor, so that each run draws anew, and Dynamo does not trace operators of Python
    numbers on it.
Example:
    ratio = 1.0 - random.uniform(0.1, 0.5)
Instead:
    ratio = random.uniform(0.5, 0.9)
Fix:
    Draw from the interval that is wanted, use it with tensors only, or draw outside the compiled region.
Torch versions:
    Every release; until 2.12 comparisons as well.
Limits:
    A product with a tensor is fine, comparisons are GB0170 where they decide a branch.
"""

from __future__ import annotations

from gblint.rule_api import Break, Context, Operator, Rule, RuleMeta, Tensor, Value, as_tensor, type_name

COMPARISONS = ("==", "!=", "<", ">", "<=", ">=")
NUMBERS = ("int", "float", "bool", "number")


class RandomNumberArithmetic(Rule):
    """Operators on traced random numbers."""

    meta = RuleMeta(
        code="GB0213",
        slug="random-number-arithmetic",
        summary="Python arithmetic on a number drawn by `random`",
        category="supportable",
        advice="Draw from the interval that is wanted, or draw outside the compiled region.",
        confidence=0.8,
    )
    BREAKS = (
        """
import random
import torch

@torch.compile
def masked(x: torch.Tensor):
    y = x * 2
    ratio = 1.0 - random.uniform(0.1, 0.5)  # GB0213
    return y * ratio

@torch.compile
def scaled(x: torch.Tensor):
    y = x * 2
    step = random.randint(1, 3) * 2  # GB0213
    return y * step

masked(torch.rand(3))
scaled(torch.rand(3))
""",
    )
    CLEAN = (
        """
import random
import torch

@torch.compile
def masked(x: torch.Tensor):
    ratio = random.uniform(0.5, 0.9)
    return x * ratio + random.randint(1, 3) + (x - random.uniform(0, 1)).abs() * (1.0 - x.shape[0] / 4)

masked(torch.rand(3))
""",
        """
import random
import torch

@torch.compile
def noisy(x: torch.Tensor):
    return x * random.uniform(0.0, 1.0) + x.shape[0] * 2

noisy(torch.rand(2))
""",
    )

    def on_operator(self, event: Operator, context: Context) -> Break | None:
        drawn = [t for v in (event.left, event.right) if v is not None and (t := _drawn(v)) is not None]
        others = [v for v in (event.left, event.right) if v is not None and _drawn(v) is None]
        compared = event.operator in COMPARISONS and context.torch >= (2, 13)
        if not drawn or compared or any(type_name(v) not in NUMBERS for v in others):
            return None
        message = f"`{context.text(event.node)}` computes with a random number, which Dynamo traces as a tensor"
        return Break(message, drawn[0].c, about=drawn[0], fatal=True)


def _drawn(value: Value) -> Tensor | None:
    tensor = as_tensor(value)
    return tensor if tensor is not None and tensor.subclass == "random" else None
