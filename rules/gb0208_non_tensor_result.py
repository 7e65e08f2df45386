"""A torch function whose result is no tensor.

What breaks:
    `t.storage_offset()`, `t.storage()`, `t.is_pinned()`, `t.is_shared()`, `torch.result_type`, `torch.can_cast`,
    `torch.get_num_threads`, `torch.initial_seed`, `torch.random.fork_rng`, `copy.copy(t)`, `"%s" % t`, `np.isscalar`,
    `np.ndim`.
Why Dynamo breaks:
    It puts calls of torch into the graph, and what comes out of a graph must be tensors. Functions that give a
    number or an object need a model of their own, and these have none.
Example:
    offset = x.storage_offset()
Instead:
    offset = 0
Fix:
    Compute the value outside the compiled region and pass it in; for copies use `t.clone()`.
Torch versions:
    Every release; the list shrinks from release to release.
Limits:
    Sizes, dtypes, devices, `numel()`, `dim()`, `is_contiguous()` and the like are modelled and fine.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Const, Context, Operator, Plain, Rule, RuleMeta, as_tensor, tensor_certainty

METHODS = {
    "storage_offset": "int", "storage": "", "is_pinned": "bool", "is_shared": "bool", "is_set_to": "bool",
    "is_same_size": "bool", "dense_dim": "int",
}  # fmt: skip
FUNCTIONS = {
    "torch.get_num_threads": "int", "torch.initial_seed": "int", "torch.result_type": "dtype", "torch.can_cast": "bool",
    "torch.is_storage": "bool", "torch.is_inference": "bool", "torch.is_same_size": "bool",
    "torch.get_float32_matmul_precision": "str", "torch.cuda.device_count": "int",
    "torch.is_deterministic_algorithms_warn_only_enabled": "bool", "torch.random.fork_rng": "",
    "torch.backends.mps.is_available": "bool", "numpy.isscalar": "bool", "numpy.ndim": "int",
}  # fmt: skip


class NonTensorResult(Rule):
    """Calls of torch with results that no graph can give out."""

    meta = RuleMeta(
        code="GB0208",
        slug="non-tensor-result",
        summary="a torch function whose result is no tensor",
        category="supportable",
        advice="Compute the value outside the compiled region and pass it in.",
    )
    calls = ("copy.copy", *FUNCTIONS, *(f"torch.Tensor.{name}" for name in METHODS))
    measured = True
    BREAKS = (
        """
import copy
import torch

@torch.compile
def viewed(x: torch.Tensor):
    y = x[1:]
    offset = y.storage_offset()  # GB0208
    return y * 2 + offset

@torch.compile
def promoted(x: torch.Tensor, y: torch.Tensor):
    x = x + 1
    dtype = torch.result_type(x, y)  # GB0208
    return x.to(dtype)

@torch.compile
def copied(x: torch.Tensor):
    y = copy.copy(x * 2)  # GB0208
    return y + 1

@torch.compile
def printed(x: torch.Tensor):
    label = "value %s" % x  # GB0208
    return x * 2, label

viewed(torch.rand(3))
promoted(torch.rand(3), torch.rand(3))
copied(torch.rand(3))
printed(torch.rand(3))
""",
        """
import torch

@torch.compile
def sparse(x: torch.Tensor):
    y = x * 2
    dense = y.dense_dim()  # GB0208
    y = y + dense
    same = y.is_same_size(x)  # GB0208
    y = y * same
    threads = torch.get_num_threads()  # GB0208
    return y + threads

@torch.compile
def shown(x: torch.Tensor):
    y = x * 2
    label = "value %r" % y  # GB0208
    return y, label

sparse(torch.rand(3))
shown(torch.rand(3))
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def queried(x: torch.Tensor):
    scale = x.numel() + x.dim() + x.element_size() + x.stride(0) + x.size(0)
    if x.is_contiguous() and torch.is_tensor(x) and torch.is_floating_point(x) and not x.is_complex():
        x = x.clone() * scale
    label = "%d rows of %s" % (x.shape[0], x.dtype)
    return x.to(torch.promote_types(x.dtype, torch.float64)), label, torch.is_grad_enabled(), torch.get_default_dtype()

queried(torch.rand(3))
""",
        """
import torch

@torch.compile
def options(x: torch.Tensor):
    label = "%s of %s" % ("rows", 3)
    return x * (7 % x), label

options(torch.rand(3))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        if event.callee == "copy.copy" or event.callee.startswith("torch.Tensor."):
            subject = event.receiver if event.receiver is not None else event.argument(0, "x")
            certainty = tensor_certainty(subject)
            about = as_tensor(subject)
        else:
            certainty, about = 1.0, None
        if not certainty:
            return None
        kind = METHODS.get(event.callee.rpartition(".")[2]) or FUNCTIONS.get(event.callee)
        message = f"`{context.text(event.node)}` gives something that is no tensor, which a graph cannot hold"
        skipped = event.callee == "copy.copy" and context.torch < (2, 13)
        result = Plain(kind) if kind else None
        return Break(message, certainty, about=about, result=result, code="GB0007" if skipped else "")

    def on_operator(self, event: Operator, context: Context) -> Break | None:
        left = event.left
        if event.operator != "%" or not isinstance(left, Const) or not isinstance(left.value, str):
            return None
        certainty = tensor_certainty(event.right) if "%s" in left.value or "%r" in left.value else 0.0
        if not certainty:
            return None
        message = f"`{context.text(event.node)}` makes text of a tensor, which a graph cannot hold"
        return Break(message, certainty, about=as_tensor(event.right), result=Plain("str"), fatal=True)
