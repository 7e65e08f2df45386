"""A question about inference mode is asked in eager code alone.

What it does:
    Puts `not torch.compiler.is_compiling() and` in front of `torch.is_inference_mode_enabled()` and
    `tensor.is_inference()`: compiled code takes the way of ordinary tensors, which is right for both kinds.
Applicability:
    Unsafe: under `torch.inference_mode()` compiled code no longer takes the special way.
Preconditions:
    The answer is used as a condition.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import Codemod, CodemodMeta, Declined, Example, Repair, Site, is_guarded, require


class AssumeNoInferenceMode(Codemod):
    """Answers questions about inference mode with no, in compiled code."""

    meta = CodemodMeta(
        name="assume-no-inference-mode",
        summary="ask about inference mode only when not compiling",
        fixes=("is-inference", "inference-mode-query"),
        rank=40,
    )
    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
def f(x):
    if torch.is_inference_mode_enabled() or not torch.is_grad_enabled():
        return x.detach() * 2
    y = x * 2
    return y if not x.is_inference() else y.clone()

print("checksum", f(torch.ones(2)).sum().item())
""",
            """
import torch

@torch.compile
def f(x):
    if (not torch.compiler.is_compiling() and torch.is_inference_mode_enabled()) or not torch.is_grad_enabled():
        return x.detach() * 2
    y = x * 2
    return y if not (not torch.compiler.is_compiling() and x.is_inference()) else y.clone()

print("checksum", f(torch.ones(2)).sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def f(x):
    return x, x.is_inference()

f(torch.ones(2))
""",
            "not used as a condition",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        node = site.node
        if not isinstance(node, cst.Call) or is_guarded(site, node):
            return None
        above = site.parent(node)
        tests = isinstance(above, cst.If | cst.IfExp | cst.While) and above.test is node
        joined = isinstance(above, cst.BooleanOperation) or (
            isinstance(above, cst.UnaryOperation) and isinstance(above.operator, cst.Not)
        )
        require(tests or joined, "the answer is not used as a condition")
        word, imports = site.refer("torch.compiler.is_compiling")
        text = f"not {word}() and {site.flat(node)}"
        bare = tests or (isinstance(above, cst.BooleanOperation) and isinstance(above.operator, cst.And))
        edits = [site.replace(node, text if bare else f"({text})"), *imports]
        return Repair("unsafe", "ask about inference mode only when not compiling", edits)
