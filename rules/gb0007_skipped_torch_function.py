"""A function of torch that Dynamo is told not to trace.

What breaks:
    `torch.save` / `torch.load`, `torch.sparse_coo_tensor`, `pack_padded_sequence` / `pad_packed_sequence`,
    `torch.jit.script` / `isinstance`, `torch.autograd.backward`, `torch.autograd.Variable`, `torch.from_dlpack`,
    `torch.set_num_threads`, `torch.cuda.set_device`, `torch.compiler.reset` and any other function of torch that was
    measured to break with this id.
Why Dynamo breaks:
    Torch lists these as skipped: they work on files, devices, settings or formats that a graph does not know.
Example:
    adjacency = torch.sparse_coo_tensor(index, weight, (n, n))
Instead:
    out = x.new_zeros(n, d).index_add_(0, index[0], weight[:, None] * x[index[1]])
Fix:
    Do it outside the compiled function, or use the dense or functional counterpart.
Torch versions:
    Every release.
Limits:
    Reading settings (`torch.get_default_dtype`, `torch.cuda.is_available`, `torch.jit.is_scripting`) and
    `torch.set_default_dtype` do not break.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta, Tensor

SEEDING = ("seed", "rng_state")


class SkippedTorchFunction(Rule):
    """Functions of torch on the skip list."""

    meta = RuleMeta(
        code="GB0007",
        slug="skipped-torch-function",
        summary="a function of torch that Dynamo never traces is called",
        category="supportable",
        advice="Call it outside the compiled function, or use its dense or functional counterpart.",
    )
    measured = True
    calls = (
        "torch.save", "torch.load", "torch.set_num_threads", "torch.jit.script", "torch.jit.isinstance",
        "torch.nn.utils.rnn.pack_padded_sequence", "torch.nn.utils.rnn.pad_packed_sequence",
        "torch.autograd.Variable", "torch.sparse_coo_tensor", "torch.to_dlpack", "torch.from_dlpack",
        "torch.typename", "torch.autograd.backward", "torch.cuda.set_device", "torch.compiler.disable",
        "torch.compiler.reset", "torch._dynamo.reset", "torch.compiler.cudagraph_mark_step_begin",
        "torch.utils.data.default_collate",
    )  # fmt: skip
    BREAKS = (
        """
import torch

@torch.compile
def saved(x, index, weight):
    graph = torch.sparse_coo_tensor(index, weight, (2, 2))  # GB0007
    y = x + 1
    torch.set_num_threads(1)  # GB0007
    return y * 2

@torch.compile
def packed(x, lengths: list[int]):
    y = x + 1
    return torch.nn.utils.rnn.pack_padded_sequence(y, lengths, batch_first=True)  # GB0007

saved(torch.ones(2, 2), torch.tensor([[0, 1], [1, 0]]), torch.ones(2))
packed(torch.ones(1, 3, 2), [3])
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def settings(x):
    torch.set_default_dtype(torch.float32)
    if torch.cuda.is_available() or torch.jit.is_scripting() or torch.is_autocast_enabled():
        x = x * 2
    torch.set_float32_matmul_precision("high")
    return x * torch.get_default_dtype().itemsize + torch.jit.annotate(int, 1)

settings(torch.ones(2))
""",
        """
import torch

class Store:
    def save(self, x):
        return x + 1

    def load(self):
        return 2

@torch.compile
def step(x, store: Store):
    return store.save(x) * store.load() + torch.nn.utils.rnn.pad_sequence([x, x]).sum()

step(torch.ones(2), Store())
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        name = event.callee
        if not name.startswith("torch.") or name.endswith(SEEDING) or "manual_seed" in name:
            return None
        if context.knowledge.verdict(name) not in (None, self.meta.code):
            return None
        result = Tensor(role="result", subclass="sparse") if name == "torch.sparse_coo_tensor" else None
        return Break(f"`{context.text(event.node)}` calls `{name}`, which Dynamo never traces", result=result)
