"""A custom operator without a fake implementation is called.

What breaks:
    A call of a function decorated with `torch.library.custom_op` that returns something and for which no
    `register_fake` is found. The program stops with an error, also with `fullgraph=False`.
Why Dynamo breaks:
    Dynamo runs each operator on tensors without contents to learn the shape of the result, and this one cannot.
Example:
    @torch.library.custom_op("lib::blur", mutates_args=())
    def blur(x: Tensor) -> Tensor: ...
Instead:
    @blur.register_fake
    def _(x):
        return torch.empty_like(x)
Fix:
    Register a fake implementation that gives shape, dtype and device of the result.
Torch versions:
    Since 2.11; before, GB0090 or an error without id.
Limits:
    Operators that only change their arguments and return None need none. Operators defined by `torch.library.define` or
    in C++ are not followed.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta


class OperatorWithoutFake(Rule):
    """Calls of custom operators without register_fake."""

    meta = RuleMeta(
        code="GB4315",
        slug="operator-without-fake",
        summary="a custom operator without a fake implementation is called",
        category="user-error",
        advice="Register a fake implementation with `@op.register_fake`.",
        torch=">=2.11",
    )
    calls = ("mark:custom_op_without_fake",)
    BREAKS = (
        """
import torch

@torch.library.custom_op("gblint::blur", mutates_args=())
def blur(x: torch.Tensor) -> torch.Tensor:
    return x * 0.5

@torch.compile
def run(x):
    return blur(x) + 1  # GB4315

run(torch.ones(2))
""",
    )
    CLEAN = (
        """
import torch

@torch.library.custom_op("gblint::blur", mutates_args=())
def blur(x: torch.Tensor) -> torch.Tensor:
    return x * 0.5

@blur.register_fake
def _(x):
    return torch.empty_like(x)

@torch.library.custom_op("gblint::shade", mutates_args=())
def shade(x: torch.Tensor) -> torch.Tensor:
    return x * 0.5

@torch.library.register_fake("gblint::shade")
def _(x):
    return torch.empty_like(x)

@torch.compile
def run(x):
    return shade(blur(x)) + 1

run(torch.ones(2))
""",
        """
import torch

@torch.library.custom_op("gblint::halve", mutates_args=("x",))
def halve(x: torch.Tensor) -> None:
    x.mul_(0.5)

@torch.compile
def run(x):
    y = x.clone()
    halve(y)
    return y + 1

run(torch.ones(2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        return Break(f"`{event.name}` is a custom operator without a fake implementation", fatal=True)
