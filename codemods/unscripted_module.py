"""A child module kept as Python instead of TorchScript.

What it does:
    Takes `torch.jit.script` off where the class makes the child (`self.act = torch.jit.script(Swish())`), so that
    Dynamo can trace the module's Python code.
Applicability:
    Unsafe: the child is saved and inspected as another type, and eager runs lose the scripted form.
Preconditions:
    The call goes to an attribute that `__init__` of the same class sets to `torch.jit.script(...)` of one argument.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import Codemod, CodemodMeta, Declined, Example, Repair, Site, method, own_class, require, walk


class UnscriptedModule(Codemod):
    """Takes torch.jit.script off child modules."""

    meta = CodemodMeta(
        name="unscripted-module",
        summary="keep a child module as Python instead of TorchScript",
        fixes=("script-module",),
        rank=30,
    )
    EXAMPLES = (
        Example(
            """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = torch.jit.script(nn.ReLU())

    def forward(self, x):
        return self.act(x) + 1

print("checksum", torch.compile(Net())(torch.ones(2)).sum().item())
""",
            """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()

    def forward(self, x):
        return self.act(x) + 1

print("checksum", torch.compile(Net())(torch.ones(2)).sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, act):
        super().__init__()
        self.act = act

    def forward(self, x):
        return self.act(x) + 1

print("checksum", torch.compile(Net(torch.jit.script(nn.ReLU())))(torch.ones(2)).sum().item())
""",
            "is not set to `torch.jit.script(...)`",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        node = site.node
        if not isinstance(node, cst.Call):
            return None
        target = site.text(node.func)
        place, tree, _ = own_class(site)
        init = method(tree, "__init__")
        made = [
            n.value
            for n in walk(init or tree)
            if isinstance(n, cst.Assign) and any(place.text(t.target) == target for t in n.targets)
        ]
        scripted = [
            m for m in made if isinstance(m, cst.Call) and place.dotted(m.func) == "torch.jit.script" and len(m.args) == 1
        ]
        require(len(made) == 1 and scripted, f"`{target}` is not set to `torch.jit.script(...)` in `__init__`")
        text = place.text(scripted[0].args[0].value)
        return Repair("unsafe", "keep the child module as Python", [place.replace(scripted[0], text)])
