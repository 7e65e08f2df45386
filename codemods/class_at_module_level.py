"""A class defined while tracing, moved to the top of the file.

What it does:
    Moves a class statement out of the function, in front of the top-level definition that holds it.
Applicability:
    Unsafe: all calls share one class, where each call had its own.
Preconditions:
    The class reads no variable of the function around it, and its name is used in that function alone.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import Codemod, CodemodMeta, Declined, Edit, Example, Repair, Site, require, walk


class ClassAtModuleLevel(Codemod):
    """Moves class statements out of the region."""

    meta = CodemodMeta(
        name="class-at-module-level",
        summary="move a class statement to the top of the file",
        fixes=("class-statement",),
        rank=30,
    )
    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
def statistics(x):
    class Stats:
        def __init__(self, mean, std):
            self.mean, self.std = mean, std

    s = Stats(x.mean(), x.std())
    return (x - s.mean) / s.std

print("checksum", statistics(torch.arange(5.0)).abs().sum().item())
""",
            """
import torch

class Stats:
    def __init__(self, mean, std):
        self.mean, self.std = mean, std


@torch.compile
def statistics(x):
    s = Stats(x.mean(), x.std())
    return (x - s.mean) / s.std

print("checksum", statistics(torch.arange(5.0)).abs().sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def f(x, scale):
    class Box:
        factor = scale

    return x * Box().factor

f(torch.ones(2), 2.0)
""",
            "the class reads `scale`",
        ),
        Declined(
            """
import torch

def make():
    return Box

class Box:
    pass

@torch.compile
def f(x):
    class Box:
        factor = 2.0

    return x * Box().factor

f(torch.ones(2))
""",
            "means something else in this file",
        ),
        Declined(
            """
import torch

@torch.compile
def f(x, flag):
    if flag:
        class Scale:
            factor = 2
    return x * Scale.factor

f(torch.ones(2), True)
""",
            "the class is all its block holds",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        node = site.node
        if not isinstance(node, cst.ClassDef):
            return None
        name = node.name.value
        require(name not in site.module.bindings, f"`{name}` means something else in this file")
        for part in walk(node):
            if isinstance(part, cst.Name) and part.value != name and part in site.uses(part.value):
                outer = [s for s in site.stores(part.value) if s not in set(walk(node))]
                is_local = outer or (part.value in site.parameters() and not _own_parameter(node, part.value))
                require(not is_local, f"the class reads `{part.value}` of the function around it")
        block = site.block(node)
        require(len(block) > 1, "the class is all its block holds")
        text = site.body_text([node], "")
        following = site.following(node)
        last = site.last_row(node)
        edits = [site.before_definition(text)]
        if following and not site.lines[last].strip():
            row = last + 1
            while not site.lines[row - 1].strip():
                row += 1
            edits.append(Edit(site.module.path, site.span(node)[0], 1, row, 1, ""))
        else:
            edits.append(site.remove(node))
        return Repair("unsafe", f"define `{name}` once, at the top of the file", edits)


def _own_parameter(node: cst.ClassDef, name: str) -> bool:
    return any(isinstance(n, cst.Param) and n.name.value == name for n in walk(node))
