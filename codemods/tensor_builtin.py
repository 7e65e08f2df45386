"""Functions of Python and its library, given tensors: the operation of torch instead.

What it does:
    `pow(t, 2)` becomes `t ** 2`, `math.sqrt(t)` `torch.sqrt(t)`, a kept `torch.equal(a, b)` `(a == b).all()`,
    `torch.allclose(a, b)` `torch.isclose(a, b).all()`, a kept `not t` `torch.logical_not(t)`;
    `torch.full_like(x, t)` and `x.new_full(size, t)` become an expanded `t`, `x.clamp(0.0, t)` two clamps.
Applicability:
    Safe for powers, and for fills and clamps with one value; a fill has to be of a floating point tensor with another.
    Unsafe for the rest: what was a Python number or truth value becomes a tensor, or an error goes unnoticed.
Preconditions:
    No reader needs a Python value: no branch, index, size, key or text. What is filled is only read.
Instead:
    Stay with tensors from the start.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    MATH,
    Codemod,
    CodemodMeta,
    Declined,
    Edit,
    Example,
    Readers,
    Repair,
    Site,
    as_tensor,
    is_pure,
    only_read,
    put,
    refuse,
    require,
)

FILLS = ("torch.full_like", "torch.Tensor.new_full")
CLAMPS = ("torch.clamp", "torch.clip", "torch.Tensor.clamp", "torch.Tensor.clip")


class TensorBuiltin(Codemod):
    """Calls that have an equivalent in torch."""

    meta = CodemodMeta(
        name="tensor-builtin",
        summary="use the operation of torch instead of Python's",
        fixes=("builtin-on-tensor", "tensor-comparison", "tensor-as-size"),
        rank=20,
    )
    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
def powers(x):
    return pow(x, 2) + pow(2, x + 1)

print("checksum", powers(torch.arange(3.0)))
""",
            """
import torch

@torch.compile
def powers(x):
    return x**2 + 2 ** (x + 1)

print("checksum", powers(torch.arange(3.0)))
""",
        ),
        Example(
            """
import torch

@torch.compile
def advantage(gamma, not_done, x):
    decay = torch.full_like(not_done, gamma * 0.5) * not_done
    return decay + x.new_full((3,), gamma.sum()) + x.clamp(0.0, gamma.mean())

print("checksum", advantage(torch.tensor(0.5), torch.ones(3), torch.ones(3)))
""",
            """
import torch

@torch.compile
def advantage(gamma, not_done, x):
    decay = (gamma * 0.5).detach().to(not_done).expand_as(not_done) * not_done
    return (
        decay
        + gamma.sum().detach().to(x).expand((3,))
        + x.clamp(min=0.0).clamp(max=gamma.mean().detach())
    )

print("checksum", advantage(torch.tensor(0.5), torch.ones(3), torch.ones(3)))
""",
        ),
        Example(
            """
import math

import torch

@torch.compile
def standardized(x, y):
    same = torch.equal(x, y)
    return x / math.sqrt(x.var()) * same

print("checksum", f"{standardized(torch.arange(3.0), torch.arange(3.0)).sum().item():.4f}")
""",
            """
import torch

@torch.compile
def standardized(x, y):
    same = (x == y).all()
    return x / torch.sqrt(x.var().detach()) * same

print("checksum", f"{standardized(torch.arange(3.0), torch.arange(3.0)).sum().item():.4f}")
""",
            "unsafe",
        ),
        Example(
            """
import torch

@torch.compile
def f(x: torch.Tensor, t: torch.Tensor):
    same = torch.allclose(x, x * 1, rtol=1e-3) * x
    off = not (x.sum() > 0)
    return same.sum() + (torch.is_nonzero(t.sum()) * x).sum() + off * x.sum()

print("checksum", f(torch.ones(2), torch.ones(2)).item())
""",
            """
import torch

@torch.compile
def f(x: torch.Tensor, t: torch.Tensor):
    same = torch.isclose(x, x * 1, rtol=1e-3).all() * x
    off = torch.logical_not((x.sum() > 0))
    return same.sum() + ((t.sum() != 0) * x).sum() + off * x.sum()

print("checksum", f(torch.ones(2), torch.ones(2)).item())
""",
            "unsafe",
        ),
        Example(
            """
import torch

@torch.compile
def f(x: torch.Tensor, t: torch.Tensor):
    a = torch.full_like(x, t.sum())
    a[0] = 1.0
    b = x.new_full((2, 2), t.sum()) * 2
    p = -pow(x, 2) + pow(x + 1, 3) + pow(x, 2) ** 2
    return a.sum() + b.sum() + p.sum()

print("checksum", f(torch.ones(2), torch.ones(2)).item())
""",
            """
import torch

@torch.compile
def f(x: torch.Tensor, t: torch.Tensor):
    a = torch.empty_like(x).copy_(t.sum().detach())
    a[0] = 1.0
    b = t.sum().detach().to(x).expand((2, 2)) * 2
    p = -(x**2) + (x + 1) ** 3 + (x**2) ** 2
    return a.sum() + b.sum() + p.sum()

print("checksum", f(torch.ones(2), torch.ones(2)).item())
""",
            "safe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def tied(x, y):
    if torch.equal(x, y):
        return x
    return x + y

tied(torch.ones(2), torch.ones(2))
""",
            "decides what runs",
        ),
        Declined(
            """
import torch

@torch.compile
def named(x):
    return x * len(str(x.sum()))

named(torch.ones(2))
""",
            "`str` has no equivalent",
        ),
        Declined(
            """
import torch

@torch.compile
def sized(n):
    return torch.zeros(n.max()) + 1

sized(torch.tensor([1, 2]))
""",
            "`torch.zeros` has no equivalent",
        ),
        Declined(
            """
import math
import torch

@torch.compile
def gammas(x):
    return x * math.erfc(x.sum())

gammas(torch.ones(2))
""",
            "`math.erfc` has no equivalent",
        ),
        Declined(
            """
import torch

@torch.compile
def typed(x, t):
    return torch.full_like(x, t.sum(), dtype=torch.float64)

typed(torch.ones(2), torch.ones(2))
""",
            "other properties than",
        ),
        Declined(
            """
import torch

@torch.compile
def f(x: torch.Tensor, t: torch.Tensor, limits: dict, parts):
    a = torch.clamp(input=x, min=0.0, max=t) + x.clamp(0.0, **limits) + pow(x, 2, None)
    b = torch.full_like(*parts) + torch.full_like(x, fill_value=t.sum(), dtype=torch.float64)
    return a, b, torch.equal(input=x, other=t), torch.allclose(input=x, other=t)

f(torch.ones(2), torch.tensor(1.0), {"max": torch.tensor(2.0)}, (torch.ones(2), torch.tensor(1.0)))
""",
            "what is compared is not in view",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        node = site.node
        if isinstance(node, cst.UnaryOperation) or not isinstance(node, cst.Call):
            above = site.parent(node)
            whole = node if isinstance(node, cst.UnaryOperation) else above
            return (
                _negated(site, whole) if isinstance(whole, cst.UnaryOperation) else refuse("a test decides what runs")
            )
        name = site.callee(node)
        if name == "builtins.pow":
            return _power(site, node)
        if name in FILLS:
            return _filled(site, node, name)
        if name in CLAMPS:
            return _clamped(site, node, name)
        if name == "builtins.range":
            return None
        return _replaced(site, node, name)


def _power(site: Site, node: cst.Call) -> Repair:
    require(len(node.args) == 2 and not any(a.keyword or a.star for a in node.args), "`pow` has a third argument")
    base, exponent = (site.operand(a.value) for a in node.args)
    positive = not site.is_plain(node.args[0].value) or base[0].isdigit()
    require(positive, f"`{base}` may be negative, which the code of a graph writes without parentheses")
    simple = all(isinstance(a.value, cst.Name | cst.BaseNumber | cst.Attribute) for a in node.args)
    text = f"{base}**{exponent}" if simple else f"{base} ** {exponent}"
    above = site.parent(node)
    tight = isinstance(above, cst.UnaryOperation | cst.Attribute | cst.Subscript) or (
        isinstance(above, cst.BinaryOperation) and isinstance(above.operator, cst.Power)
    )
    return Repair("safe", "use the operator", put(site, site.statement(node), {node: f"({text})" if tight else text}))


def _kept(site: Site, node: cst.BaseExpression) -> str:
    """A tensor's text, out of the gradient as a number read from it is."""
    text = site.operand(node)
    tensor = as_tensor(site.value(node))
    counts = tensor is not None and tensor.dtype in ("int", "bool")
    return text if counts or text.endswith(".detach()") else f"{text}.detach()"


def _filled(site: Site, node: cst.Call, name: str) -> Repair:
    """A fill with the value of a tensor."""
    require(len(node.args) == 2, "the fill has other properties than the tensor it is like")
    given = [a.star or (a.keyword.value if a.keyword is not None else "") for a in node.args]
    require(given[0] in ("", "input", "size") and given[1] in ("", "fill_value"), "the arguments are not in view")
    first, value = (a.value for a in node.args)
    require(_rank(site, value) == 0 or as_tensor(site.value(value)) is not None, "the value filled in is no tensor")
    target = first
    size = f"expand_as({site.flat(first)})"
    if name != "torch.full_like":
        assert isinstance(node.func, cst.Attribute)
        target, size = node.func.value, f"expand({site.flat(first)})"
    like = site.flat(target)
    require(is_pure(site, [target, first]), f"`{like}` would be computed twice")
    edits: list[Edit] = []
    if only_read(site, node):
        text = f"{_kept(site, value)}.to({like}).{size}"
    elif name == "torch.full_like":
        own, edits = site.refer("torch.empty_like")
        text = f"{own}({like}).copy_({_kept(site, value)})"
    else:
        text = f"{like}.new_empty({site.flat(first)}).copy_({_kept(site, value)})"
    edits = [*put(site, site.statement(node), {node: text}), *edits]
    if _rank(site, value) == 0 and all(getattr(site.tensor(n), "dtype", "") == "float" for n in (target, value)):
        return Repair("safe", "expand the value instead of filling with it", edits)
    message = "expand the value instead of filling with it; a value that does not fit, or is several, is no error"
    return Repair("unsafe", message, edits)


def _rank(site: Site, node: cst.BaseExpression) -> int | None:
    return getattr(as_tensor(site.value(node)), "rank", None)


def _clamped(site: Site, node: cst.Call, name: str) -> Repair:
    """`x.clamp(0.0, t)` with a number and a tensor."""
    require(not any(a.star for a in node.args), "the bounds are not in view")
    args = list(node.args)
    if ".Tensor." in name:
        assert isinstance(node.func, cst.Attribute)
        base = site.operand(node.func.value)
    else:
        require(args and args[0].keyword is None, "what is clamped is not in view")
        base = site.operand(args.pop(0).value)
    bounds = dict(zip(("min", "max"), [a.value for a in args if a.keyword is None], strict=False))
    bounds |= {a.keyword.value: a.value for a in args if a.keyword is not None}
    require(set(bounds) == {"min", "max"}, "the bounds are not in view")
    texts = {k: site.flat(v) if site.is_plain(v) else _kept(site, v) for k, v in bounds.items()}
    text = f"{base}.clamp(min={texts['min']}).clamp(max={texts['max']})"
    edits = put(site, site.statement(node), {node: text})
    if all(site.is_plain(v) or _rank(site, v) == 0 for v in bounds.values()):
        return Repair("safe", "clamp by the number and by the tensor", edits)
    return Repair("unsafe", "clamp by the number and by the tensor; one of several values is no error", edits)


def _replaced(site: Site, node: cst.Call, name: str) -> Repair:
    """A function that gives a Python value, by one that gives a tensor."""
    args = [a.value for a in node.args if a.keyword is None and not a.star]
    readers = Readers(site)
    imports: list[Edit] = []
    last = name.rpartition(".")[2]
    if name.startswith("math.") and last in MATH and len(args) == 1:
        own, imports = site.refer(f"torch.{MATH[last]}")
        readers.texts[node] = f"{own}({_kept(site, args[0])})"
        readers.kind = "float"
    elif last in ("equal", "allclose", "is_nonzero") and name.startswith("torch."):
        readers.texts[node], imports = _compared(site, node, last, args)
        readers.kind = "bool"
    else:
        refuse(f"`{site.flat(node.func)}` has no equivalent that gives a tensor")
    readers.doubt("the result is a tensor, not a Python value")
    readers.follow(node)
    outermost = {n: t for n, t in readers.texts.items() if not any(a in readers.texts for a in site.ancestors(n))}
    edits = [e for n, t in outermost.items() for e in put(site, site.statement(n), {n: t})]
    return Repair("unsafe", f"stay with tensors; {readers.doubts[0]}", [*edits, *imports])


def _compared(site: Site, node: cst.Call, last: str, args: list[cst.BaseExpression]) -> tuple[str, list[Edit]]:
    if isinstance(node.func, cst.Attribute) and site.callee(node).startswith("torch.Tensor."):
        args = [node.func.value, *args]
    if last == "is_nonzero":
        return f"({site.operand(args[0])} != 0)", []
    require(len(args) >= 2, "what is compared is not in view")
    if last == "equal":
        return f"({site.operand(args[0])} == {site.operand(args[1])}).all()", []
    isclose, imports = site.refer("torch.isclose")
    named = [site.flat(a.with_changes(comma=cst.MaybeSentinel.DEFAULT)) for a in node.args if a.keyword is not None]
    return f"{isclose}({', '.join([*(site.flat(a) for a in args), *named])}).all()", imports


def _negated(site: Site, node: cst.UnaryOperation) -> Repair:
    """A `not` whose value is kept."""
    readers = Readers(site)
    text, imports = site.refer("torch.logical_not")
    readers.texts[node] = f"{text}({site.flat(node.expression)})"
    readers.kind = "bool"
    readers.doubt("the result is a tensor, not a truth value")
    readers.follow(node)
    edits = [e for n, t in readers.texts.items() for e in put(site, site.statement(n), {n: t})]
    return Repair("unsafe", f"stay with tensors; {readers.doubts[0]}", [*edits, *imports])
