"""`nn.Parameter`, or a module that has parameters, made in the region.

What breaks:
    `nn.Parameter(t)` of a tensor computed in the region, `nn.Linear(...)`, `nn.Conv2d(...)`, `nn.Embedding(...)`,
    `nn.LayerNorm(...)` and every other module that makes parameters.
Why Dynamo breaks:
    A parameter is a leaf that must exist outside the graph; one made inside would be new in every run.
Example:
    def forward(self, x):
        scale = nn.Parameter(torch.ones(x.shape[-1]))
        return x * scale
Instead:
    def __init__(self, width):
        self.scale = nn.Parameter(torch.ones(width))
Fix:
    Make parameters in `__init__`. For lazily built layers run the model once before compiling it.
Torch versions:
    Since 2.9; before, it was reported as GB0119 or the frame was skipped.
Limits:
    Modules without parameters (activations, losses, `nn.Sequential` of them, norms without affine parameters) are fine,
    and so is `nn.Parameter(x)` of an argument of the compiled function.
"""

from __future__ import annotations

from gblint.rule_api import Break, Const, Construct, Context, Rule, RuleMeta, as_tensor

WITH_PARAMETERS = frozenset(
    f"torch.nn.{name}"
    for name in (
        "Linear", "Bilinear", "Embedding", "EmbeddingBag", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d",
        "ConvTranspose2d", "ConvTranspose3d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm", "LayerNorm",
        "GroupNorm", "RMSNorm", "PReLU", "LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "RNNCell", "MultiheadAttention",
        "TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer", "AdaptiveLogSoftmaxWithLoss",
    )
)  # fmt: skip
PARAMETER = ("torch.nn.Parameter", "torch.nn.parameter.Parameter")
SWITCHES = ("affine", "elementwise_affine")


class ParameterConstruction(Rule):
    """Parameters made in the region."""

    meta = RuleMeta(
        code="GB0264",
        slug="parameter-construction",
        summary="a parameter is made in a compiled region",
        category="supportable",
        advice="Make parameters in __init__, or run lazy layers once before compiling.",
        torch=">=2.9",
        confidence=0.9,
    )
    BREAKS = (
        """
import torch
from torch import nn

class Lazy(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = None

    def forward(self, x):
        y = x * 2
        if self.scale is None:
            self.scale = nn.Parameter(torch.ones(x.shape[-1]))  # GB0264
        return y * self.scale

@torch.compile
def projected(x: torch.Tensor):
    y = x * 2
    layer = nn.Linear(3, 2)  # GB0264
    return layer(y)

@torch.compile
def normalized(x: torch.Tensor):
    y = x * 2
    return nn.LayerNorm(3)(y)  # GB0264

torch.compile(Lazy())(torch.rand(2, 3))
projected(torch.rand(2, 3))
normalized(torch.rand(2, 3))
""",
        """
import torch
from torch import nn

@torch.compile
def copied(x: torch.Tensor):
    y = x * 2
    weight = nn.Parameter(data=torch.ones(3))  # GB0264
    return y * weight

@torch.compile
def affine(x: torch.Tensor):
    y = x * 2
    return nn.LayerNorm(3, elementwise_affine=True)(y)  # GB0264

copied(torch.rand(3))
affine(torch.rand(2, 3))
""",
    )
    CLEAN = (
        """
import torch
from torch import nn

@torch.compile
def built_inside(x: torch.Tensor):
    y = nn.Sequential(nn.ReLU(), nn.Dropout(0.1), nn.Softmax(-1))(x)
    y = nn.LayerNorm(3, elementwise_affine=False)(y) + nn.BatchNorm1d(3, affine=False).eval()(y)
    return nn.MSELoss()(y, x), nn.Flatten()(x), nn.Identity()(y)

@torch.compile
def wrapped(x: torch.Tensor):
    return nn.Parameter(x) * 2

built_inside(torch.rand(2, 3))
wrapped(torch.rand(3))
""",
    )

    def on_construct(self, event: Construct, context: Context) -> Break | None:
        if event.base in PARAMETER:
            data = as_tensor(event.args[0] if event.args else event.kwargs.get("data"))
            if data is not None and data.role in ("input", "parameter", "buffer"):
                return None
        elif event.cls is not None or event.base not in WITH_PARAMETERS or _switched_off(event):
            return None
        return Break(f"`{context.text(event.node)}` makes a parameter, which must exist before the graph runs")


def _switched_off(event: Construct) -> bool:
    flags = [event.kwargs.get(name) for name in SWITCHES]
    return any(isinstance(flag, Const) and flag.value is False for flag in flags)
