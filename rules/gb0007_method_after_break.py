"""A method of a tensor whose arguments break the graph.

What breaks:
    `x.mul_(y.sum().item())`: after the break in the argument the call itself breaks once more. So do all methods of
    tensors that are written in C.
Why Dynamo breaks:
    Python looks the method up before it evaluates the arguments. The code that follows the break is handed the method
    as an object, and of that Dynamo does not know that it is one of a tensor.
Example:
    x = x.mul_(y.sum().item())
Instead:
    scale = y.sum()
    x = x.mul_(scale)
Fix:
    Remove the break in the argument, or evaluate the argument in a statement before.
Torch versions:
    Measured in 2.13.
Limits:
    On Python 3.11; functions such as `torch.mul` do not break again, nor do `split`, `norm` and other methods that are
    written in Python. In a loop or a `try` the first break takes the whole frame.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta, as_tensor, tensor_certainty

# Methods of torch.Tensor that are functions in Python (torch/_tensor.py).
IN_PYTHON = frozenset(
    (
        "backward dim_order eig index is_shared istft lstsq lu module_load norm register_hook"
        " register_post_accumulate_grad_hook reinforce resize resize_as share_memory_ solve split stft storage"
        " storage_type symeig to_sparse_coo unflatten unique unique_consecutive"
    ).split()
)


class MethodAfterBreak(Rule):
    """Methods that wait for arguments which break."""

    meta = RuleMeta(
        code="GB0007",
        slug="method-after-break",
        summary="a method of a tensor is called after a break in its arguments",
        category="supportable",
        advice="Evaluate the argument in a statement before, or remove the break in it.",
        by_hand="it goes with the break in its arguments",
    )
    calls = ("mark:waiting_method",)
    BREAKS = (
        """
import torch

@torch.compile
def scaled(x, y):
    z = x.clone()
    z.mul_(y.sum().item())  # GB0124, GB0007
    return z

scaled(torch.ones(2), torch.ones(2))
""",
        """
import torch

def rank(x):
    print("rank")  # GB0059
    return x.dim()

@torch.compile
def summed(x):
    y = x.sum(rank(x) - 2)  # GB0007
    return x + y

summed(torch.ones(4, 4))
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def scaled(x, y: int):
    z = x.clone()
    z.mul_(y)
    return z.sum(x.dim() - 1)

scaled(torch.ones(2), 3)
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        if context.python >= (3, 12) or event.name.rpartition(".")[2] in IN_PYTHON:
            return None
        message = (
            f"`{context.text(event.node)}` is called after the break in its arguments, as a method that Dynamo skips"
        )
        return Break(message, tensor_certainty(event.receiver), about=as_tensor(event.receiver))
