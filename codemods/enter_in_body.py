"""A context manager used as a decorator is entered in the function's body.

What it does:
    Takes the decorator off and puts the body of the function into a `with` statement: the manager is then made while
    Dynamo traces, which it can follow, instead of outside, which it cannot.
Applicability:
    Unsafe: the manager is made in each call, with the arguments as they are then.
Preconditions:
    The manager is the function's only decorator, and is called there. The body holds no string over several lines that
    would be moved.
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
    definition,
    marked,
    require,
    without_decorator,
)


class EnterInBody(Codemod):
    """Makes a `with` statement of a decorator."""

    meta = CodemodMeta(
        name="enter-in-body",
        summary="enter a context manager in the body, not by a decorator",
        fixes=("library-lock",),
        rank=30,
    )
    EXAMPLES = (
        Example(
            """
import contextlib

import torch

modes = ["train"]


class exploration(contextlib.ContextDecorator):
    def __init__(self, mode):
        self.mode = mode

    def __enter__(self):
        modes.append(self.mode)
        return self

    def __exit__(self, *exc):
        modes.pop()
        return False


@exploration("sure")
def act(x):
    \"\"\"What to do.\"\"\"
    # the mode decides
    if modes[-1] == "sure":
        return x * 2
    return x * 3


print("checksum", torch.compile(act)(torch.ones(2)).sum().item())
""",
            """
import contextlib

import torch

modes = ["train"]


class exploration(contextlib.ContextDecorator):
    def __init__(self, mode):
        self.mode = mode

    def __enter__(self):
        modes.append(self.mode)
        return self

    def __exit__(self, *exc):
        modes.pop()
        return False


def act(x):
    \"\"\"What to do.\"\"\"
    # the mode decides
    with exploration("sure"):
        if modes[-1] == "sure":
            return x * 2
        return x * 3


print("checksum", torch.compile(act)(torch.ones(2)).sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import contextlib

import torch


class counted(contextlib.ContextDecorator):
    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False


counting = counted()


@counting
def act(x):
    return x * 2


print("checksum", torch.compile(act)(torch.ones(2)).sum().item())
""",
            "made elsewhere",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        function = marked(site)
        if function is None or function.mark != "context_decorator":
            return None
        place, tree = definition(site, function)
        require(len(tree.decorators) == 1, f"`{function.name}` has other decorators too")
        (decorator,) = tree.decorators
        manager = decorator.decorator
        require(isinstance(manager, cst.Call), f"the manager of `{function.name}` is made elsewhere")
        require(
            isinstance(tree.body, cst.IndentedBlock), f"the body of `{function.name}` stands on the line of its `def`"
        )
        body = [s for s in tree.body.body if isinstance(s, cst.SimpleStatementLine | cst.BaseCompoundStatement)]
        if tree.get_docstring() is not None:
            body = body[1:]
        require(body, f"`{function.name}` has no body besides its docstring")
        text = f"with {place.text(manager)}:\n{place.body_text(body, place.step)}"
        edits = [without_decorator(place, decorator), place.replace_lines(body[0], body[-1], text)]
        return Repair("unsafe", f"enter the context manager in the body of `{function.name}`, anew in each call", edits)
