"""A fake implementation for a custom operator.

What it does:
    Registers with `register_fake` what a `torch.library.custom_op` returns, where that has the shape and type of an
    argument.
Applicability:
    Unsafe: tracing believes the fake, and a shape that depends on values would make it wrong.
Preconditions:
    The operator is defined at the top of the file and only returns an elementwise operation of an argument.
Instead:
    Write the fake by hand.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Declined,
    Edit,
    Example,
    Function,
    Repair,
    Site,
    refuse,
    require,
    walk,
)

_ELEMENTWISE = (
    "abs", "relu", "tanh", "sigmoid", "exp", "log", "sqrt", "clamp", "clone", "neg", "sin", "cos", "zeros_like",
    "ones_like", "empty_like", "rand_like", "softmax", "contiguous",
)  # fmt: skip


class FakeForOperator(Codemod):
    """Writes the missing fake of an elementwise custom operator."""

    meta = CodemodMeta(
        name="fake-for-operator",
        summary="register a fake implementation for a custom operator",
        fixes=("operator-without-fake",),
        rank=30,
    )
    EXAMPLES = (
        Example(
            """
import torch

@torch.library.custom_op("gbex::blur", mutates_args=())
def blur(x: torch.Tensor) -> torch.Tensor:
    return x * 0.5

@torch.compile
def run(x):
    return blur(x) + 1

print("checksum", run(torch.ones(2)).sum().item())
""",
            """
import torch

@torch.library.custom_op("gbex::blur", mutates_args=())
def blur(x: torch.Tensor) -> torch.Tensor:
    return x * 0.5


@blur.register_fake
def _(x):
    return torch.empty_like(x)

@torch.compile
def run(x):
    return blur(x) + 1

print("checksum", run(torch.ones(2)).sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.library.custom_op("gbex::keep", mutates_args=())
def keep(x: torch.Tensor) -> torch.Tensor:
    return x[x > 0].clone()

@torch.compile
def run(x):
    return keep(x) + 1

run(torch.ones(2))
""",
            "the shape of what `keep` returns cannot be told",
        ),
        Declined(
            """
import torch

if hasattr(torch.library, "custom_op"):
    @torch.library.custom_op("gbex::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

@torch.compile
def run(x):
    return twice(x) + 1

run(torch.ones(2))
""",
            "the operator is defined within a block",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        node = site.node
        if not isinstance(node, cst.Call):
            return None
        value = site.value(node.func)
        if not isinstance(value, Function) or value.info is None:
            refuse("the operator's function is not in view")
        require(value.module.path == site.module.path and not value.info.owner, "the operator is defined elsewhere")
        name, end = value.info.qualname, value.info.end
        source = "\n".join(site.lines[value.info.start - 1 : end])
        require(not source[:1].isspace(), "the operator is defined within a block")
        (function,) = [s for s in cst.parse_module(source + "\n").body if isinstance(s, cst.FunctionDef)]
        parameters = [p.name.value for p in function.params.params]
        like = _like(function, parameters)
        require(like, f"the shape of what `{name}` returns cannot be told")
        empty, imports = site.refer("torch.empty_like")
        text = f"\n\n@{name}.register_fake\ndef _({', '.join(parameters)}):\n    return {empty}({like})\n"
        return Repair(
            "unsafe",
            f"register a fake for `{name}`, which returns what is like `{like}`",
            [Edit(site.module.path, end + 1, 1, end + 1, 1, text), *imports],
        )


def _like(function: cst.FunctionDef, parameters: list[str]) -> str:
    """The argument whose shape and type the result has; "" if that cannot be told."""
    returns = [n for n in walk(function.body) if isinstance(n, cst.Return)]
    if len(returns) != 1 or returns[0].value is None or len(function.body.body) != 1:
        return ""
    return _same(returns[0].value, parameters)


def _same(node: cst.BaseExpression, parameters: list[str]) -> str:
    if isinstance(node, cst.Name):
        return node.value if node.value in parameters else ""
    if isinstance(node, cst.BinaryOperation):
        sides = [_same(s, parameters) for s in (node.left, node.right) if not isinstance(s, cst.BaseNumber)]
        safe = isinstance(node.operator, cst.Add | cst.Subtract | cst.Multiply | cst.Divide)
        return sides[0] if safe and sides and all(s == sides[0] for s in sides) else ""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in _ELEMENTWISE:
        base = node.func.value
        if isinstance(base, cst.Name) and base.value == "torch" and node.args:
            return _same(node.args[0].value, parameters)
        return _same(base, parameters)
    return ""
