"""`warnings.warn` inside a compiled region.

What breaks:
    `warnings.warn`, `warnings.warn_explicit`, `warnings.simplefilter`, `warnings.filterwarnings` and
    `warnings.resetwarnings`, also for warnings that are filtered out; `logging.warn` ends in the first.
Why Dynamo breaks:
    The warnings machinery is C code with global state, so the graph ends at the call.
Example:
    if dropout is not None:
        warnings.warn("dropout is ignored")
Instead:
    if dropout is not None and not torch.compiler.is_compiling():
        warnings.warn("dropout is ignored")
Fix:
    Guard the call as above, warn once in `__init__`, or add `warnings.warn` to
    `torch._dynamo.config.reorderable_logging_functions`.
Torch versions:
    Every release.
Limits:
    `with warnings.catch_warnings():` alone does not break. Nothing is reported when the project lets Dynamo reorder or
    ignore `warnings.warn`.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta

ALLOWING = (
    "torch._dynamo.config.reorderable_logging_functions",
    "torch._dynamo.config.ignore_logging_functions",
)


class WarningsWarn(Rule):
    """Calls into the warnings module."""

    meta = RuleMeta(
        code="GB0007",
        slug="warnings-warn",
        summary="a warning is given in a compiled region",
        category="supportable",
        advice="Warn in __init__, or guard with `if not torch.compiler.is_compiling():`.",
        confidence=0.95,
    )
    calls = (
        "warnings.warn", "warnings.warn_explicit", "warnings.simplefilter", "warnings.filterwarnings",
        "warnings.resetwarnings", "warnings.showwarning", "logging.warn",
    )  # fmt: skip
    BREAKS = (
        """
import warnings
import torch

def deprecated(name):
    warnings.warn(f"{name} is deprecated", DeprecationWarning)  # GB0007

@torch.compile
def attention(q, dropout=None):
    if dropout is not None:
        warnings.warn("dropout is ignored")  # GB0007
    q = q * 2
    deprecated("attention")
    return q + 1

attention(torch.ones(2), dropout=0.1)
""",
        """
import warnings
import torch

@torch.compile
def quiet(x):
    x = x + 1
    warnings.simplefilter("ignore")  # GB0007
    return x * 2

quiet(torch.ones(2))
""",
    )
    CLEAN = (
        """
import warnings
import torch

@torch.compile
def step(x, dropout=None):
    if dropout is not None:
        warnings.warn("dropout is ignored")
    if not torch.compiler.is_compiling():
        warnings.warn("eager only")
    with warnings.catch_warnings():
        return x * 2

step(torch.ones(2))
""",
        """
import warnings
import torch

torch._dynamo.config.reorderable_logging_functions.add(warnings.warn)

@torch.compile
def step(x):
    warnings.warn("after the graph")
    return x * 2

step(torch.ones(2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        listed = ", ".join(context.settings.get(setting, "") for setting in ALLOWING)
        if event.callee in listed.split(", "):
            return None
        return Break(f"`{context.text(event.node)}` reaches Python's warning machinery, which Dynamo skips")
