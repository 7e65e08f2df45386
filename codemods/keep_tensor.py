"""A value stays a tensor of no dimension instead of being read into Python.

What it does:
    Takes `.item()`, `float()`, `int()`, `bool()` and `.tolist()` off where every reader takes a tensor, and writes the
    readers anew that would not: `math.sqrt(n)` becomes `torch.sqrt(n)`, `min(n, 1.0)` `torch.clamp(n, max=1.0)`,
    `sum(t.tolist())` `t.sum()`. `2 in ids` becomes `(ids == 2).any()`. `.detach()` keeps the gradient out, as the
    number did, and `.clone()` later changes in place, where there are any.
Applicability:
    Safe where tensors of floats of one dimension or more are only added to the number, subtracted, multiplied by it or
    divided by it: such operations take a number and a tensor of no dimension alike. Unsafe for the rest: callers and
    readers of dictionaries, lists and attributes see tensors, and what Python computed in double precision is computed
    in that of the tensor.
Preconditions:
    No reader needs a number: no branch, index, size, key or text.
Instead:
    `torch._dynamo.config.capture_scalar_outputs = True`, which keeps numbers; or read outside the compiled region.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Declined,
    Example,
    Readers,
    Repair,
    Site,
    as_tensor,
    listed,
    may_change,
    put,
    refuse,
    require,
)

KINDS = {"builtins.float": "float", "builtins.int": "int", "builtins.bool": "bool"}


class KeepTensor(Codemod):
    """Values read from tensors for no need."""

    meta = CodemodMeta(
        name="keep-tensor",
        summary="keep a value as a tensor instead of reading it into Python",
        fixes=("read-tensor-value", "values-to-list", "integers-to-list"),
        rank=30,
    )
    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
def scaled(rows):
    return torch.stack([row * row.sum().item() for row in rows])

print("checksum", scaled([torch.ones(2), torch.ones(2)]))
""",
            """
import torch

@torch.compile
def scaled(rows):
    return torch.stack([row * row.sum().detach() for row in rows])

print("checksum", scaled([torch.ones(2), torch.ones(2)]))
""",
        ),
        Example(
            """
import torch

@torch.compile
def step(pred, target):
    loss = (pred - target).pow(2).mean()
    logs = {"loss": loss.item()}
    logs["hits"] = int((pred > 0).sum()) / (pred.numel() + 1e-6)
    return loss, logs

loss, logs = step(torch.ones(3), torch.zeros(3))
print("checksum", f"{logs['loss'] + logs['hits']:.3f}")
""",
            """
import torch

@torch.compile
def step(pred, target):
    loss = (pred - target).pow(2).mean()
    logs = {"loss": loss.detach()}
    logs["hits"] = (pred > 0).sum() / (pred.numel() + 1e-6)
    return loss, logs

loss, logs = step(torch.ones(3), torch.zeros(3))
print("checksum", f"{logs['loss'] + logs['hits']:.3f}")
""",
            "unsafe",
        ),
        Example(
            """
import math

import torch

@torch.compile
def damped(x):
    scale = math.sqrt(x.square().sum().item())
    return x * min(scale / 3, 1.0)

print("checksum", f"{damped(torch.ones(4)).sum().item():.3f}")
""",
            """
import torch

@torch.compile
def damped(x):
    scale = torch.sqrt(x.square().sum().detach())
    return x * torch.clamp(scale / 3, max=1.0)

print("checksum", f"{damped(torch.ones(4)).sum().item():.3f}")
""",
            "unsafe",
        ),
        Example(
            """
import torch

@torch.compile
def best(scores, names):
    top = scores.topk(2)
    first, second = top.values.tolist()
    margin = first - second
    return {n: s for n, s in zip(names, top.values.tolist())}, margin, sum(scores.tolist())

print("checksum", [float(v) for v in best(torch.tensor([0.5, 2.0, 1.0]), ["a", "b"])[0].values()])
""",
            """
import torch

@torch.compile
def best(scores, names):
    top = scores.topk(2)
    first, second = top.values.detach().unbind()
    margin = first - second
    return (
        {n: s for n, s in zip(names, top.values.detach().unbind())},
        margin,
        scores.detach().sum(),
    )

print("checksum", [float(v) for v in best(torch.tensor([0.5, 2.0, 1.0]), ["a", "b"])[0].values()])
""",
            "unsafe",
        ),
        Example(
            """
import torch

@torch.compile
def padded(ids, x):
    flag = 0 in ids
    return x * flag

print("checksum", padded(torch.tensor([0, 1]), torch.ones(2)))
""",
            """
import torch

@torch.compile
def padded(ids, x):
    flag = (ids == 0).any()
    return x * flag

print("checksum", padded(torch.tensor([0, 1]), torch.ones(2)))
""",
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
def crop(x, n):
    size = n.max().item()
    return x[:size]

crop(torch.ones(3), torch.tensor([1, 2]))
""",
            "`size` is an index or a bound",
        ),
        Declined(
            """
import torch

@torch.compile
def named(x):
    return x, f"{x.mean().item():.2f}"

named(torch.ones(3))
""",
            "is put into text",
        ),
        Declined(
            """
import torch

@torch.compile
def sized(x):
    return torch.zeros(int(x.max())) + 1

sized(torch.ones(3))
""",
            "`torch.zeros` needs a number",
        ),
        Declined(
            """
import torch

@torch.compile
def parted(x, counts):
    sizes = (counts + 1).tolist()
    return torch.split(x, sizes)

@torch.compile
def divided(x, counts):
    sizes = counts.tolist()
    return x.split(split_size=sizes, dim=0)

parted(torch.ones(4), torch.tensor([1, 1]))
divided(torch.ones(4), torch.tensor([2, 2]))
""",
            "split` needs numbers",
        ),
        Declined(
            """
import torch

@torch.compile
def rows(x):
    return x, x.tolist()

rows(torch.ones(3, 2))
""",
            "lists in lists",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        readers = Readers(site)
        node = site.node
        if site.finding.name != "read-tensor-value":
            listed(readers, node)
        elif isinstance(node, cst.Comparison):
            readers.texts[node] = _membership(site, node)
            readers.kind = "bool"
            readers.follow(node)
        else:
            require(isinstance(node, cst.Call), "the value is read in another way than by a call")
            assert isinstance(node, cst.Call)
            outer = _outermost(site, node)
            readers.texts[outer] = _kept(readers, node, outer)
            readers.follow(outer)
        texts = readers.texts
        outermost = {n: t for n, t in texts.items() if not any(a in texts for a in site.ancestors(n))}
        edits = [e for n, t in outermost.items() for e in put(site, site.statement(n), {n: t})]
        imports = site.refer("torch")[1]
        message = "keep the value as a tensor"
        if readers.doubts:
            return Repair("unsafe", f"{message}; {readers.doubts[0]}", [*edits, *imports])
        return Repair("safe", message, [*edits, *imports])


def _outermost(site: Site, node: cst.Call) -> cst.Call:
    """`float(t.item())` is one reading."""
    arg = site.parent(node)
    call = site.parent(arg) if isinstance(arg, cst.Arg) else None
    if isinstance(call, cst.Call) and site.callee(call) in ("builtins.float", "builtins.int") and len(call.args) == 1:
        return call
    return node


def _kept(readers: Readers, node: cst.Call, outer: cst.Call) -> str:
    """The tensor that takes the place of the number."""
    site = readers.site
    name = site.callee(node)
    tensor = _subject(site, node)
    require(name not in ("torch._check_tensor_all", "itertools.islice"), f"`{name}` needs the value itself")
    value = as_tensor(site.value(tensor))
    dtype = value.dtype if value is not None else ""
    text = site.flat(tensor)
    closed = isinstance(tensor, cst.Name | cst.Attribute | cst.Call | cst.Subscript) or bool(tensor.lpar)
    suffix = ""
    for call in (node,) if outer is node else (node, outer):
        wanted = KINDS.get(site.callee(call))
        if wanted and wanted != dtype:
            known = dtype or wanted != "float"  # what is converted to it already stays as it is
            suffix += {"float": ".float()", "int": ".long()", "bool": ".bool()"}[wanted] if known else ""
            dtype = wanted if known else ""
            if not dtype:
                readers.doubt(f"takes `{text}` to hold what `{wanted}` makes of it")
    readers.kind = dtype
    if dtype in ("float", "complex", "") and not text.endswith(".detach()"):
        suffix = ".detach()" + suffix
    if value is not None and value.rank:
        suffix += ".reshape(())"
    elif value is None or value.rank is None:
        readers.doubt(f"takes `{text}` to have no dimensions")
    if may_change(site, tensor):
        suffix += ".clone()"
    return text + suffix if closed or not suffix else f"({text}){suffix}"


def _subject(site: Site, node: cst.Call) -> cst.BaseExpression:
    if isinstance(node.func, cst.Attribute) and site.callee(node).startswith("torch.Tensor."):
        return node.func.value
    if len(node.args) != 1:
        refuse("which argument is read is not in view")
    return node.args[0].value


def _membership(site: Site, node: cst.Comparison) -> str:
    target = node.comparisons[0]
    require(len(node.comparisons) == 1 and isinstance(target.operator, cst.In), "the test is one of several")
    require(site.is_plain(node.left), f"`{site.flat(node.left)}` may be a tensor of any shape")
    return f"({site.operand(target.comparator)} == {site.flat(node.left)}).any()"
