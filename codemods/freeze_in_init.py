"""Parameters frozen in `__init__` instead of while tracing.

What it does:
    Moves a statement that sets `requires_grad` of the module's own parameters out of a method to the end of `__init__`:
    `self.fc.weight.requires_grad = False`, or a loop that does it for all parameters of a child.
Applicability:
    Unsafe: the flag is set once, when the model is made, and code that sets it anew in between wins.
Preconditions:
    The statement stands by itself in a method of a class with an `__init__` of its own, and reads `self` and constants
    alone.
Instead:
    Freeze the parameters where the model is made.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Declined,
    Example,
    Repair,
    Site,
    method,
    own_class,
    require,
    walk,
)


class FreezeInInit(Codemod):
    """Sets requires_grad in the constructor."""

    meta = CodemodMeta(
        name="freeze-in-init",
        summary="set requires_grad of parameters in __init__",
        fixes=("requires-grad-assignment", "requires-grad-method"),
        rank=40,
    )
    EXAMPLES = (
        Example(
            """
import torch
from torch import nn

class Finetune(nn.Module):
    def __init__(self, freeze=True):
        super().__init__()
        self.backbone = nn.Linear(4, 4)
        self.head = nn.Linear(4, 2)
        self.freeze = freeze

    def forward(self, x):
        for p in self.backbone.parameters():
            p.requires_grad = not self.freeze
        return self.head(self.backbone(x))

torch.manual_seed(0)
model = Finetune()
torch.compile(model)(torch.ones(2, 4)).sum().backward()
print("checksum", model.backbone.weight.grad, model.head.weight.grad.shape)
""",
            """
import torch
from torch import nn

class Finetune(nn.Module):
    def __init__(self, freeze=True):
        super().__init__()
        self.backbone = nn.Linear(4, 4)
        self.head = nn.Linear(4, 2)
        self.freeze = freeze
        for p in self.backbone.parameters():
            p.requires_grad = not self.freeze

    def forward(self, x):
        return self.head(self.backbone(x))

torch.manual_seed(0)
model = Finetune()
torch.compile(model)(torch.ones(2, 4)).sum().backward()
print("checksum", model.backbone.weight.grad, model.head.weight.grad.shape)
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch
from torch import nn

class Finetune(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 2)

    def forward(self, x, freeze):
        self.head.weight.requires_grad = not freeze
        return self.head(x)

torch.compile(Finetune())(torch.ones(2, 4), True)
""",
            "reads `freeze`",
        ),
        Declined(
            """
import torch
from torch import nn

net = nn.Linear(4, 2)

@torch.compile
def f(x):
    net.weight.requires_grad = False
    return net(x)

f(torch.ones(2, 4))
""",
            "not in a method",
        ),
        Declined(
            """
import torch
from torch import nn

other = nn.Linear(4, 2)

class Sometimes(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        if x.shape[0] > 1:
            self.head.weight.requires_grad = False
        other.weight.requires_grad = False
        return self.head(x)

class Short(nn.Linear):
    def __init__(self): super().__init__(4, 2)

    def forward(self, x):
        self.weight.requires_grad = False
        return super().forward(x)

class Without(nn.Linear):
    def forward(self, x):
        self.weight.requires_grad = False
        return super().forward(x)

torch.compile(Sometimes())(torch.ones(2, 4))
torch.compile(Short())(torch.ones(2, 4))
torch.compile(Without(4, 2))(torch.ones(2, 4))
""",
            "the statement runs on some calls only",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        place, tree, _ = own_class(site)
        require(site.function.name.value != "__init__", "it is set in `__init__` already")
        loop = site.loop(site.node)
        line = site.statement(site.node)
        if isinstance(loop, cst.For) and len(loop.body.body) == 1:
            line = loop
        target = line.target if isinstance(line, cst.For) else None
        bound = (
            {n.value for n in walk(target) if isinstance(n, cst.Name) and site.is_store(n)}
            if target is not None
            else set()
        )
        names = {n.value for n in site.names if n in set(walk(line))} - bound
        other = sorted(n for n in names if n != "self" and site.binds(n))
        require(not other, f"the statement reads `{', '.join(other)}`")
        require("self" in names, "what is frozen is not the module's own")
        above = site.parent(site.parent(line) or line)
        require(above is site.function, "the statement runs on some calls only")
        init = method(tree, "__init__")
        require(init is not None, "the class has no `__init__`")
        assert init is not None
        require(isinstance(init.body, cst.IndentedBlock), "`__init__` stands on one line")
        last = init.body.body[-1]
        text = site.body_text([line], "")
        return Repair(
            "unsafe",
            "set `requires_grad` once, in `__init__`",
            [place.insert_after(last, text), site.remove(line)],  # type: ignore[arg-type]
        )
