"""Managers that an ExitStack enters one by one are entered by a `with` statement.

What it does:
    Replaces `with contextlib.ExitStack() as stack:` and the calls of `stack.enter_context` that its block starts with
    by one `with` statement over the managers.
Applicability:
    Safe: the managers are made, entered and left in the same order, with an error in the block as well. Unsafe where
    a manager may swallow errors: those that Dynamo itself meets in the block are not swallowed.
Preconditions:
    The stack is used in nothing but those calls, which come first in the block and stand under no condition. The
    methods that enter and leave a manager of the project have no decorator, at which Dynamo may break.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import Codemod, CodemodMeta, Declined, Example, Repair, Site, is_decorated, require, swallows


class UnstackContexts(Codemod):
    """Enters by `with` what an ExitStack enters."""

    meta = CodemodMeta(
        name="unstack-contexts",
        summary="enter managers by `with`, not by an ExitStack",
        fixes=("skipped-call", "opaque-method", "unsupported-context-manager", "contextlib-manager"),
        rank=20,
    )
    EXAMPLES = (
        Example(
            """
import contextlib

import torch

@torch.compile
def f(x):
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        mode = stack.enter_context(contextlib.nullcontext(2))
        y = x * mode
        return y

print("checksum", f(torch.ones(2)).sum().item())
""",
            """
import contextlib

import torch

@torch.compile
def f(x):
    with torch.no_grad(), contextlib.nullcontext(2) as mode:
        y = x * mode
        return y

print("checksum", f(torch.ones(2)).sum().item())
""",
        ),
    )
    DECLINES = (
        Declined(
            """
import contextlib

import torch


class Section:
    @torch.no_grad()
    def __enter__(self):
        return 2

    def __exit__(self, *exc):
        return False


@torch.compile
def f(x):
    with contextlib.ExitStack() as stack:
        factor = stack.enter_context(Section())
        return x * factor


f(torch.ones(2))
""",
            "has a decorated method",
        ),
        Declined(
            """
import contextlib

import torch

@torch.compile
def f(x, grad):
    with contextlib.ExitStack() as stack:
        if not grad:
            stack.enter_context(torch.no_grad())
        return x * 2

f(torch.ones(2), False)
""",
            "used in other ways",
        ),
        Declined(
            """
import contextlib

import torch

@torch.compile
def nothing(x):
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.no_grad())
    return x * 2

@torch.compile
def several(x):
    with contextlib.ExitStack() as stack, torch.no_grad():
        stack.enter_context(torch.enable_grad())
        y = x * 2
    return y

@torch.compile
def long(x):
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.autocast(device_type="cpu", dtype=torch.bfloat16))
        stack.enter_context(torch.no_grad())
        stack.enter_context(torch.enable_grad())
        y = x @ x
    return y

@torch.compile
def passed_on(x, enter):
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        enter(stack)
        y = x * 2
    return y

for f in (nothing, several, long):
    f(torch.ones(2, 2))
passed_on(torch.ones(2), len)
""",
            "the block does nothing but enter",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        block = site.node if isinstance(site.node, cst.With) else self._stack(site)
        if block is None or site.callee(block.items[0].item) != "contextlib.ExitStack":
            return None
        require(len(block.items) == 1, "the `with` statement has several parts")
        target = block.items[0].asname.name if block.items[0].asname is not None else None
        if not isinstance(target, cst.Name) or not isinstance(block.body, cst.IndentedBlock):
            return None
        lines = [s for s in block.body.body if isinstance(s, cst.SimpleStatementLine | cst.BaseCompoundStatement)]
        items: list[str] = []
        entered: list[cst.BaseExpression] = []
        for line in lines:
            call = self._call(site, line, target.value)
            text = self._item(site, line, call) if call is not None else ""
            if call is None or not text:
                break
            items.append(text)
            entered.append(call.args[0].value)
        rest = lines[len(items) :]
        require(items and len(site.loads(target.value)) == len(items), f"`{target.value}` is used in other ways too")
        require(rest, "the block does nothing but enter")
        head = f"with {', '.join(items)}:"
        require(len(site.indent(block)) + len(head) <= 88, "the managers do not fit on one line")
        text = f"{head}\n{site.body_text(rest, site.step)}"
        swallowed = any(swallows(site, item) for item in entered)
        message = "enter the managers by `with`" + (
            "; an error that Dynamo meets is not swallowed" if swallowed else ""
        )
        return Repair("unsafe" if swallowed else "safe", message, [site.replace_lines(block, block, text)])

    def _stack(self, site: Site) -> cst.With | None:
        for above in site.ancestors(site.node):
            if isinstance(above, cst.With) and site.callee(above.items[0].item) == "contextlib.ExitStack":
                return above
        return None

    def _call(self, site: Site, line: cst.CSTNode, stack: str) -> cst.Call | None:
        """The call of `enter_context` that a line is, with its result bound or not."""
        if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
            return None
        (small,) = line.body
        if not isinstance(small, cst.Expr | cst.Assign) or not isinstance(small.value, cst.Call):
            return None
        call = small.value
        return call if site.text(call.func) == f"{stack}.enter_context" and len(call.args) == 1 else None

    def _item(self, site: Site, line: cst.CSTNode, call: cst.Call) -> str:
        """The item of a `with` that does what a line with such a call does; "" if there is none."""
        small = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
        entered = call.args[0].value
        require(
            not is_decorated(site, entered, "__enter__", "__exit__"), f"`{site.flat(entered)}` has a decorated method"
        )
        text = site.flat(entered)
        if not isinstance(small, cst.Assign):
            return text
        target = small.targets[0].target
        return f"{text} as {site.text(target)}" if len(small.targets) == 1 and isinstance(target, cst.Name) else ""
