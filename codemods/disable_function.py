"""A function kept out of compiled code: `torch.compiler.disable` with a reason.

What it does:
    Marks the function around the break with `@torch.compiler.disable(reason=...)`, so that the graph breaks in one
    place that is meant, and not in several inside.
Applicability:
    Display: the graph still breaks where the function is called.
Preconditions:
    The function stands at the top of the file or in a class and is not itself what is compiled.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import Codemod, CodemodMeta, Declined, Edit, Example, Repair, Site, function_info, require


class DisableFunction(Codemod):
    """Suggests torch.compiler.disable."""

    meta = CodemodMeta(
        name="disable-function",
        summary="keep a function out of compiled code on purpose",
        fixes=(
            "skipped-call", "skipped-package", "unmodelled-numpy-function", "numpy-scalar", "shape-from-contents",
            "boolean-mask-read", "opaque-method",
        ),
        rank=99,
    )  # fmt: skip
    EXAMPLES = (
        Example(
            """
import torch

def keep(x):
    return x[x > 0]

@torch.compile
def run(x):
    return keep(x) + 1

print("checksum", run(torch.ones(2)).sum().item())
""",
            """
import torch

@torch.compiler.disable(reason="boolean-mask-read")
def keep(x):
    return x[x > 0]

@torch.compile
def run(x):
    return keep(x) + 1

print("checksum", run(torch.ones(2)).sum().item())
""",
            "display",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def run(x):
    return x[x > 0] + 1

run(torch.ones(2))
""",
            "is what is compiled",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        info = function_info(site)
        require(info is not None, "the code is not in a function of its own")
        assert info is not None
        function = site.function
        is_listed = function.name.value == info.qualname.rpartition(".")[2]
        require(is_listed, "the function is defined inside another")
        is_root = len(site.finding.path) <= 1 or any("compile" in d for d in info.decorators)
        require(not is_root and function.name.value != "forward", f"`{function.name.value}` is what is compiled")
        disable, imports = site.refer("torch.compiler.disable")
        first: cst.CSTNode = function.decorators[0] if function.decorators else function
        row = site.span(first)[0]
        indent = site.lines[row - 1][: len(site.lines[row - 1]) - len(site.lines[row - 1].lstrip())]
        text = f'{indent}@{disable}(reason="{site.finding.name}")\n'
        return Repair(
            "display",
            f"keep `{function.name.value}` out of compiled code; the graph still breaks where it is called",
            [Edit(site.module.path, row, 1, row, 1, text), *imports],
        )
