"""Random integers by `torch.randint_like` instead of `random_` in place.

What it does:
    Writes `torch.empty_like(x).random_(n)` as `torch.randint_like(x, n)`. Dynamo does not trace `random_`.
Applicability:
    Unsafe: the numbers are the same on the CPU with the default generator, elsewhere they may be others.
Preconditions:
    The tensor that is filled is made by `empty_like` or `zeros_like` on the spot, and the bounds are given by position.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import Codemod, CodemodMeta, Declined, Example, Repair, Site, require

_MAKERS = ("torch.empty_like", "torch.zeros_like", "torch.ones_like")


class RandintLike(Codemod):
    """Replaces random_ on a new tensor."""

    meta = CodemodMeta(
        name="randint-like",
        summary="torch.randint_like instead of random_",
        fixes=("random-in-place",),
        rank=30,
    )
    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
def corrupt(tokens, vocab: int):
    noise = torch.empty_like(tokens).random_(vocab)
    return tokens + noise

torch.manual_seed(0)
print("checksum", corrupt(torch.zeros(6, dtype=torch.long), 9).sum().item())
""",
            """
import torch

@torch.compile
def corrupt(tokens, vocab: int):
    noise = torch.randint_like(tokens, vocab)
    return tokens + noise

torch.manual_seed(0)
print("checksum", corrupt(torch.zeros(6, dtype=torch.long), 9).sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def corrupt(tokens):
    return tokens.random_(9)

corrupt(torch.zeros(6, dtype=torch.long))
""",
            "is not made on the spot",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        node = site.node
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
            return None
        if node.func.attr.value != "random_":
            return None
        made = node.func.value
        is_new = isinstance(made, cst.Call) and site.callee(made) in _MAKERS and len(made.args) == 1
        require(is_new, "the tensor that is filled is not made on the spot")
        assert isinstance(made, cst.Call)
        bounds = [a for a in node.args if a.keyword is None and not a.star]
        require(bounds and len(bounds) == len(node.args), "the bounds are not given by position")
        name, imports = site.refer("torch.randint_like")
        given = ", ".join(site.flat(a.value) for a in (*made.args, *bounds))
        return Repair("unsafe", "draw with `torch.randint_like`", [site.replace(node, f"{name}({given})"), *imports])
