"""Code that cannot be traced as a leaf function: one opaque operation of the graph.

What it does:
    Moves the smallest run of statements that can stand alone into a function marked with
    `torch._dynamo.decorators.leaf_function`, and registers a fake for it that says what shapes and types come out.
    Dynamo puts a call of it into the graph; the code runs as plain Python, gradients included.
Applicability:
    Unsafe: the code runs outside of what is compiled, and the fake holds for the shapes seen in the source; inference
    mode is not supported.
    Safe in a script that compiles with the backend "eager" alone, uses nothing but torch and NumPy and is imported by
    nobody, where the code seeds torch with whole numbers, or, without gradients, reads its inputs with operations that
    are known to keep to themselves and writes into nothing but results that it makes itself, by statements that the
    fake repeats.
    Placeholder where the file compiles with the default backend: Inductor of torch 2.13 does not take leaf functions.
Preconditions:
    What goes in is tensors, Python numbers and modules, what comes out is tensors alone, and their shapes follow from
    those that go in. Nothing that comes from outside is changed in place, nothing returns, leaves a loop or yields, no
    attribute of the object is set.
Instead:
    Rewrite the code with torch operations.
"""

from __future__ import annotations

from gblint.codemod_api import Codemod, CodemodMeta, Declined, Example, Repair, Site, doubt, outline, require

DECORATOR = "torch._dynamo.decorators.leaf_function"
_RULES = (
    "branch-on-tensor", "read-tensor-value", "integers-to-list", "values-to-list", "builtin-on-tensor",
    "tensor-as-bound", "shape-from-contents", "boolean-mask-read", "tensor-comparison", "scalar-tensor-index",
    "skipped-call", "random-seed", "skipped-torch-function", "skipped-package", "environment-write", "stream-write",
    "opaque-method", "sparse-result", "sparse-tensor", "nested-tensor-construction", "numpy-scalar",
    "tensor-membership", "unmodelled-numpy-function", "sort-of-tensors", "resize-in-place", "tensor-as-size",
    "random-in-place", "untraceable-builtin", "groupby-tensor-key", "context-variable", "astype-object", "delayed-call",
)  # fmt: skip


class LeafFunction(Codemod):
    """Moves untraceable code into a leaf function."""

    meta = CodemodMeta(
        name="leaf-function",
        summary="make untraceable code one opaque operation of the graph",
        fixes=_RULES,
        rank=90,
    )
    EXAMPLES = (
        Example(
            """
import torch

@torch.compile(backend="eager")
def newton(x):
    err = x.abs().max()
    while err > 1e-2:
        x = x / 2
        err = x.abs().max()
    return x + 1

print("checksum", newton(torch.tensor([1.0, 2.0])).sum().item())
""",
            """
import torch

@torch._dynamo.decorators.leaf_function
def _newton_x(err, x):
    x = x.clone()
    while err > 1e-2:
        x = x / 2
        err = x.abs().max()
    return x


@_newton_x.register_fake
def _(err, x):
    return torch.empty_like(x)


@torch.compile(backend="eager")
def newton(x):
    err = x.abs().max()
    x = _newton_x(err, x)
    return x + 1

print("checksum", newton(torch.tensor([1.0, 2.0])).sum().item())
""",
            "unsafe",
        ),
        Example(
            """
import torch
from torch import nn

class MoE(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 2)
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

    def forward(self, x):
        pick = self.gate(x).argmax(-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows = torch.where(pick == i)[0]
            out.index_add_(0, rows, expert(x[rows]))
        return out * 2

torch.manual_seed(0)
print("checksum", round(torch.compile(MoE(), backend="eager")(torch.ones(3, 4)).sum().item(), 3))
""",
            """
import torch
from torch import nn

@torch._dynamo.decorators.leaf_function
def _forward_out(x, pick, experts):
    out = torch.zeros_like(x)
    for i, expert in enumerate(experts):
        rows = torch.where(pick == i)[0]
        out.index_add_(0, rows, expert(x[rows]))
    return out


@_forward_out.register_fake
def _(x, pick, experts):
    out = torch.zeros_like(x)
    return out


class MoE(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 2)
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

    def forward(self, x):
        pick = self.gate(x).argmax(-1)
        out = _forward_out(x, pick, self.experts)
        return out * 2

torch.manual_seed(0)
print("checksum", round(torch.compile(MoE(), backend="eager")(torch.ones(3, 4)).sum().item(), 3))
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile(backend="eager")
def f(x, numbers):
    n = x.sum().item()
    numbers.append(n)
    return x * n

f(torch.ones(2), [])
""",
            "comes from outside",
        ),
        Declined(
            """
import torch

@torch.compile(backend="eager")
def f(x):
    rows = torch.where(x > 0)[0]
    rows = rows + 1
    return rows * 2

f(torch.ones(2))
""",
            "depends on what cannot be traced",
        ),
        Declined(
            """
import torch

@torch.compile(backend="eager")
def f(x):
    for _ in range(3):
        if x.sum() > 2:
            break
        x = x[:1] * 2
    return x

f(torch.ones(2))
""",
            "leaves a loop",
        ),
        Declined(
            """
import torch

@torch.compile(backend="eager")
def f(x, out):
    out[x > 0] = x[x > 0]
    return out * 2

f(torch.ones(2), torch.zeros(2))
""",
            "which comes from outside",
        ),
        Declined(
            """
import torch

class Counter(torch.nn.Module):
    def forward(self, x):
        self.total = x[x > 0].sum()
        return x * 2

torch.compile(Counter(), backend="eager")(torch.ones(2))
""",
            "changes an attribute",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        require(site.torch >= (2, 12), "leaf functions came with torch 2.12")
        made = outline(site)
        leaf, imports = site.refer(DECORATOR, outside=True)
        names = ", ".join(i.name for i in made.inputs)
        step = " " * 4
        text = (
            f"@{leaf}\ndef {made.name}({names}):\n{_indented(made.body, step)}\n\n"
            f"@{made.name}.register_fake\ndef _({names}):\n{_indented(made.fake, step)}"
        )
        if "torch." in made.fake:
            imports += site.refer("torch.empty_like", outside=True)[1]
        edits = [site.before_definition(text), site.replace_lines(made.first, made.last, made.call), *imports]
        if not doubt(site, made):
            return Repair("safe", "make it a leaf function, which runs as plain Python in the same place", edits)
        if _default_backend(site):
            return Repair("placeholder", "make it a leaf function, where the backend is not Inductor", edits)
        return Repair("unsafe", "make it a leaf function, which runs as plain Python between compiled code", edits)


def _indented(text: str, step: str) -> str:
    return "".join(f"{step}{line}" if line.strip() else line for line in text.splitlines(keepends=True))


def _default_backend(site: Site) -> bool:
    """Whether something in the file is compiled without naming a backend other than Inductor."""
    rows = [site.lines[s.row - 1] for s in site.module.compile_sites]
    return not rows or not all('backend="eager"' in r or 'backend="aot_eager"' in r for r in rows)
