"""Numbers read from tensors stay in the graph: `torch._dynamo.config.capture_scalar_outputs = True`.

What it does:
    Switches on the setting under which Dynamo keeps `t.item()`, `int(t)`, `float(t)` and integer `.tolist()` in the
    graph as symbols, in a line behind the imports. A size, bound or step given as a tensor is put into `int()` where
    the setting alone would not do.
Applicability:
    Unsafe: the setting holds for the whole process, and the traced code is then compiled for unknown sizes.
Preconditions:
    The number sizes things, is used in arithmetic, or is handed out: no branch, loop over a list, dictionary key, list
    index, text, or function of `math` needs it while tracing. The list that `.tolist()` makes is one of integers.
Instead:
    Keep the value as a tensor, take it from a shape, or read it outside the compiled region.
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
    as_tensor,
    decides,
    depends,
    derived,
    refuse,
    require,
    walk,
)

SETTING = "torch._dynamo.config.capture_scalar_outputs"
# Functions that take a tensor for a size once the setting is on (measured); others want `int()` round it as well.
SIZED = frozenset(
    "arange zeros ones empty full rand randn eye view reshape expand repeat narrow topk new_zeros new_ones new_empty "
    "split_with_sizes".split()
)
WRAPPED = frozenset({"pad", "roll", "interpolate", "triu", "tril", "randint", "diagonal", "unfold"})
REFUSED = frozenset({"one_hot", "dropout", "chunk", "linspace", "logspace", "bincount"})
MATH = frozenset({"floor", "ceil", "trunc", "sqrt", "isqrt"})  # traced for symbols (measured)


class CaptureScalars(Codemod):
    """Offers the setting for numbers that nothing decides on."""

    meta = CodemodMeta(
        name="capture-scalars",
        summary="keep numbers read from tensors in the graph (capture_scalar_outputs)",
        fixes=(
            "read-tensor-value",
            "tensor-as-bound",
            "tensor-as-size",
            "integers-to-list",
            "values-to-list",
            "builtin-on-tensor",
        ),
        rank=85,
    )
    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
def crop(tokens):
    longest = int((tokens != 0).sum(dim=1).max())
    return tokens[:, :longest] * 2

print("checksum", crop(torch.tensor([[3, 4, 0, 0], [1, 2, 5, 0]])).sum().item())
""",
            """
import torch

torch._dynamo.config.capture_scalar_outputs = True

@torch.compile
def crop(tokens):
    longest = int((tokens != 0).sum(dim=1).max())
    return tokens[:, :longest] * 2

print("checksum", crop(torch.tensor([[3, 4, 0, 0], [1, 2, 5, 0]])).sum().item())
""",
            "unsafe",
        ),
        Example(
            """
import torch
import torch.nn.functional as F


@torch.compile
def lengthen(x, lengths):
    return F.pad(x, (0, lengths.sum())) + 1


print("checksum", lengthen(torch.ones(3), torch.tensor([1, 2])).sum().item())
""",
            """
import torch
import torch.nn.functional as F

torch._dynamo.config.capture_scalar_outputs = True


@torch.compile
def lengthen(x, lengths):
    return F.pad(x, (0, int(lengths.sum()))) + 1


print("checksum", lengthen(torch.ones(3), torch.tensor([1, 2])).sum().item())
""",
            "unsafe",
        ),
        Example(
            """
import torch


@torch.compile
def parts(x, lengths):
    pieces = torch.split(x, lengths.tolist())
    return torch.cat([p - p.mean(0) for p in pieces])


print("checksum", parts(torch.rand(5, 2), torch.tensor([2, 3])).sum().abs().item() < 1e-4)
""",
            """
import torch

torch._dynamo.config.capture_scalar_outputs = True


@torch.compile
def parts(x, lengths):
    pieces = torch.split(x, lengths.tolist())
    return torch.cat([p - p.mean(0) for p in pieces])


print("checksum", parts(torch.rand(5, 2), torch.tensor([2, 3])).sum().abs().item() < 1e-4)
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def shrink(x):
    peak = x.abs().max().item()
    if peak > 1:
        x = x / peak
    return x

shrink(torch.ones(2))
""",
            "`peak > 1` decides what runs",
        ),
        Declined(
            """
import torch

@torch.compile
def lookup(table, ids):
    return table[ids.max().item()] * 2

lookup({1: torch.ones(2)}, torch.tensor([1, 0]))
""",
            "picks from a list or dictionary",
        ),
        Declined(
            """
import torch

@torch.compile
def chosen(x, y, scores):
    return [x, y][scores.argmax()] * 2

chosen(torch.ones(2), torch.ones(2), torch.ones(2))
""",
            "picks from a list by a value that is computed",
        ),
        Declined(
            """
import torch

@torch.compile
def scaled(x):
    values = (x * 2).tolist()
    return x + sum(values)

scaled(torch.ones(2))
""",
            "not integers",
        ),
        Declined(
            """
import math
import torch

@torch.compile
def scaled(x):
    return x * math.log(x.sum().item())

scaled(torch.ones(2))
""",
            "`math.log` has no symbolic form",
        ),
        Declined(
            """
import torch
import torch.nn.functional as F

@torch.compile
def encoded(ids):
    return F.one_hot(ids, int(ids.max()) + 1)

encoded(torch.tensor([0, 2]))
""",
            "needs the number itself",
        ),
        Declined(
            """
import torch

@torch.compile
def named(x, names):
    return x * len(f"{names}-{x.sum().item():.1f}")

named(torch.ones(2), "a")
""",
            "put into text",
        ),
        Declined(
            """
import torch

@torch.compile
def named(x):
    return x * len(str(x.sum()))

named(torch.ones(2))
""",
            "`str` wants the value itself",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        if site.finding.event == "compare":
            refuse("a membership test decides what runs")
        node = _subject(site)
        _require_symbol_will_do(site, node)
        torch, imports = site.refer("torch", outside=True)
        setting = SETTING.replace("torch", torch, 1)
        return Repair(
            "unsafe",
            "keep numbers read from tensors in the graph; the setting holds for the whole process",
            [site.at_module_level(f"{setting} = True\n"), *_conversions(site), *imports],
        )


def _subject(site: Site) -> cst.CSTNode:
    """What the number is: the expression that is read, or the call that is given a tensor for a number."""
    if site.finding.name == "builtin-on-tensor":
        name = site.callee(site.node).removeprefix("builtins.")
        require(name == "range", f"`{name}` wants the value itself")
        return site.node
    if site.finding.name == "tensor-as-bound" and isinstance(site.node, cst.Subscript):
        index = site.node.slice[0].slice
        tensor = as_tensor(site.value(index.value)) if isinstance(index, cst.Index) else None
        given = tensor is None or tensor.role == "input"
        require(given, f"`{site.flat(site.node)}` picks from a list by a value that is computed")
    require(site.finding.name != "values-to-list", "the list holds values that are not integers")
    if site.finding.name == "read-tensor-value":
        name = site.callee(site.node)
        require(name != "torch._check_tensor_all", "the check needs the values themselves")
        require(isinstance(site.node, cst.Call), "the value is read in another way than by a call")
    return site.node


def _require_symbol_will_do(site: Site, node: cst.CSTNode) -> None:
    """Refuses where a use of the number needs it while tracing."""
    sized = site.finding.name in ("tensor-as-size", "tensor-as-bound", "builtin-on-tensor")
    if not sized:
        test = decides(site, node)
        if test is not None:
            refuse(f"`{site.text(test)}` decides what runs")
    names = frozenset() if sized else derived(site, node)
    for part in walk(site.function.body):
        if part is not node and depends(part, node, names):
            _require_use(site, part, node, names)


def _require_use(site: Site, part: cst.CSTNode, node: cst.CSTNode, names: frozenset[str]) -> None:
    if isinstance(part, cst.FormattedStringExpression) and _is_number(site, part.expression):
        refuse(f"`{site.text(part.expression)}` is put into text")
    if isinstance(part, cst.Subscript) and site.tensor(part.value) is None and part.value is not node:
        for element in part.slice:
            index = element.slice
            if isinstance(index, cst.Index) and depends(index, node, names):
                refuse(f"`{site.text(part)}` picks from a list or dictionary by the value")
    if isinstance(part, cst.Call):
        name = site.callee(part)
        if name.startswith("math.") and name.removeprefix("math.") not in MATH:
            if any(_is_number_of(site, a, node, names) for a in part.args):
                refuse(f"`{name}` has no symbolic form")
        if name.rpartition(".")[2] in REFUSED and any(_is_number_of(site, a, node, names) for a in part.args):
            refuse(f"`{name}` needs the number itself")


def _is_number_of(site: Site, argument: cst.Arg, node: cst.CSTNode, names: frozenset[str]) -> bool:
    return depends(argument.value, node, names) and _is_number(site, argument.value)


def _is_number(site: Site, node: cst.CSTNode) -> bool:
    return site.value(node) is not None and as_tensor(site.value(node)) is None


def _conversions(site: Site) -> list[Edit]:
    """`int()` round tensors given as sizes to functions that do not take symbols for them by themselves."""
    node = site.node
    if site.finding.name not in ("tensor-as-size", "builtin-on-tensor") or not isinstance(node, cst.Call):
        return []
    last = site.callee(node).rpartition(".")[2].rstrip("_")
    require(last not in REFUSED, f"`{last}` needs the number itself")
    if last in SIZED:
        return []
    listed = any(isinstance(a.value, cst.List | cst.Tuple) for a in node.args)
    require(last in WRAPPED or last == "range" or (last == "split" and listed), f"`{last}` needs the number itself")
    if last == "split":
        return []
    edits = [site.replace(n, f"int({site.flat(n)})") for a in node.args for n in _tensors(site, a.value)]
    require(edits, "which of the arguments is a tensor is not in view")
    return edits


def _tensors(site: Site, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The integer tensors of no dimension in an argument or in the tuple or list that it is."""
    if isinstance(node, cst.Tuple | cst.List):
        return [found for e in node.elements for found in _tensors(site, e.value)]
    tensor = as_tensor(site.value(node))
    return [node] if tensor is not None and tensor.rank in (0, None) and tensor.dtype in ("int", "bool") else []
