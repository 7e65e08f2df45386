"""`Tensor.as_subclass` with a class of torch.

What breaks:
    `t.as_subclass(torch.Tensor)`, `t.as_subclass(torch.nn.Parameter)`.
Why Dynamo breaks:
    It traces the change of class only to a Python subclass that dispatches in Python, not back to torch's own classes.
Example:
    plain = self.as_subclass(torch.Tensor)
Instead:
    plain = torch.Tensor.detach(self)
Fix:
    Do the conversion outside the compiled region, or keep plain tensors inside.
Torch versions:
    Every release.
Limits:
    A subclass of the project is fine.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, External, Rule, RuleMeta, as_tensor, tensor_certainty


class AsSubclassOfBuiltin(Rule):
    """as_subclass back to torch's classes."""

    meta = RuleMeta(
        code="GB0001",
        slug="as-subclass-of-builtin",
        summary="`as_subclass` with a class of torch",
        category="supportable",
        advice="Convert outside the compiled region.",
        by_hand="which class the tensor should have outside of the region is for its author to say",
    )
    calls = ("torch.Tensor.as_subclass",)
    BREAKS = (
        """
import torch

@torch.compile
def plain(x: torch.Tensor):
    y = x * 2
    return y.as_subclass(torch.Tensor) + 1  # GB0001

plain(torch.rand(3))
""",
    )
    CLEAN = (
        """
import torch

class Tagged(torch.Tensor):
    pass

@torch.compile
def tagged(x: torch.Tensor):
    return x.as_subclass(Tagged), x.type_as(x), x.view_as(x)

tagged(torch.rand(3))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        target = event.argument(0, "cls")
        certainty = tensor_certainty(event.receiver)
        if not isinstance(target, External) or not target.dotted.startswith("torch.") or not certainty:
            return None
        message = f"`{context.text(event.node)}` turns a tensor into a class of torch, which Dynamo does not trace"
        return Break(message, certainty, about=as_tensor(event.receiver))
