"""A small class in place of `SimpleNamespace`.

What it does:
    Writes a class at the top of the file whose constructor takes the same names, and makes one of it instead of a
    `types.SimpleNamespace`, which Dynamo cannot build.
Applicability:
    Unsafe: the object's type, `repr` and `==` are others.
Preconditions:
    The namespace is made of keyword arguments alone.
Instead:
    A dataclass or a named tuple.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import Codemod, CodemodMeta, Declined, Example, Repair, Site, require


class NamespaceAsClass(Codemod):
    """Replaces SimpleNamespace by a class."""

    meta = CodemodMeta(
        name="namespace-as-class",
        summary="a small class instead of SimpleNamespace",
        fixes=("unsupported-construction",),
        rank=30,
    )
    EXAMPLES = (
        Example(
            """
from types import SimpleNamespace

import torch

@torch.compile
def cell(x):
    state = SimpleNamespace(hidden=torch.tanh(x), step=1)
    return state.hidden * state.step

print("checksum", round(cell(torch.ones(2)).sum().item(), 3))
""",
            """

import torch

class State:
    def __init__(self, hidden, step):
        self.hidden = hidden
        self.step = step


@torch.compile
def cell(x):
    state = State(hidden=torch.tanh(x), step=1)
    return state.hidden * state.step

print("checksum", round(cell(torch.ones(2)).sum().item(), 3))
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
from types import SimpleNamespace
import torch

@torch.compile
def cell(x, options):
    state = SimpleNamespace(**options)
    return x * state.step

cell(torch.ones(2), {"step": 2})
""",
            "made of more than keyword arguments",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        node = site.node
        if not isinstance(node, cst.Call) or site.callee(node) != "types.SimpleNamespace":
            return None
        names = [a.keyword.value for a in node.args if a.keyword is not None and not a.star]
        require(names and len(names) == len(node.args), "the namespace is made of more than keyword arguments")
        name = site.fresh(_named(site, node))
        sets = "".join(f"        self.{n} = {n}\n" for n in names)
        text = f"class {name}:\n    def __init__(self, {', '.join(names)}):\n{sets}"
        return Repair(
            "unsafe",
            f"make a `{name}`, a class with the same attributes",
            [site.before_definition(text), site.replace(node.func, name)],
        )


def _named(site: Site, node: cst.Call) -> str:
    """After the variable it is put in, else after the function that makes it."""
    above = site.parent(node)
    if isinstance(above, cst.Assign) and isinstance(above.targets[0].target, cst.Name):
        word = above.targets[0].target.value
    else:
        word = site.function.name.value.removeprefix("make_").removeprefix("get_")
    camel = "".join(part.capitalize() for part in word.strip("_").split("_"))
    return "Output" if camel in ("Out", "Forward", "Ns", "") else camel
