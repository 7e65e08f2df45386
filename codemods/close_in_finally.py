"""`with contextlib.closing(…):` as `try` and `finally`.

What it does:
    Makes the object in front of the block and closes it in a `finally` behind it, which is what the manager does.
Applicability:
    Safe: the same calls are made in the same order, with an error in the block as well.
Preconditions:
    The manager stands alone in its `with` statement, in a block of its own. `close` has no decorator.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import Codemod, CodemodMeta, Declined, Example, Repair, Site, is_decorated, require


class CloseInFinally(Codemod):
    """Closes in a `finally` what `contextlib.closing` closes."""

    meta = CodemodMeta(
        name="close-in-finally",
        summary="close in a finally, without contextlib.closing",
        fixes=("contextlib-manager", "unsupported-context-manager"),
        rank=20,
    )
    EXAMPLES = (
        Example(
            """
from contextlib import closing

import torch

closed = []


class Reader:
    def close(self):
        closed.append(1)


@torch.compile
def f(x):
    with closing(Reader()):
        y = x * 2
    with closing(Reader()) as reader:
        if reader is not None:
            y = y + 1
    return y


print("checksum", f(torch.ones(2)).sum().item(), len(closed))
""",
            """
import torch

closed = []


class Reader:
    def close(self):
        closed.append(1)


@torch.compile
def f(x):
    resource = Reader()
    try:
        y = x * 2
    finally:
        resource.close()
    reader = Reader()
    try:
        if reader is not None:
            y = y + 1
    finally:
        reader.close()
    return y


print("checksum", f(torch.ones(2)).sum().item(), len(closed))
""",
        ),
    )
    DECLINES = (
        Declined(
            """
from contextlib import closing

import torch


class Reader:
    @torch.no_grad()
    def close(self):
        pass


@torch.compile
def f(x):
    with closing(Reader()):
        return x * 2


f(torch.ones(2))
""",
            "`close` is decorated",
        ),
        Declined(
            """
from contextlib import closing, nullcontext

import torch


class Reader:
    def close(self):
        pass


@torch.compile
def f(x):
    with closing(Reader()), nullcontext():
        return x * 2


f(torch.ones(2))
""",
            "several parts",
        ),
        Declined(
            """
from contextlib import closing

import torch


class Reader:
    def close(self):
        pass


@torch.compile
def anew(x):
    with closing(Reader()) as reader:
        reader = None
        return x * 2, reader


@torch.compile
def short(x):
    with closing(Reader()) as reader: return x * 2, reader


@torch.compile
def in_a_list(x, found):
    with closing(Reader()) as found[0]:
        return x * 2


@torch.compile
def unpacked(x, parts):
    with closing(*parts, **{}):
        return x * 2


anew(torch.ones(2))
short(torch.ones(2))
in_a_list(torch.ones(2), [None])
unpacked(torch.ones(2), [Reader()])
""",
            "is bound anew in the block",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        block = site.node if isinstance(site.node, cst.With) else site.enclosing(site.node, cst.With)
        if block is None or not any(site.callee(item.item) == "contextlib.closing" for item in block.items):
            return None
        require(len(block.items) == 1, "the `with` statement has several parts")
        (item,) = block.items
        assert isinstance(item.item, cst.Call)
        require(len(item.item.args) == 1, "the call of `closing` has an unusual form")
        require(isinstance(block.body, cst.IndentedBlock), "the block stands on the line of its `with`")
        require(
            not is_decorated(site, item.item.args[0].value, "close"), "`close` is decorated, which may break the graph"
        )
        target = item.asname.name if item.asname is not None else None
        require(target is None or isinstance(target, cst.Name), "the object is not bound to a plain name")
        name = target.value if isinstance(target, cst.Name) else site.fresh("resource")
        first, last = site.span(block)[0], site.last_row(block)
        rebound = target is not None and any(first < site.span(n)[0] <= last for n in site.stores(name))
        require(not rebound, f"`{name}` is bound anew in the block")
        lines = [s for s in block.body.body if isinstance(s, cst.SimpleStatementLine | cst.BaseCompoundStatement)]
        step = site.step
        text = (
            f"{name} = {site.flat(item.item.args[0].value)}\n"
            f"try:\n{site.body_text(lines, step)}finally:\n{step}{name}.close()\n"
        )
        return Repair("safe", "close in a `finally`", [site.replace_lines(block, block, text)])
