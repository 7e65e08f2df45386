"""Methods of an autograd Function made static.

What it does:
    Turns `@classmethod` on `forward`, `backward` and `setup_context` of a `torch.autograd.Function` into
    `@staticmethod` and drops the class parameter.
Applicability:
    Safe: `apply` finds both kinds of method by name, and the class parameter is not used. Unsafe where the methods are
    called by another name than `apply`'s, through the class.
Preconditions:
    The class parameter is not read. No method of the class is overridden by or overrides one that is not seen here: the
    class derives from `torch.autograd.Function` directly and has no subclass in its file.
Instead:
    Write the methods as `@staticmethod`, as torch documents them.
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
    class_site,
    require,
    walk,
)

_METHODS = ("forward", "backward", "setup_context", "vmap", "jvp")


class StaticAutogradFunction(Codemod):
    """Makes class methods of autograd Functions static."""

    meta = CodemodMeta(
        name="static-autograd-function",
        summary="methods of an autograd Function as static methods",
        fixes=("classmethod-in-autograd-function",),
        rank=10,
    )
    EXAMPLES = (
        Example(
            """
import torch

class RoundSTE(torch.autograd.Function):
    @classmethod
    def forward(cls, ctx, x):
        return x.round()

    @classmethod
    def backward(cls, ctx, grad):
        return grad

@torch.compile
def quantise(x, levels: int):
    return RoundSTE.apply(x * levels) / levels

x = torch.full((4,), 0.3, requires_grad=True)
y = quantise(x, 8)
y.sum().backward()
print("checksum", y.sum().item(), x.grad.sum().item())
""",
            """
import torch

class RoundSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad):
        return grad

@torch.compile
def quantise(x, levels: int):
    return RoundSTE.apply(x * levels) / levels

x = torch.full((4,), 0.3, requires_grad=True)
y = quantise(x, 8)
y.sum().backward()
print("checksum", y.sum().item(), x.grad.sum().item())
""",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

class Scale(torch.autograd.Function):
    factor = 2.0

    @classmethod
    def forward(cls, ctx, x):
        return x * cls.factor

    @staticmethod
    def backward(ctx, grad):
        return grad * 2.0

@torch.compile
def f(x):
    return Scale.apply(x)

f(torch.ones(2, requires_grad=True))
""",
            "`cls` is used in `forward`",
        ),
        Declined(
            """
import torch

class Scale(torch.autograd.Function):
    @classmethod
    def forward(cls, ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2.0

class Other(Scale):
    pass

@torch.compile
def f(x):
    return Scale.apply(x)

f(torch.ones(2, requires_grad=True))
""",
            "subclass",
        ),
        Declined(
            """
import torch

class Mixed:
    pass

class Several(torch.autograd.Function, Mixed):
    @classmethod
    def forward(cls, ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2.0

class Alone(torch.autograd.Function):
    @classmethod
    def forward(*args):
        return args[-1] * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2.0

@torch.compile
def f(x):
    return Several.apply(x)

@torch.compile
def g(x):
    return Alone.apply(x)

f(torch.ones(2, requires_grad=True))
g(torch.ones(2, requires_grad=True))
""",
            "derives from several classes",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        call = site.node
        if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
            return None
        name = site.flat(call.func.value)
        info = site.module.classes.get(name)
        require(info is not None, "the class is not defined at the top of this file")
        assert info is not None
        heirs = [c for c in site.module.classes.values() if name in c.bases]
        require(not heirs, f"`{name}` has a subclass")
        require(len(info.bases) == 1, f"`{name}` derives from several classes")
        place, tree = class_site(site, info)
        edits: list[Edit] = []
        for method in tree.body.body:
            if isinstance(method, cst.FunctionDef) and method.name.value in _METHODS:
                edits += self._static(place, method)
        return Repair("safe", "make the methods of the autograd Function static", edits)

    def _static(self, place: Site, method: cst.FunctionDef) -> list[Edit]:
        marks = [d.decorator for d in method.decorators]
        marks = [d for d in marks if isinstance(d, cst.Name) and d.value == "classmethod"]
        if not marks:
            return []
        name = method.name.value
        require(len(method.params.params) > 1, f"`{name}` does not take the class and `ctx`")
        first, second = method.params.params[:2]
        uses = [n for n in walk(method.body) if isinstance(n, cst.Name) and n.value == first.name.value]
        require(not uses, f"`{first.name.value}` is used in `{name}`")
        begin, end = place.span(first)[:2], place.span(second)[:2]
        return [place.replace(marks[0], "staticmethod"), Edit(place.module.path, *begin, *end, "")]
