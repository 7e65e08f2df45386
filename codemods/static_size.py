"""A size that is known is given, so that no shape depends on contents.

What it does:
    `torch.bincount(ids, minlength=n)` becomes ones added up in `torch.zeros(n)`; `torch.arange(a, b).tolist()` becomes
    `list(range(a, b))`, `torch.ones(n, dtype=int).tolist()` `[1] * n`; `F.one_hot(ids)` whose result is combined with a
    tensor gets that tensor's last size for `num_classes`; `len(torch.unique(x))` counts the steps in sorted values.
    Where the size is not to be seen, a draft with `...` in its place is offered.
Applicability:
    Safe for lists of numbers. Unsafe for `bincount` (what is counted is taken to be below the length), `one_hot` and
    `unique` (the count becomes a tensor). A placeholder for `repeat_interleave` and `one_hot` of unknown size.
Preconditions:
    The call is one of these, in a form whose size follows from its arguments or from what its result meets.
Instead:
    `torch._dynamo.config.capture_dynamic_output_shape_ops = True`.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Declined,
    Example,
    Readers,
    Refusal,
    Repair,
    Site,
    as_tensor,
    is_pure,
    members,
    put,
    reads,
    refuse,
    require,
    type_name,
)

CASTS = ("float", "to", "double", "half", "long", "type_as", "bool", "bfloat16")
INTEGERS = ("int", "long", "int64", "int32")


class StaticSize(Codemod):
    """Calls that take, or have a form that takes, the size of their result."""

    meta = CodemodMeta(
        name="static-size",
        summary="give the size of a result that would depend on contents",
        fixes=("shape-from-contents", "integers-to-list", "values-to-list", "one-hot-without-classes"),
        rank=15,
    )
    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
def total(x: torch.Tensor):
    axes = torch.arange(1, x.dim()).tolist()
    return x.sum(dim=axes)

print("checksum", total(torch.ones(2, 3, 4)))
""",
            """
import torch

@torch.compile
def total(x: torch.Tensor):
    axes = list(range(1, x.dim()))
    return x.sum(dim=axes)

print("checksum", total(torch.ones(2, 3, 4)))
""",
        ),
        Example(
            """
import torch

@torch.compile
def histogram(labels):
    return torch.bincount(labels, minlength=4) / labels.numel()

print("checksum", histogram(torch.tensor([0, 1, 1, 3])))
""",
            """
import torch

@torch.compile
def histogram(labels):
    return (
        torch.zeros(4, dtype=torch.long, device=labels.device).scatter_add_(
            0, labels, torch.ones_like(labels)
        )
        / labels.numel()
    )

print("checksum", histogram(torch.tensor([0, 1, 1, 3])))
""",
            "unsafe",
        ),
        Example(
            """
import torch
import torch.nn.functional as F

@torch.compile
def dice(pred, target):
    hot = F.one_hot(target).float()
    return (pred * hot).sum()

print("checksum", dice(torch.ones(4, 3), torch.tensor([0, 1, 2, 1])))
""",
            """
import torch
import torch.nn.functional as F

@torch.compile
def dice(pred, target):
    hot = F.one_hot(target, num_classes=pred.shape[-1]).float()
    return (pred * hot).sum()

print("checksum", dice(torch.ones(4, 3), torch.tensor([0, 1, 2, 1])))
""",
            "unsafe",
        ),
        Example(
            """
import torch

@torch.compile
def lengthen(x, durations):
    return torch.repeat_interleave(x, durations, dim=0) * 2

print("checksum", lengthen(torch.ones(2), torch.tensor([1, 2])))
""",
            """
import torch

@torch.compile
def lengthen(x, durations):
    return torch.repeat_interleave(x, durations, dim=0, output_size=...) * 2

print("checksum", lengthen(torch.ones(2), torch.tensor([1, 2])))
""",
            "placeholder",
        ),
        Example(
            """
import torch

@torch.compile
def f(x: torch.Tensor, ids: torch.Tensor):
    kinds = len(torch.unique(x))
    more = x.unique().numel() + 1
    counts = ids.bincount(x, minlength=4)
    return x * kinds + more, counts

print("checksum", sum(t.sum().item() for t in f(torch.tensor([1.0, 2.0, 1.0]), torch.tensor([0, 1, 3]))))
""",
            """
import torch

@torch.compile
def f(x: torch.Tensor, ids: torch.Tensor):
    kinds = (x.flatten().sort().values.diff() != 0).sum() + 1
    more = ((x.flatten().sort().values.diff() != 0).sum() + 1) + 1
    counts = torch.zeros(4, dtype=x.dtype, device=ids.device).scatter_add_(0, ids, x)
    return x * kinds + more, counts

print("checksum", sum(t.sum().item() for t in f(torch.tensor([1.0, 2.0, 1.0]), torch.tensor([0, 1, 3]))))
""",
            "unsafe",
        ),
        Example(
            """
import torch

@torch.compile
def f(x: torch.Tensor, n: int):
    ones = torch.ones(n, dtype=torch.long).tolist()
    none = [2] + torch.zeros(n + 1, dtype=torch.int64, device="cpu").tolist()
    return x * len(ones + none)

print("checksum", f(torch.ones(2), 3).sum().item())
""",
            """
import torch

@torch.compile
def f(x: torch.Tensor, n: int):
    ones = [1] * n
    none = [2] + ([0] * (n + 1))
    return x * len(ones + none)

print("checksum", f(torch.ones(2), 3).sum().item())
""",
            "safe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def histogram(labels):
    return torch.bincount(labels) * 2

histogram(torch.tensor([0, 1, 1]))
""",
            "no `minlength`",
        ),
        Declined(
            """
import torch

@torch.compile
def lengths(mask):
    return mask.sum(1).tolist(), mask * 2

lengths(torch.ones(2, 2, dtype=torch.long))
""",
            "does not follow from Python numbers",
        ),
        Declined(
            """
import torch

@torch.compile
def hits(x):
    return x.nonzero() * 2

hits(torch.tensor([0, 1, 1]))
""",
            "has no form that takes a size",
        ),
        Declined(
            """
import torch
from torch.nn.functional import one_hot

@torch.compile
def f(n, x, ids):
    a = torch.ones(n).tolist()
    b = torch.ones(n, n, dtype=torch.long).tolist()
    c = torch.arange(n, dtype=torch.float32).tolist()
    d = torch.bincount(input=ids, minlength=4)
    e = torch.bincount(ids + 1, minlength=5) + torch.bincount(ids).sum()
    g = one_hot(ids, -1) * 2
    values = torch.unique(x)
    return a, b, c, d, e, g, len(torch.unique(x, dim=0)), values * 2

f(3, torch.ones(2), torch.tensor([0, 1]))
""",
            "the list is not known to be one of integers",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        node = site.node
        require(isinstance(node, cst.Call), "the result has no call of its own")
        assert isinstance(node, cst.Call)
        name = site.callee(node)
        last = name.rpartition(".")[2]
        if last == "tolist":
            return _numbers(site, node)
        if last == "bincount":
            return _counted(site, node, name)
        if last == "one_hot":
            return _encoded(site, node)
        if last == "unique":
            return _distinct(site, node, name)
        if last == "repeat_interleave":
            text = _with_argument(site, node, "output_size=...")
            return Repair("placeholder", "give the length of the result", put(site, site.statement(node), {node: text}))
        return refuse(f"`{last}` has no form that takes a size")


def _with_argument(site: Site, node: cst.Call, argument: str) -> str:
    given = [site.flat(a.with_changes(comma=cst.MaybeSentinel.DEFAULT)) for a in node.args]
    return f"{site.flat(node.func)}({', '.join([*given, argument])})"


def _numbers(site: Site, node: cst.Call) -> Repair:
    """A list that is a range, or repeats one number."""
    assert isinstance(node.func, cst.Attribute)
    made = node.func.value
    name = site.callee(made)
    args = [a.value for a in made.args if a.keyword is None] if isinstance(made, cst.Call) else []
    made_of = args and all(_is_integer(site, a) for a in args) and name in ("torch.arange", "torch.ones", "torch.zeros")
    require(made_of, f"`{site.flat(made)}` does not follow from Python numbers")
    assert isinstance(made, cst.Call)
    given = {a.keyword.value: site.flat(a.value) for a in made.args if a.keyword is not None}
    integers = given["dtype"].rpartition(".")[2] in INTEGERS if "dtype" in given else name == "torch.arange"
    require(integers and set(given) <= {"dtype", "device"}, "the list is not known to be one of integers")
    if name == "torch.arange":
        text = f"list(range({', '.join(site.flat(a) for a in args)}))"
    else:
        require(len(args) == 1, "the list has more than one dimension")
        text = f"[{'1' if name == 'torch.ones' else '0'}] * {site.operand(args[0])}"
        if isinstance(site.parent(node), cst.BinaryOperation):
            text = f"({text})"
    return Repair("safe", "make the list in Python", put(site, site.statement(node), {node: text}))


def _is_integer(site: Site, node: cst.BaseExpression) -> bool:
    value = site.value(node)
    return value is not None and all(type_name(m) == "int" for m in members(value))


def _counted(site: Site, node: cst.Call, name: str) -> Repair:
    keywords = {a.keyword.value: a.value for a in node.args if a.keyword is not None}
    args = [a.value for a in node.args if a.keyword is None]
    if name.startswith("torch.Tensor."):
        assert isinstance(node.func, cst.Attribute)
        args.insert(0, node.func.value)
    require("minlength" in keywords, "there is no `minlength`: the length is not known")
    require(args, "what is counted is not in view")
    ids = site.flat(args[0])
    require(isinstance(args[0], cst.Name | cst.Attribute), f"`{ids}` would be computed twice")
    torch, imports = site.refer("torch")
    weights = keywords.get("weights") or (args[1] if len(args) > 1 else None)
    length = site.flat(keywords["minlength"])
    require(weights is None or is_pure(site, [weights]), "the weights would be computed twice, side effects too")
    if weights is None:
        kind, added = f"{torch}.long", f"{torch}.ones_like({ids})"
    else:
        kind, added = f"{site.operand(weights)}.dtype", site.flat(weights)
    text = f"{torch}.zeros({length}, dtype={kind}, device={ids}.device).scatter_add_(0, {ids}, {added})"
    message = "add up ones in a tensor of the length given; what is counted is taken to be below it"
    return Repair("unsafe", message, [*put(site, site.statement(node), {node: text}), *imports], ("errors",))


def _encoded(site: Site, node: cst.Call) -> Repair:
    """The number of classes from the tensor that the encoding meets."""
    met = _met(site, node)
    given = [a for a in node.args if a.keyword is None]
    require(len(given) == 1, "the number of classes is given as -1")
    if met is None:
        text = _with_argument(site, node, "num_classes=...")
        return Repair("placeholder", "give the number of classes", put(site, site.statement(node), {node: text}))
    text = _with_argument(site, node, f"num_classes={met}.shape[-1]")
    message = f"give the number of classes; takes it to be the last size of `{met}`"
    return Repair("unsafe", message, put(site, site.statement(node), {node: text}))


def _met(site: Site, node: cst.BaseExpression) -> str | None:
    """The variable of the same number of dimensions that an encoding is combined with."""
    above = site.parent(node)
    call = site.parent(above) if isinstance(above, cst.Attribute) and above.attr.value in CASTS else None
    if isinstance(call, cst.Call):
        return _met(site, call)
    try:
        places = reads(site, node)
    except Refusal:
        return None
    for place in places:
        operation = site.parent(place)
        if isinstance(operation, cst.BinaryOperation):
            other = operation.right if operation.left is place else operation.left
            if isinstance(other, cst.Name) and _available(site, other, node) and _same_rank(site, other, place):
                return other.value
    return None


def _available(site: Site, other: cst.Name, node: cst.CSTNode) -> bool:
    """Whether a variable has its value already where the encoding is made."""
    if other.value in site.parameters() and not site.stores(other.value):
        return True
    return any(s not in site.after(node) for s in site.stores(other.value))


def _same_rank(site: Site, one: cst.BaseExpression, other: cst.BaseExpression) -> bool:
    ranks = [t.rank if t is not None else None for t in (as_tensor(site.value(one)), as_tensor(site.value(other)))]
    return None in ranks or ranks[0] == ranks[1]


def _distinct(site: Site, node: cst.Call, name: str) -> Repair:
    """`len(torch.unique(x))`"""
    above = site.parent(node)
    count = site.parent(above) if isinstance(above, cst.Arg | cst.Attribute) else None
    require(isinstance(count, cst.Call | cst.Subscript), "more than the number of distinct values is used")
    assert isinstance(count, cst.BaseExpression)
    counted = site.callee(count) == "builtins.len" or site.flat(count).endswith((".numel()", ".shape[0]", ".size(0)"))
    require(counted and site.parent(node) is not None, "more than the number of distinct values is used")
    args = [a.value for a in node.args]
    if name.startswith("torch.Tensor."):
        assert isinstance(node.func, cst.Attribute)
        args.insert(0, node.func.value)
    require(len(args) == 1, "`unique` is given more than a tensor")
    readers = Readers(site, kind="int")
    readers.texts[count] = f"({site.operand(args[0])}.flatten().sort().values.diff() != 0).sum() + 1"
    if not isinstance(site.parent(count), cst.Arg | cst.Assign | cst.Return):
        readers.texts[count] = f"({readers.texts[count]})"
    readers.follow(count)
    edits = [e for n, t in readers.texts.items() for e in put(site, site.statement(n), {n: t})]
    return Repair(
        "unsafe", "count the steps in the sorted values; the count becomes a tensor, and is 1 for no values", edits
    )
