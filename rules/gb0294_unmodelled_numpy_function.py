"""A NumPy function that torch does not model.

What breaks:
    `np.ndindex`, `np.poly1d`, `np.argpartition`, `np.interp`, `np.digitize`, `np.isin`, `np.delete`, `np.insert`,
    `np.nanmean`, `np.vectorize`, `np.save`, `np.errstate`, and of `np.random` everything but the plain distributions.
Why Dynamo breaks:
    NumPy is traced by replacing each function with torch's own version of it, and for these there is none.
Example:
    for b, c in np.ndindex(batch, classes):
        ...
Instead:
    for b, c in itertools.product(range(batch), range(classes)):
        ...
Fix:
    Use torch, `itertools` or `math`, or do the NumPy part outside the compiled region.
Torch versions:
    Since 2.10 under this id; before, GB0120 or a skipped call.
Limits:
    Only names of NumPy itself; what SciPy does with them is not seen unless its source is read.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Construct, Context, Rule, RuleMeta

RANDOM = frozenset(
    f"numpy.random.{name}"
    for name in (
        "beta", "binomial", "bytes", "chisquare", "default_rng", "dirichlet", "exponential", "f", "gamma", "geometric",
        "get_state", "gumbel", "laplace", "logistic", "lognormal", "multinomial", "multivariate_normal", "pareto",
        "permutation", "poisson", "power", "ranf", "rayleigh", "set_state", "standard_cauchy", "standard_exponential",
        "standard_gamma", "standard_normal", "standard_t", "triangular", "vonmises", "wald", "weibull", "zipf",
    )
)  # fmt: skip
FUNCTIONS = frozenset(
    f"numpy.{name}"
    for name in (
        "apply_along_axis", "argpartition", "block", "delete", "digitize", "fromiter", "insert", "interp", "isin",
        "iterable", "ix_", "lexsort", "nanmax", "nanmean", "nanmin", "nanstd", "nansum", "partition", "polyfit",
        "ravel_multi_index", "save", "set_printoptions", "setdiff1d", "unravel_index",
    )
)  # fmt: skip
CLASSES = frozenset({"numpy.ndindex", "numpy.poly1d", "numpy.vectorize", "numpy.nditer", "numpy.errstate"})


class UnmodelledNumpyFunction(Rule):
    """NumPy functions without a torch version."""

    meta = RuleMeta(
        code="GB0294",
        slug="unmodelled-numpy-function",
        summary="a NumPy function that torch does not model",
        category="supportable",
        advice="Use torch, itertools or math, or do the NumPy part outside the compiled region.",
        torch=">=2.10",
        renamed=(("<2.10", ""),),
    )
    calls = (*RANDOM, *FUNCTIONS, *CLASSES)
    measured = True
    BREAKS = (
        """
import numpy as np
import torch

@torch.compile
def nearest(x: torch.Tensor):
    array = (x * 2).numpy()
    first = np.argpartition(array, 1)  # GB0294
    return torch.from_numpy(first) + 1

@torch.compile
def shuffled(x: torch.Tensor):
    y = x * 2
    order = np.random.permutation(3)  # GB0294
    return y[torch.from_numpy(order)]

nearest(torch.rand(3))
shuffled(torch.rand(3))
""",
        """
import numpy as np
import torch

@torch.compile
def vectorized(x: torch.Tensor):
    y = x * 2
    absolute = np.vectorize(abs)  # GB0294
    return y if callable(absolute) else x

vectorized(torch.rand(3))
""",
    )
    CLEAN = (
        """
import itertools

import numpy as np
import torch

@torch.compile
def fine(x: torch.Tensor):
    array = x.numpy()
    steps = np.linspace(0.0, 1.0, 3) + np.cumsum(array) + np.exp(array) + np.clip(array, 0, 1)
    stacked = np.concatenate([steps, np.arange(3)]).reshape(2, 3)
    total = sum(i * j for i, j in itertools.product(range(2), range(2)))
    return torch.from_numpy(np.transpose(stacked)) + total + torch.randperm(2)

fine(torch.rand(3))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        return Break(f"`{context.text(event.node)}` calls a NumPy function that torch has no version of")

    def on_construct(self, event: Construct, context: Context) -> Break | None:
        if event.base not in CLASSES:
            return None
        return Break(f"`{context.text(event.node)}` makes a NumPy object that torch has no version of")
