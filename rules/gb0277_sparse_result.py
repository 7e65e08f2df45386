"""An operation that gives a sparse tensor.

What breaks:
    `t.to_sparse()`, `to_sparse_csr()` and their siblings.
Why Dynamo breaks:
    Dynamo has no fake version of sparse layouts.
Example:
    return torch.sparse.mm(adjacency.to_sparse(), x)
Instead:
    return adjacency @ x
Fix:
    Stay dense, use `scatter_add` on edge lists, or keep the sparse part outside the compiled region.
Torch versions:
    Since 2.10; before, the conversion broke as GB0015.
Limits:
    What is done with the sparse tensor afterwards is GB0015. `torch.sparse_coo_tensor` is GB0007.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta, Tensor, as_tensor, tensor_certainty

LAYOUTS = ("to_sparse", "to_sparse_coo", "to_sparse_csr", "to_sparse_csc", "to_sparse_bsr", "to_sparse_bsc")


class SparseResult(Rule):
    """Conversions to sparse layouts."""

    meta = RuleMeta(
        code="GB0277",
        slug="sparse-result",
        summary="an operation gives a sparse tensor",
        category="supportable",
        advice="Stay dense, scatter over edge lists, or keep the sparse part outside.",
        torch=">=2.10",
    )
    calls = tuple(f"torch.Tensor.{name}" for name in LAYOUTS)
    BREAKS = (
        """
import torch

@torch.compile
def converted(x: torch.Tensor):
    y = x * 2
    sparse = y.to_sparse()  # GB0277
    return sparse  # GB0015

converted(torch.eye(3))
""",
        """
import torch

@torch.compile
def twice(x: torch.Tensor):
    y = (x * 2).to_sparse_coo().to_sparse()  # GB0015, GB0277
    return y.to_dense()

twice(torch.rand(3))
""",
    )
    CLEAN = (
        """
import torch
import torch.nn.functional as F

@torch.compile
def dense(x: torch.Tensor, ids: torch.Tensor):
    edges = torch.zeros(3, 3).index_put((ids, ids), torch.tensor(1.0))
    return edges @ x.to_dense(), x.is_sparse, x.layout, F.embedding(ids, x, sparse=True)

dense(torch.rand(3, 3), torch.tensor([0, 1]))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        tensor = as_tensor(event.receiver)
        if tensor is None or tensor.subclass == "sparse":
            return None
        certainty = max(tensor_certainty(event.receiver), 0.9)
        message = f"`{context.text(event.node)}` gives a sparse tensor, which Dynamo cannot trace"
        result = Tensor(tensor.c, tensor.dtype, tensor.rank, "result", "sparse")
        return Break(message, certainty, about=tensor, result=result)
