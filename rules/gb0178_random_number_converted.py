"""A number drawn by `random` and then converted.

What breaks:
    `int()`, `float()` and `round()` of a number from `random.uniform` or `random.randint`.
Why Dynamo breaks:
    Such a number is traced as a 0-d tensor, so that each run draws anew, and cannot be turned into a constant.
Example:
    count = int(random.uniform(1, 4))
Instead:
    count = max_count
Fix:
    Draw outside the compiled region and pass the number in.
Torch versions:
    Every release.
Limits:
    Arithmetic on the number is GB0213, a size made of it GB0033, a branch GB0170, an index GB0124.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Plain, Rule, RuleMeta, Tensor, Value, as_tensor

KINDS = {"builtins.int": "int", "builtins.float": "float", "builtins.round": "number"}


class RandomNumberConverted(Rule):
    """Conversions of traced random numbers."""

    meta = RuleMeta(
        code="GB0178",
        slug="random-number-converted",
        summary="a number drawn by `random` is converted to another kind of number",
        category="supportable",
        advice="Draw the number outside the compiled region.",
        confidence=0.8,
    )
    calls = tuple(KINDS)
    BREAKS = (
        """
import random
import torch

@torch.compile
def repeated(x: torch.Tensor):
    y = x * 2
    count = int(random.uniform(1, 4))  # GB0178
    return y * count

repeated(torch.rand(3))
""",
        """
import random
import torch

@torch.compile
def optional(x: torch.Tensor, flag: bool):
    y = x * 2
    number = random.uniform(1, 4) if flag else 2
    y = y * int(number)  # GB0178
    return y * float(random.randint(1, 3))  # GB0178

optional(torch.rand(3), True)
""",
    )
    CLEAN = (
        """
import random
import torch

@torch.compile
def scaled(x: torch.Tensor):
    factor = random.uniform(0.5, 1.0)
    views = [x, x.flip(0)]
    return x * factor + views[int(x.shape[0]) % 2] * random.randint(1, 3)

scaled(torch.rand(3))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        number = _drawn(event.args[0]) if event.args else None
        if number is None:
            return None
        message = f"`{context.text(event.node)}` converts a random number, which Dynamo traces as a tensor"
        return Break(message, number.c, about=number, result=Plain(KINDS[event.callee]))


def _drawn(value: Value) -> Tensor | None:
    tensor = as_tensor(value)
    return tensor if tensor is not None and tensor.subclass == "random" else None
