"""An iterator made into a list where the compiled function is called.

What it does:
    Dynamo cannot go through a generator, `zip` or dict view that was made outside of the region. The argument becomes a
    list at every call: `f(zip(a, b))` is written `f(list(zip(a, b)))`, a generator expression becomes a list. Where
    the function asks for items with `next`, it makes an iterator of its own from the list.
Applicability:
    Unsafe: all items are made before the function runs, and an iterator that is shared is used up.
Preconditions:
    The iterator is a parameter of the function. Every call is in view and gives it as an argument of its own. It is
    nothing endless (`itertools.count`, `cycle`, `repeat`, a generator function with `while True`).
Instead:
    Pass a list or a tuple.
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
    Stream,
    callers,
    function_info,
    refuse,
    require,
    walk,
)

_ENDLESS = ("count", "cycle", "repeat", "iter")


class ListForIterator(Codemod):
    """Passes a list instead of an iterator."""

    meta = CodemodMeta(
        name="list-for-iterator",
        summary="pass a list instead of an iterator into the compiled region",
        fixes=("iterator-from-outside", "next-of-outside-iterator", "loop-iterator-handed-over"),
        rank=30,
    )
    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
def dot(pairs):
    out = torch.zeros(())
    for a, b in pairs:
        out = out + (a * b).sum()
    return out

xs = [torch.ones(2), torch.ones(2)]
print("checksum", dot(zip(xs, xs)).item())
""",
            """
import torch

@torch.compile
def dot(pairs):
    out = torch.zeros(())
    for a, b in pairs:
        out = out + (a * b).sum()
    return out

xs = [torch.ones(2), torch.ones(2)]
print("checksum", dot(list(zip(xs, xs))).item())
""",
            "unsafe",
        ),
        Example(
            """
import torch

@torch.compile
def average(stream, steps):
    total = torch.zeros(3)
    for _ in range(steps):
        total = total + next(stream)
    return total / steps

print("checksum", average((torch.full((3,), float(i)) for i in range(4)), 3).sum().item())
""",
            """
import torch

@torch.compile
def average(stream, steps):
    stream = iter(stream)
    total = torch.zeros(3)
    for _ in range(steps):
        total = total + next(stream)
    return total / steps

print("checksum", average([torch.full((3,), float(i)) for i in range(4)], 3).sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

ROWS = iter([torch.ones(2), torch.ones(2)])

@torch.compile
def total(x):
    for row in ROWS:
        x = x + row
    return x

total(torch.ones(2))
""",
            "is no parameter",
        ),
        Declined(
            """
import itertools
import torch

@torch.compile
def first(xs, numbers):
    out = torch.zeros(2)
    for x, n in zip(xs, numbers):
        out = out + x * n
    return out

first([torch.ones(2)], itertools.count(1))
""",
            "may never end",
        ),
        Declined(
            """
import torch

@torch.compile
def starred(xs):
    out = torch.zeros(2)
    for x in xs:
        out = out + x
    return out

@torch.compile
def first(xs): return next(xs) * 2

def stream():
    yield torch.ones(2)

starred(*[stream()])
first(stream())
""",
            "with a star",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        name = self._parameter(site)
        given = any(isinstance(site.parent(n), cst.Return | cst.Element) for n in site.loads(name))
        require(not given, f"`{name}` itself is given back")
        edits: list[Edit] = []
        for call in callers(site):
            argument = _argument(site, call, name)
            edits.append(_as_list(site, call, argument))
        if any(_is_next(site, n, name) for n in walk(site.function.body)):
            require(not _sets(site, name), f"`{name}` is set again")
            edits.append(_own_iterator(site, name))
        return Repair("unsafe", f"pass `{name}` as a list; all its items are made before the call", edits)

    def _parameter(self, site: Site) -> str:
        names = [n.value for n in walk(site.node) if isinstance(n, cst.Name)]
        found = [n for n in names if n in site.parameters()]
        if isinstance(site.node, cst.Name) and not found:
            refuse(f"`{site.node.value}` is no parameter")
        require(found, "the iterator is no parameter")
        streams = [n for n in found if _is_stream(site, n)] or found
        require(len(set(streams)) == 1, "more than one parameter can be the iterator")
        return streams[0]


def _is_stream(site: Site, name: str) -> bool:
    return any(isinstance(site.value(load), Stream) for load in site.loads(name))


def _sets(site: Site, name: str) -> bool:
    return bool(site.stores(name))


def _is_next(site: Site, node: cst.CSTNode, name: str) -> bool:
    return (
        isinstance(node, cst.Call)
        and site.callee(node) == "builtins.next"
        and bool(node.args)
        and any(isinstance(n, cst.Name) and n.value == name for n in walk(node.args[0].value))
    )


def _own_iterator(site: Site, name: str) -> Edit:
    body = site.function.body
    require(isinstance(body, cst.IndentedBlock), "the function stands on one line")
    statements = [s for s in body.body if isinstance(s, cst.SimpleStatementLine | cst.BaseCompoundStatement)]
    first = statements[0]
    if isinstance(first, cst.SimpleStatementLine) and isinstance(first.body[0], cst.Expr):
        if isinstance(first.body[0].value, cst.SimpleString) and len(statements) > 1:
            first = statements[1]
    return site.insert_before(first, f"{name} = iter({name})\n")


def _argument(site: Site, call: Site, name: str) -> cst.BaseExpression:
    node = call.node
    assert isinstance(node, cst.Call)
    require(not any(a.star for a in node.args), "a call hands its arguments on with a star")
    for arg in node.args:
        if arg.keyword is not None and arg.keyword.value == name:
            return arg.value
    position = site.parameters().index(name)
    info = function_info(site)
    if info is not None and info.owner and "staticmethod" not in info.decorators:
        position -= 1
    positional = [a.value for a in node.args if a.keyword is None]
    require(0 <= position < len(positional), f"a call does not give `{name}`")
    return positional[position]


def _as_list(site: Site, call: Site, argument: cst.BaseExpression) -> Edit:
    name = call.flat(argument)
    made = argument
    if isinstance(argument, cst.Call):
        called = argument.func.attr if isinstance(argument.func, cst.Attribute) else argument.func
        if isinstance(called, cst.Name):
            own = [f for f in site.module.functions if f.qualname == called.value and f.is_generator]
            endless = called.value in _ENDLESS or any(_loops_forever(site, f.start, f.end) for f in own)
            require(not endless, f"`{name}` may never end")
    if isinstance(made, cst.GeneratorExp):
        text = call.text(made)
        if len(made.lpar) == 1:
            row, column, end_row, end_column = call.span(made)
            return Edit(call.module.path, row, column - 1, end_row, end_column + 1, f"[{text[1:-1]}]")
    return call.replace(argument, f"list({name})")


def _loops_forever(site: Site, start: int, end: int) -> bool:
    return any("while True" in line or "while 1" in line for line in site.lines[start - 1 : end])
