"""Recurrent modules traced: `torch._dynamo.config.allow_rnn = True`.

What it does:
    Sets the option at the top of the file, behind the imports. Dynamo then traces RNN, GRU and LSTM modules.
Applicability:
    Unsafe: the setting holds for the whole process, and torch leaves it off since long sequences make large graphs.
Preconditions:
    The file sets no other value for the option.
Instead:
    `torch.compiler.disable` around the recurrent module, or a cell written by hand.
Torch versions:
    Up to 2.14; later releases trace recurrent modules by default.
"""

from __future__ import annotations

from gblint.codemod_api import Codemod, CodemodMeta, Declined, Example, Repair, Site, require

SETTING = "torch._dynamo.config.allow_rnn"


class AllowRnn(Codemod):
    """Lets Dynamo trace recurrent modules."""

    meta = CodemodMeta(
        name="allow-rnn",
        summary="let Dynamo trace recurrent modules",
        fixes=("recurrent-module",),
        rank=40,
    )
    EXAMPLES = (
        Example(
            """
import torch
from torch import nn

class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 4, batch_first=True)

    def forward(self, x):
        states, _ = self.rnn(x)
        return states + 1

torch.manual_seed(0)
tagger = torch.compile(Tagger())
print("checksum", round(tagger(torch.ones(2, 5, 4)).sum().item(), 3))
""",
            """
import torch
from torch import nn

torch._dynamo.config.allow_rnn = True

class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 4, batch_first=True)

    def forward(self, x):
        states, _ = self.rnn(x)
        return states + 1

torch.manual_seed(0)
tagger = torch.compile(Tagger())
print("checksum", round(tagger(torch.ones(2, 5, 4)).sum().item(), 3))
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch
from torch import nn

torch._dynamo.config.allow_rnn = False
model = nn.GRU(4, 4)

@torch.compile
def f(x):
    return model(x)[0]

f(torch.ones(2, 5, 4))
""",
            "the file sets `allow_rnn` itself",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        own = [name for name, _, _ in site.module.torch_settings if name.endswith(".allow_rnn")]
        require(not own, "the file sets `allow_rnn` itself")
        setting, imports = site.refer(SETTING, outside=True)
        return Repair(
            "unsafe",
            "let Dynamo trace recurrent modules, in the whole process",
            [site.at_module_level(f"{setting} = True\n"), *imports],
        )
