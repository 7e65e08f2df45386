"""An import that fails is executed inside a compiled region.

What breaks:
    `import name` or `from name import …` in the region, in the compiled function or in a helper it calls, when the
    package is not installed; also inside `try` / `except ImportError`.
Why Dynamo breaks:
    Dynamo performs imports while tracing. One that raises ends the graph, even if the program expects it.
Example:
    try:
        import flash_attn
    except ImportError:
        flash_attn = None
Instead:
    the same lines at module level, or a flag computed once with `importlib.util.find_spec`
Fix:
    Move the import out of the compiled functions.
Torch versions:
    Every release.
Limits:
    Whether a package is installed is judged by the environment that gblint is told to use. Imports that succeed do not
    break. A name missing from a module that exists is an ordinary exception.
"""

from __future__ import annotations

from gblint.rule_api import Break, Context, Import, Rule, RuleMeta


class MissingImport(Rule):
    """Imports of packages that are not there."""

    meta = RuleMeta(
        code="GB0069",
        slug="missing-import",
        summary="an import that fails is executed in a compiled region",
        category="user-error",
        advice="Import at module level, or keep a flag computed with importlib.util.find_spec.",
    )
    BREAKS = (
        """
import functools
import torch

@functools.lru_cache
def fast_attention():
    try:
        import gblint_missing_kernels  # GB0069
        return gblint_missing_kernels.attention
    except ImportError:
        return None

@torch.compile
def fused(x):
    try:
        from gblint_missing_package.ops import fuse  # GB0069
    except (ImportError, AttributeError):
        fuse = None
    x = x * 2
    return x if fuse is None else fuse(x)

@torch.compile
def attend(x):
    kernel = fast_attention()
    return x + 1 if kernel is None else kernel(x)

fused(torch.ones(2))
attend(torch.ones(2))
""",
    )
    CLEAN = (
        """
import torch

try:
    import gblint_missing_kernels
except ImportError:
    gblint_missing_kernels = None

@torch.compile
def fused(x):
    import math
    from torch.nn import functional as F
    return F.relu(x) * math.pi if gblint_missing_kernels is None else x

fused(torch.ones(2))
""",
        """
import importlib.util
import torch

@torch.compile
def fused(x):
    if importlib.util.find_spec("gblint_missing_kernels") is not None:
        import gblint_missing_kernels
        x = gblint_missing_kernels.run(x)
    return x * 2

fused(torch.ones(2))
""",
    )

    def on_import(self, event: Import, context: Context) -> Break | None:
        if event.found:
            return None
        # Without a handler the program would fail eagerly too: then it is this environment that lacks the module.
        certainty = 0.8 if event.guarded else 0.2
        return Break(f"`{event.module}` is not installed: the import fails while tracing", certainty, fatal=True)
