"""A value computed outside of the compiled region and passed in.

What it does:
    Makes a value that cannot be computed while tracing a parameter of the function, and computes it where the function
    is called; a caller that is traced itself gets it too. Signature and calls change together, in every file.
Applicability:
    Unsafe: the value is computed before the function's own work, on every call, also where a branch would not have
    needed it, and a random draw moves in the order of draws.
Preconditions:
    The value depends on the function's arguments and on globals alone. It is computed once a call. Every call of the
    function is in view, in code of the project, and what it passes can be written twice or named on a line of its own.
Instead:
    Do the same by hand, or keep the value a tensor.
"""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Declined,
    Edit,
    Example,
    Refusal,
    Repair,
    Site,
    callers,
    calling,
    lift,
    refuse,
    replaced,
    require,
    walk,
    walk_scope,
)

_READERS = (
    "read-tensor-value", "integers-to-list", "values-to-list", "builtin-on-tensor", "tensor-as-bound",
    "length-of-tensor-text", "non-tensor-result", "shape-from-contents", "boolean-mask-read", "numpy-scalar",
    "tensor-comparison", "repr-of-tensor", "branch-on-tensor",
)  # fmt: skip
_OUTSIDE = (
    "context-variable", "opaque-method", "skipped-call", "generator-argument", "generator-construction",
    "generator-method", "is-inference", "inference-mode-query", "dir-of-object", "data-pointer-comparison",
    "unmodelled-numpy-function", "factory-requires-grad", "random-number-arithmetic", "random-number-converted",
)  # fmt: skip
_CLOCKS = ("time.", "logging.", "warnings.")
_PROCESS = ("os.getpid", "os.getppid", "threading.get_ident", "threading.get_native_id")


class PassFromCaller(Codemod):
    """Computes a value in eager code and passes it in."""

    meta = CodemodMeta(
        name="pass-from-caller",
        summary="compute a value in the caller and pass it in",
        fixes=(*_READERS, *_OUTSIDE),
        rank=70,
    )
    EXAMPLES = (
        Example(
            """
from contextvars import ContextVar
import torch
import torch.nn as nn

window = ContextVar("window", default=0)

class Attention(nn.Module):
    def forward(self, x):
        w = window.get()
        if w:
            x = x.tril(w)
        return x + 1

attn = torch.compile(Attention())
total = attn(torch.ones(3, 3)).sum()
window.set(2)
print("checksum", (total + attn(torch.ones(3, 3)).sum()).item())
""",
            """
from contextvars import ContextVar
import torch
import torch.nn as nn

window = ContextVar("window", default=0)

class Attention(nn.Module):
    def forward(self, x, w):
        if w:
            x = x.tril(w)
        return x + 1

attn = torch.compile(Attention())
total = attn(torch.ones(3, 3), window.get()).sum()
window.set(2)
print("checksum", (total + attn(torch.ones(3, 3), window.get()).sum()).item())
""",
            "unsafe",
        ),
        Example(
            """
import torch
import torch.nn as nn

class Sampler(nn.Module):
    def forward(self, x, sigma, seed):
        g = torch.Generator().manual_seed(seed)
        noise = torch.randn(x.shape, generator=g)
        return x + 0.1 * sigma * noise

sample = torch.compile(Sampler())
x = torch.ones(2, 6)
for sigma in (1.0, 0.5):
    x = sample(x, sigma, 7)
print("checksum", x.sum().item())
""",
            """
import torch
import torch.nn as nn

class Sampler(nn.Module):
    def forward(self, x, sigma, seed, noise):
        return x + 0.1 * sigma * noise

sample = torch.compile(Sampler())
x = torch.ones(2, 6)
for sigma in (1.0, 0.5):
    x = sample(x, sigma, 7, torch.randn(x.shape, generator=torch.Generator().manual_seed(7)))
print("checksum", x.sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def f(x):
    y = x * 2
    y += 1
    return x * y.sum().item()

f(torch.ones(2))
""",
            "is a result of the function's own work",
        ),
        Declined(
            """
import torch

@torch.compile
def f(x, times):
    for _ in range(2):
        x = x * times.sum().item()
    return x

f(torch.ones(2), torch.ones(2))
""",
            "computed anew in each round of a loop",
        ),
        Declined(
            """
import torch

@torch.compile
def f(x, scale):
    return x * scale.item()

f(*(torch.ones(2), torch.tensor(2.0)))
""",
            "with a star",
        ),
        Declined(
            """
import torch

@torch.compile
def f(x, scale):
    return x * scale.item()

def each(xs):
    return [f(x, torch.tensor(float(len(xs)))) for x in xs]

each([torch.ones(2)])
g = f
""",
            "not all its calls are in view",
        ),
        Declined(
            """
import torch

@torch.compile
def f(x, n=None):
    if n is not None:
        x = x[: n.item()]
    return x

f(torch.ones(2), torch.tensor(1))
f(torch.ones(2))
""",
            "is None at a call",
        ),
        Declined(
            """
import os
import torch

@torch.compile
def f(x):
    return x + os.getpid()

f(torch.ones(2))
""",
            "another in every process",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        try:
            expression = self._expression(site)
            if expression is None:
                return None
            edits, text = self._lifted(site, expression, 0)
        except Refusal:
            outer = self._outer_call(site)  # where all of a helper's work is none of the graph's
            if outer is None:
                raise
            edits, text = self._lifted(outer, outer.node, 1)  # type: ignore[arg-type]
        return Repair("unsafe", f"compute `{text}` in the caller and pass it in; it is then computed first", edits)

    def _expression(self, site: Site) -> cst.BaseExpression | None:
        """What is to be computed outside."""
        node = site.node
        if not isinstance(node, cst.BaseExpression):
            return None
        if site.callee(node).startswith(_CLOCKS):
            return None
        require(site.callee(node) not in _PROCESS, "the value is another in every process")
        if site.finding.name in ("random-number-arithmetic", "random-number-converted", "tensor-as-bound"):
            node = _drawn(site, node) or node
        if site.finding.name in ("generator-construction", "generator-method"):
            return self._draw(site, node)
        while isinstance(above := site.parent(node), cst.Attribute | cst.Call) and _is_chain(above, node):
            node = above
        node = _whole_condition(site, node)
        if isinstance(node, cst.Attribute):  # the method of what is called: not a value of its own
            return None
        outer = site.parent(node)
        if isinstance(outer, cst.Subscript) and outer.value is node and _is_constant_index(outer):
            node = outer
        if isinstance(site.parent(node), cst.Expr):
            refuse("the call is made for what it does, not for its value")
        return node

    def _draw(self, site: Site, node: cst.BaseExpression) -> cst.BaseExpression | None:
        """The one call that a new generator is used for."""
        while isinstance(above := site.parent(node), cst.Attribute | cst.Call) and _is_chain(above, node):
            node = above
        if isinstance(above, cst.Arg):
            call = site.parent(above)
            return call if isinstance(call, cst.Call) else None
        if not isinstance(above, cst.Assign) or not isinstance(above.targets[0].target, cst.Name):
            refuse("the generator is kept")
        loads = site.loads(above.targets[0].target.value)
        call = site.parent(site.parent(loads[0]) or loads[0]) if len(loads) == 1 else None
        if not isinstance(call, cst.Call):
            refuse("the generator is used for more than one draw")
        return call

    def _lifted(self, site: Site, expression: cst.BaseExpression, depth: int) -> tuple[list[Edit], str]:
        write: Callable[[str], str] = str
        if site.finding.name == "branch-on-tensor" and depth == 0:
            require(_only_tested(site, expression), "an `and` or `or` gives the value itself, not only its truth")
            write = _truth
        drawn = _draws(site, expression)
        lifted = lift(site, [(e, _wanted(site, e)) for e in drawn], write)
        edits = list(lifted.edits)
        for each, name in zip(drawn, lifted.names, strict=True):
            edits += replaced(site, each, name)
        return edits, ", ".join(site.flat(e) for e in drawn)

    def _outer_call(self, site: Site) -> Site | None:
        """The one traced call of the function around, where that gives no tensor."""
        called = calling(site)
        if len(called) != 1 or site.value(called[0]) is None or site.tensor(called[0]) is not None:
            return None
        try:
            found = callers(site)
        except Refusal:
            return None
        if len(found) != 1 or not isinstance(found[0].node, cst.BaseExpression):
            return None
        (call,) = found
        return None if isinstance(call.parent(call.node), cst.Expr) else call


def _drawn(site: Site, node: cst.CSTNode) -> cst.BaseExpression | None:
    """The draw of Python's `random` that a variable in an expression holds."""
    for name in (n for n in walk(node) if isinstance(n, cst.Name)):
        for store in site.stores(name.value):
            assign = site.parent(site.parent(store) or store)
            if isinstance(assign, cst.Assign) and site.callee(assign.value).startswith("random."):
                return assign.value
    return None


def _draws(site: Site, expression: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The expression; of Python's random numbers all that the function draws, so that their order stays."""
    if not site.callee(expression).startswith("random."):
        return [expression]
    calls = [c for c in walk_scope([site.function.body]) if isinstance(c, cst.Call)]
    return sorted((c for c in calls if site.callee(c).startswith("random.")), key=site.span)


def _only_tested(site: Site, node: cst.BaseExpression) -> bool:
    """Whether no more than the truth of a value is asked for: it is no side of an `and` or `or` whose value is used."""
    above = site.parent(node)
    while isinstance(above, cst.BooleanOperation):
        node, above = above, site.parent(above)
        whole = isinstance(above, cst.BooleanOperation | cst.If | cst.While | cst.IfExp | cst.Assert | cst.CompIf)
        negated = isinstance(above, cst.UnaryOperation) and isinstance(above.operator, cst.Not)
        asked = isinstance(above, cst.Arg) and site.callee(site.parent(above) or above) == "builtins.bool"
        if not (whole or negated or asked) or (isinstance(above, cst.IfExp) and above.test is not node):
            return False
    return True


def _truth(text: str) -> str:
    return f"bool({text})"


def _whole_condition(site: Site, node: cst.BaseExpression) -> cst.BaseExpression:
    """What stands behind an `and`, `or` or `if` of an expression is computed only if that says so: all of it, then."""
    inner: cst.CSTNode = node
    whole = node
    for above in site.ancestors(node):
        if not isinstance(above, cst.BaseExpression | cst.ComparisonTarget):
            break
        is_second = isinstance(above, cst.BooleanOperation) and above.right is inner
        if is_second or (isinstance(above, cst.IfExp) and above.test is not inner):
            whole = above  # type: ignore[assignment]
        inner = above
    return whole


def _is_chain(above: cst.CSTNode, node: cst.CSTNode) -> bool:
    return isinstance(above, cst.Attribute) or (isinstance(above, cst.Call) and above.func is node)


def _is_constant_index(node: cst.Subscript) -> bool:
    return all(isinstance(e.slice, cst.Index) and isinstance(e.slice.value, cst.Integer) for e in node.slice)


def _wanted(site: Site, expression: cst.BaseExpression) -> str:
    """A name for the value: that of the variable it is put in, else after what is called."""
    above = site.parent(expression)
    if isinstance(above, cst.Assign) and isinstance(above.targets[0].target, cst.Name):
        return above.targets[0].target.value
    names = [n.value for n in walk(expression) if isinstance(n, cst.Name)]
    if isinstance(expression, cst.Call):
        func = expression.func
        if isinstance(func, cst.Attribute) and func.attr.value in ("item", "tolist", "get", "now"):
            base = func.value
            if isinstance(base, cst.Attribute):
                return base.attr.value.lower()
            if isinstance(base, cst.Name):
                return f"{base.value.lower()}_value"
        if site.callee(expression).startswith("random."):
            return "draw"
        if isinstance(func, cst.Attribute):
            return func.attr.value
        if isinstance(func, cst.Name) and expression.args and isinstance(expression.args[0].value, cst.Name):
            return f"{expression.args[0].value.value}_{func.value}"
    return f"{names[0]}_value" if len(names) == 1 else "value"
