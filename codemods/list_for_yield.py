"""A list returned instead of a generator.

What it does:
    Dynamo skips the frame of a generator function, so compiling one does nothing. Each `yield value` becomes
    `items.append(value)`, `yield from more` becomes `items.extend(more)`, and the list is returned at the end.
Applicability:
    Unsafe: all values are made before the caller sees the first, and the caller gets a list: no `next`.
Preconditions:
    Every `yield` is a statement of its own, nothing is sent in, and no `return` gives a value. The function
    is not handed on by its name, and no call that is seen hands the generator to `next`.
Instead:
    Compile the function that consumes the generator.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Declined,
    Example,
    Repair,
    Site,
    reads,
    require,
    seen_callers,
    walk_scope,
)


class ListForYield(Codemod):
    """Makes compiled generator functions return lists."""

    meta = CodemodMeta(
        name="list-for-yield",
        summary="return a list instead of yielding from a compiled function",
        fixes=("compiled-generator",),
        rank=30,
    )
    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
def patches(x, size):
    for i in range(0, x.shape[0], size):
        yield x[i : i + size] * 2

print("checksum", torch.stack(list(patches(torch.ones(4), 2))).sum().item())
""",
            """
import torch

@torch.compile
def patches(x, size):
    items = []
    for i in range(0, x.shape[0], size):
        items.append(x[i : i + size] * 2)
    return items

print("checksum", torch.stack(list(patches(torch.ones(4), 2))).sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def totals(x):
    while True:
        y = yield x
        x = x + y

totals(torch.ones(2))
""",
            "what is sent in is used",
        ),
        Declined(
            """
import torch

@torch.compile
def ends(x):
    yield x * 2
    return x

@torch.compile
def endless(x):
    while True:
        yield x * 2

@torch.compile
def forever(x):
    while 1:
        yield x * 2

@torch.compile
def short(x): yield x * 2

for f in (ends, endless, forever, short):
    next(f(torch.ones(2)))
""",
            "a `return` gives a value",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        function = site.function if not isinstance(site.node, cst.FunctionDef) else site.node
        inside = list(walk_scope([function.body]))
        yields = [n for n in inside if isinstance(n, cst.Yield)]
        require(yields, "the function does not yield")
        for node in yields:
            require(isinstance(site.parent(node), cst.Expr), "what is sent in is used")
        endless = [n for n in inside if isinstance(n, cst.While) and site.text(n.test) in ("True", "1")]
        require(not endless, "the generator may never end")
        returns = [n for n in inside if isinstance(n, cst.Return)]
        require(all(r.value is None for r in returns), "a `return` gives a value")
        require(isinstance(function.body, cst.IndentedBlock), "the function stands on one line")
        for call in seen_callers(site):
            _check_reader(call)
        name = site.fresh("items")
        edits = []
        for node in yields:
            source = node.value
            if isinstance(source, cst.From):
                edits.append(site.replace(node, f"{name}.extend({site.flat(source.item)})"))
            else:
                value = site.flat(source) if source is not None else "None"
                edits.append(site.replace(node, f"{name}.append({value})"))
        edits += [site.replace(r, f"return {name}") for r in returns]
        body = [s for s in function.body.body if isinstance(s, cst.SimpleStatementLine | cst.BaseCompoundStatement)]
        first = body[0]
        is_text = isinstance(first, cst.SimpleStatementLine) and isinstance(first.body[0], cst.Expr)
        if is_text and isinstance(first.body[0].value, cst.SimpleString) and len(body) > 1:  # type: ignore[union-attr,index]
            first = body[1]
        edits.insert(0, site.insert_before(first, f"{name} = []\n"))
        edits.append(site.insert_after(body[-1], f"return {name}\n"))
        return Repair("unsafe", "return a list; all values are made before the caller sees one", edits)


def _check_reader(call: Site) -> None:
    """Refuses where the values of a call are taken one by one, or sent for, which a list has no way to do."""
    if not isinstance(call.node, cst.BaseExpression):
        return
    for place in reads(call, call.node):
        above = call.parent(place)
        user = call.parent(above) if isinstance(above, cst.Arg) else None
        if isinstance(user, cst.Call):
            require(call.text(user.func) != "next", "`next` takes its values one by one")
        require(not isinstance(above, cst.Attribute), "a method of the generator is called")
