"""Code that cannot be traced as a custom operator.

What it does:
    Moves the smallest run of statements that can stand alone into a `torch.library.custom_op` with annotated arguments,
    and registers a fake that says what shapes and types come out. Every backend takes such an operator.
Applicability:
    Unsafe: the code runs outside of what is compiled, no gradient flows through it, and the fake holds for the shapes
    seen in the source.
    Safe where no gradient can be wanted, in a script that uses nothing but torch and NumPy and that nobody imports, if
    the code reads its inputs with operations that are known to keep to themselves and writes into nothing but results
    that it makes itself, by statements that the fake repeats.
Preconditions:
    Those of `leaf-function`. Arguments are tensors and Python numbers or strings, and there is a result. No gradient
    can be wanted: results are integers or truth values, or the code runs under `torch.no_grad`.
Instead:
    Rewrite the code with torch operations.
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
    Tensor,
    Value,
    doubt,
    members,
    outline,
    refuse,
    require,
)

_RULES = (
    "branch-on-tensor", "read-tensor-value", "integers-to-list", "values-to-list", "builtin-on-tensor",
    "tensor-as-bound", "shape-from-contents", "boolean-mask-read", "tensor-comparison", "scalar-tensor-index",
    "skipped-call", "skipped-package", "opaque-method", "numpy-scalar", "tensor-membership", "tensor-as-size",
    "unmodelled-numpy-function", "sparse-result", "sparse-tensor",
)  # fmt: skip
_TYPES = ("int", "float", "bool", "str")


class CustomOperator(Codemod):
    """Moves untraceable code into a custom operator."""

    meta = CodemodMeta(
        name="custom-operator",
        summary="make untraceable code a custom operator",
        fixes=_RULES,
        rank=85,
    )
    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
def group(scores):
    labels = torch.zeros_like(scores, dtype=torch.long)
    for i in range(scores.shape[0]):
        if scores[i] > 0.5:
            labels[i] = 1
    return labels + 1

print("checksum", group(torch.tensor([0.2, 0.7, 0.9])).sum().item())
""",
            """
import torch

@torch.library.custom_op("example::group_labels", mutates_args=())
def _group_labels(scores: torch.Tensor) -> torch.Tensor:
    labels = torch.zeros_like(scores, dtype=torch.long)
    for i in range(scores.shape[0]):
        if scores[i] > 0.5:
            labels[i] = 1
    return labels


@_group_labels.register_fake
def _(scores):
    labels = torch.zeros_like(scores, dtype=torch.long)
    return labels


@torch.compile
def group(scores):
    labels = _group_labels(scores)
    return labels + 1

print("checksum", group(torch.tensor([0.2, 0.7, 0.9])).sum().item())
""",
            "safe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def newton(x):
    err = x.abs().max()
    while err > 1e-2:
        x = x / 2
        err = x.abs().max()
    return x + 1

newton(torch.ones(2))
""",
            "a gradient may be wanted",
        ),
        Declined(
            """
import torch
from torch import nn

class MoE(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

    @torch.no_grad()
    def forward(self, x, pick):
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows = torch.where(pick == i)[0]
            out.index_add_(0, rows, expert(x[rows]))
        return out * 2

torch.compile(MoE())(torch.ones(3, 4), torch.tensor([0, 1, 1]))
""",
            "is no tensor, number or string",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        made = outline(site)
        require(made.values, "it has no result")
        for value in made.values:
            whole = value.dtype in ("int", "bool") or _under_no_grad(site)
            require(whole, "a gradient may be wanted, and a custom operator without a formula has none")
        tensor, imports = site.refer("torch.Tensor", outside=True)
        operator, more = site.refer("torch.library.custom_op", outside=True)
        typed = ", ".join(f"{i.name}: {_annotation(i.name, i.value, tensor)}" for i in made.inputs)
        names = ", ".join(i.name for i in made.inputs)
        result = tensor if len(made.values) == 1 else f"tuple[{', '.join([tensor] * len(made.values))}]"
        space = "".join(c if c.isalnum() else "_" for c in site.module.name.rpartition(".")[2]) or "main"
        text = (
            f'@{operator}("{space}::{made.name.strip("_")}", mutates_args=())\n'
            f"def {made.name}({typed}) -> {result}:\n{_indented(made.body)}\n\n"
            f"@{made.name}.register_fake\ndef _({names}):\n{_indented(made.fake)}"
        )
        edits = [site.before_definition(text), site.replace_lines(made.first, made.last, made.call), *imports, *more]
        if not doubt(site, made, operator=True):
            return Repair("safe", "make it a custom operator, which runs as plain Python in the same place", edits)
        return Repair("unsafe", "make it a custom operator; no gradient flows through it", edits)


def _annotation(name: str, value: Value, tensor: str) -> str:
    parts = members(value)
    if all(isinstance(p, Tensor) for p in parts):
        return tensor
    types = {p.type if isinstance(p, Plain) else type(p.value).__name__ for p in parts if isinstance(p, Plain | Const)}
    if len(types) == 1 and all(isinstance(p, Plain | Const) for p in parts) and types <= set(_TYPES):
        return types.pop()
    return refuse(f"`{name}` is no tensor, number or string of a known type")


def _under_no_grad(site: Site) -> bool:
    """Whether the code surely runs without gradients: by a decorator of its function, or a block around it."""
    for decorator in site.function.decorators:
        if "no_grad" in site.text(decorator.decorator) or "inference_mode" in site.text(decorator.decorator):
            return True
    block = site.enclosing(site.node, cst.With)
    while block is not None:
        if any(site.callee(i.item) in ("torch.no_grad", "torch.inference_mode") for i in block.items):
            return True
        block = site.enclosing(block, cst.With)
    return False


def _indented(text: str) -> str:
    return "".join(f"    {line}" if line.strip() else line for line in text.splitlines(keepends=True))
