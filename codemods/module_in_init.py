"""A module or parameter made in `__init__` instead of while tracing.

What it does:
    Moves `head = nn.Linear(x.shape[-1], 2)` from a method into `__init__` as `self.head = ...`. A width that is read
    from the input makes it the lazy form of the module (`nn.LazyLinear(2)`), which takes it from the first batch.
    `if self.proj is None: self.proj = nn.Linear(...)` goes the same way.
Applicability:
    Unsafe: the weights are drawn once, when the model is made, and are part of its state from then on.
Preconditions:
    The code stands in a method of a class that derives from `nn.Module`. The arguments are constants, attributes that
    `__init__` sets, or, where a lazy form of the module has it, the input's width. What is made is put in a variable or
    an attribute.
Instead:
    Give the width to the constructor.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Declined,
    Edit,
    Example,
    Repair,
    Site,
    method,
    own_class,
    refuse,
    require,
    walk,
)

_LAZY = (
    "Linear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "BatchNorm1d",
    "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d",
)  # fmt: skip


class ModuleInInit(Codemod):
    """Makes modules and parameters in the constructor."""

    meta = CodemodMeta(
        name="module-in-init",
        summary="make a module or parameter in __init__",
        fixes=("parameter-construction", "uninitialized-module"),
        rank=40,
    )
    EXAMPLES = (
        Example(
            """
import torch
from torch import nn

class PromptPool(nn.Module):
    def __init__(self, n, dim):
        super().__init__()
        self.n, self.dim = n, dim

    def forward(self, x):
        prompt = nn.Parameter(torch.zeros(self.n, self.dim))
        return torch.cat([prompt.expand(x.size(0), -1, -1), x], dim=1)

print("checksum", torch.compile(PromptPool(2, 4))(torch.ones(3, 5, 4)).sum().item())
""",
            """
import torch
from torch import nn

class PromptPool(nn.Module):
    def __init__(self, n, dim):
        super().__init__()
        self.n, self.dim = n, dim
        self.prompt = nn.Parameter(torch.zeros(self.n, self.dim))

    def forward(self, x):
        return torch.cat([self.prompt.expand(x.size(0), -1, -1), x], dim=1)

print("checksum", torch.compile(PromptPool(2, 4))(torch.ones(3, 5, 4)).sum().item())
""",
            "unsafe",
        ),
        Example(
            """
import torch
from torch import nn

class AdaptIn(nn.Module):
    def __init__(self, out_dim):
        super().__init__()
        self.out_dim = out_dim
        self.proj = None

    def forward(self, x):
        if self.proj is None:
            self.proj = nn.Linear(x.shape[-1], self.out_dim)
        return self.proj(x)

print("checksum", torch.compile(AdaptIn(3))(torch.ones(2, 7)).shape)
""",
            """
import torch
from torch import nn

class AdaptIn(nn.Module):
    def __init__(self, out_dim):
        super().__init__()
        self.out_dim = out_dim
        self.proj = nn.LazyLinear(self.out_dim)

    def forward(self, x):
        return self.proj(x)

print("checksum", torch.compile(AdaptIn(3))(torch.ones(2, 7)).shape)
""",
            "unsafe",
        ),
        Example(
            """
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        head = nn.Linear(x.shape[-1], 2)
        return head(x)

print("checksum", torch.compile(Net())(torch.ones(1, 2)).shape)
""",
            """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.LazyLinear(2)

    def forward(self, x):
        return self.head(x)

print("checksum", torch.compile(Net())(torch.ones(1, 2)).shape)
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch
from torch import nn

@torch.compile
def f(x):
    head = nn.Linear(2, 2)
    return head(x)

f(torch.ones(1, 2))
""",
            "not in a method",
        ),
        Declined(
            """
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x, scale):
        w = nn.Parameter(torch.ones(2) * scale)
        return x * w

torch.compile(Net())(torch.ones(2), 2.0)
""",
            "depends on `scale`",
        ),
        Declined(
            """
import torch
from torch import nn
from torch.nn import Linear

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.known = nn.Linear(2, 2)
        self.late = 0
        self.both = None

    def forward(self, x, kept):
        known = nn.Linear(2, 2)
        twice = nn.Linear(2, 2)
        twice = nn.Linear(2, 3)
        kept["head"] = nn.Linear(2, 2)
        self.anew = nn.Linear(2, 2)
        if self.both is None:
            self.both = nn.Linear(2, 2)
            print("made")
        if self.late is None:
            self.late = nn.Linear(2, 2)
        wide = Linear(x.shape[-1], 2)
        return nn.Linear(2, 2)(known(x)) + wide(x)

torch.compile(Net())(torch.ones(1, 2), {})
""",
            "is made anew on every call",
        ),
        Declined(
            '''
import torch
from torch import nn

class Short(nn.Module):
    def __init__(self): super().__init__()

    def forward(self, x):
        head = nn.Linear(2, 2)
        return head(x)

class Told(nn.Module):
    """Without a constructor."""

    def forward(self, x):
        head = nn.Linear(2, 2)
        return head(x)

class Plain:
    def run(self, x):
        head = nn.Linear(2, 2)
        return head(x)

class Returns(nn.Module):
    def __init__(self):
        super().__init__()
        return

    def forward(self, x):
        head = nn.Linear(2, 2)
        return head(x)

torch.compile(Short())(torch.ones(1, 2))
torch.compile(Told())(torch.ones(1, 2))
torch.compile(Plain().run)(torch.ones(1, 2))
torch.compile(Returns())(torch.ones(1, 2))
''',
            "`__init__` stands on one line",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        node = site.node
        if not isinstance(node, cst.Call):
            return None
        place, tree, info = own_class(site)
        require(info.bases, "the class does not derive from a module")
        require(site.function.name.value != "__init__", "it is made in `__init__` already")
        assign = site.parent(node)
        if not isinstance(assign, cst.Assign) or len(assign.targets) != 1:
            refuse("what is made is not put in a variable of its own")
        text = self._text(site, node)
        target = assign.targets[0].target
        if isinstance(target, cst.Name):
            attribute = f"self.{target.value}"
            require(len(site.stores(target.value)) == 1, f"`{target.value}` is set more than once")
            require(_free(place, tree, target.value), f"the class has a `{target.value}` already")
            edits = [site.replace(load, attribute) for load in site.loads(target.value)]
            edits += [site.remove(site.statement(assign)), *_in_init(place, tree, f"{attribute} = {text}\n")]
        else:
            attribute = site.text(target)
            require(attribute.startswith("self."), "what is made is kept somewhere else")
            edits = self._on_demand(site, assign, place, tree, attribute, text)
        return Repair(
            "unsafe", f"make `{attribute}` once, in `__init__`; its weights are drawn there", edits, ("draws",)
        )

    def _text(self, site: Site, node: cst.Call) -> str:
        """What to write in `__init__`, the width of the input left to the lazy form."""
        first = node.args[0].value if node.args else None
        name = node.func.attr.value if isinstance(node.func, cst.Attribute) else site.text(node.func)
        reads = [n.value for n in walk(first) if isinstance(n, cst.Name)] if first is not None else []
        width = isinstance(first, cst.Subscript | cst.Call) and any(r in site.parameters()[1:] for r in reads)
        if width and name in _LAZY and _is_size(site.text(first)):  # type: ignore[arg-type]
            texts = [site.flat(a.value) if a.keyword is None else site.text(a).rstrip(", ") for a in node.args[1:]]
            rest = ", ".join(texts)
            text = f"{_lazy(site, node, name)}({rest})"
            checked: list[cst.CSTNode] = [a.value for a in node.args[1:]]
        else:
            text, checked = site.flat(node), list(node.args)
        known = set(site.parameters()[1:])
        for part in (n for c in checked for n in walk(c)):
            if isinstance(part, cst.Name) and part in site.uses(part.value):
                local = part.value in known or bool(site.stores(part.value))
                require(not local, f"the module depends on `{part.value}`, which `__init__` does not have")
        return text

    def _on_demand(
        self, site: Site, assign: cst.Assign, place: Site, tree: cst.ClassDef, attribute: str, text: str
    ) -> list[Edit]:
        """`if self.proj is None: self.proj = ...` with `self.proj = None` in `__init__`."""
        line = site.statement(assign)
        above = site.enclosing(line, cst.If)
        tested = above is not None and site.text(above.test) in (f"{attribute} is None", f"not {attribute}")
        require(tested, f"`{attribute}` is made anew on every call")
        assert above is not None
        require(above.orelse is None and len(above.body.body) == 1, "the branch does more than make the module")
        init = method(tree, "__init__")
        unset = [
            n
            for n in walk(init or tree)
            if isinstance(n, cst.Assign)
            and [place.text(t.target) for t in n.targets] == [attribute]
            and place.text(n.value) == "None"
        ]
        require(init is not None and len(unset) == 1, f"`__init__` does not set `{attribute}` to None")
        edits = [place.replace(unset[0].value, text)]
        edits.append(site.remove(above))
        return edits


def _is_size(text: str) -> bool:
    return ".shape[" in text or ".size(" in text


def _lazy(site: Site, node: cst.Call, name: str) -> str:
    if isinstance(node.func, cst.Attribute):
        return f"{site.text(node.func.value)}.Lazy{name}"
    return refuse(f"`Lazy{name}` would have to be imported")


def _free(place: Site, tree: cst.ClassDef, name: str) -> bool:
    return not any(
        isinstance(n, cst.Attribute) and n.attr.value == name and place.text(n.value) == "self" for n in walk(tree)
    )


def _in_init(place: Site, tree: cst.ClassDef, line: str) -> list[Edit]:
    """The line at the end of `__init__`, which is written where there is none."""
    init = method(tree, "__init__")
    if init is not None:
        require(isinstance(init.body, cst.IndentedBlock), "`__init__` stands on one line")
        last = init.body.body[-1]
        require(not (isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Return)), "it returns")
        return [place.insert_after(last, line)]  # type: ignore[arg-type]
    first = tree.body.body[0]
    if isinstance(first, cst.SimpleStatementLine) and len(tree.body.body) > 1:
        refuse("the class has no `__init__`, and something in front of its methods")
    step = " " * 4
    return [place.insert_before(first, f"def __init__(self):\n{step}super().__init__()\n{step}{line}\n")]  # type: ignore[arg-type]
