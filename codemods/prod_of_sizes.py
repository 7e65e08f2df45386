"""The product of sizes with `math.prod` instead of `np.prod`.

What it does:
    Writes `int(np.prod(x.shape))` as `math.prod(x.shape)`. NumPy's result is an array for Dynamo, and turning it into a
    Python number breaks the graph; `math.prod` of sizes is traced.
Applicability:
    Safe: the argument is known to hold Python integers, and `int` of the product is the same number.
Preconditions:
    `np.prod` gets one argument, a `torch.Size` or a list or tuple of Python integers, and its result goes straight into
    `int`.
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
    Sequence,
    Site,
    Value,
    members,
    require,
)

_PRODUCTS = ("numpy.prod", "numpy.product")


class ProdOfSizes(Codemod):
    """Replaces NumPy's product of sizes."""

    meta = CodemodMeta(
        name="prod-of-sizes",
        summary="math.prod instead of np.prod for sizes",
        fixes=("numpy-scalar",),
        rank=10,
    )
    EXAMPLES = (
        Example(
            """
import numpy as np
import torch

@torch.compile
def run(x):
    n = int(np.prod(x.shape[1:]))
    return x.reshape(-1, n) * n

print("checksum", run(torch.ones(4, 2, 3)).sum().item())
""",
            """
import math

import torch

@torch.compile
def run(x):
    n = math.prod(x.shape[1:])
    return x.reshape(-1, n) * n

print("checksum", run(torch.ones(4, 2, 3)).sum().item())
""",
        ),
    )
    DECLINES = (
        Declined(
            """
import numpy as np
import torch

@torch.compile
def run(x):
    n = int(np.prod(x.numpy()))
    return x * n

run(torch.ones(4))
""",
            "is not known to hold Python integers alone",
        ),
        Declined(
            """
import numpy as np
import torch

@torch.compile
def run(x):
    n = int(np.prod(x.shape, dtype=np.int64))
    return x * n

run(torch.ones(4))
""",
            "more than the sizes",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        node = site.node
        if not isinstance(node, cst.Call) or site.callee(node) != "builtins.int" or len(node.args) != 1:
            return None
        product = node.args[0].value
        if not isinstance(product, cst.Call) or site.callee(product) not in _PRODUCTS:
            return None
        require(len(product.args) == 1 and not product.args[0].star, "`np.prod` is given more than the sizes")
        sizes = product.args[0].value
        require(_integers(site.value(sizes)), f"`{site.text(sizes)}` is not known to hold Python integers alone")
        prod, imports = site.refer("math.prod")
        text = f"{prod}({site.text(sizes)})"
        return Repair("safe", "take the product with `math.prod`", [site.replace(node, text), *imports])


def _integers(value: Value | None) -> bool:
    if not isinstance(value, Sequence):
        return False
    if value.kind == "size":
        return True
    return value.items is not None and all(_integer(m) for item in value.items for m in members(item))


def _integer(value: Value) -> bool:
    if isinstance(value, Const):
        return type(value.value) is int
    return isinstance(value, Plain) and value.type == "int"
