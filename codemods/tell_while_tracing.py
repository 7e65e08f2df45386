"""A message that is given once is given while Dynamo traces.

What it does:
    Calls the method of a logger that tells the same thing only once through a function of the module that Dynamo runs
    while tracing and takes for a constant (`torch._dynamo.assume_constant_result`).
Applicability:
    Safe: the method remembers what it was called with, so the message is given at the first call, and never again, in
    eager and in compiled code.
Preconditions:
    The method is made by `logging.Logger.NAME = function`, in this file or in a module that it imports, and the
    function is cached without limit (`functools.lru_cache(None)` or `functools.cache`). Its result is not used; its
    arguments are Python values that do not depend on sizes.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Const,
    Declined,
    Edit,
    Example,
    ModuleInfo,
    Plain,
    Repair,
    Site,
    members,
    refuse,
    require,
)

_CACHE = re.compile(r"(?:functools\.)?(?:lru_cache\((?:maxsize=)?None\)|cache)")


class TellWhileTracing(Codemod):
    """Messages given once become constants of the trace."""

    meta = CodemodMeta(
        name="tell-while-tracing",
        summary="give a message that comes once while tracing",
        fixes=("logger-method",),
        rank=15,
        logging=("guard",),
    )
    EXAMPLES = (
        Example(
            """
import functools
import logging

import torch


@functools.lru_cache(None)
def warning_once(self, *args):
    self.warning(*args)


logging.Logger.warning_once = warning_once
logger = logging.getLogger("model")


@torch.compile
def f(x, scale: int = 2):
    logger.warning_once("scale is %d", scale)
    return x * scale


print("checksum", f(torch.ones(2)).sum().item())
""",
            """
import functools
import logging

import torch


@torch._dynamo.assume_constant_result
def _warning_once(*args):
    logger.warning_once(*args)


@functools.lru_cache(None)
def warning_once(self, *args):
    self.warning(*args)


logging.Logger.warning_once = warning_once
logger = logging.getLogger("model")


@torch.compile
def f(x, scale: int = 2):
    _warning_once("scale is %d", scale)
    return x * scale


print("checksum", f(torch.ones(2)).sum().item())
""",
        ),
        Example(
            """
import functools
import logging

from torch import compile, ones


@functools.lru_cache(None)
def warning_once(self, *args):
    self.warning(*args)


logging.Logger.warning_once = warning_once
logger = logging.getLogger("model")


@compile
def f(x, scale: int = 2):
    import torch

    logger.warning_once("scale is %d", scale)
    return torch.relu(x) * scale


print("checksum", f(ones(2)).sum().item())
""",
            """
import functools
import logging

import torch
from torch import compile, ones


@torch._dynamo.assume_constant_result
def _warning_once(*args):
    logger.warning_once(*args)


@functools.lru_cache(None)
def warning_once(self, *args):
    self.warning(*args)


logging.Logger.warning_once = warning_once
logger = logging.getLogger("model")


@compile
def f(x, scale: int = 2):
    import torch

    _warning_once("scale is %d", scale)
    return torch.relu(x) * scale


print("checksum", f(ones(2)).sum().item())
""",
        ),
        Example(
            """
import functools
import logging

import torch

NAME = "model"


@functools.cache
def warning_once(self, *args):
    self.warning(*args)


logging.Logger.warning_once = warning_once
logger = logging.getLogger(NAME)


@torch.compile
def f(x, size: int):
    logger.warning_once(f"used {NAME} {1.5}" " at most %s times %s", 3, None)
    return x * size


print("checksum", f(torch.ones(2), 2).sum().item())
""",
            """
import functools
import logging

import torch


@torch._dynamo.assume_constant_result
def _warning_once(*args):
    logger.warning_once(*args)

NAME = "model"


@functools.cache
def warning_once(self, *args):
    self.warning(*args)


logging.Logger.warning_once = warning_once
logger = logging.getLogger(NAME)


@torch.compile
def f(x, size: int):
    _warning_once(f"used {NAME} {1.5}" " at most %s times %s", 3, None)
    return x * size


print("checksum", f(torch.ones(2), 2).sum().item())
""",
            "safe",
        ),
    )
    DECLINES = (
        Declined(
            """
import logging

import torch

logger = logging.getLogger("model")


@torch.compile
def f(x):
    logger.warning("each time")
    return x * 2


f(torch.ones(2))
""",
            "`logger.warning` is not known to give a message once",
        ),
        Declined(
            """
import functools
import logging

import torch


@functools.lru_cache(None)
def warning_once(self, *args):
    self.warning(*args)


logging.Logger.warning_once = warning_once
logger = logging.getLogger("model")


@torch.compile
def f(x):
    logger.warning_once("rows: %d", x.shape[0])
    return x * 2


f(torch.ones(2))
""",
            "`x.shape[0]` is no constant",
        ),
        Declined(
            """
import functools
import logging

import torch


@functools.cache
def warning_once(self, *args, **kwargs):
    self.warning(*args, **kwargs)


logging.Logger.warning_once = warning_once
logger = logging.getLogger("model")


@torch.compile
def f(x, told):
    y = logger.warning_once("used")
    told.warning_once("own")
    logger.warning_once("named", stacklevel=2)
    logger.warning_once(*("one", "by one"))
    logging.getLogger("other").warning_once("made")
    return x * 2, y


@torch.compile
def g(x):
    logger = logging.getLogger("inner")
    logger.warning_once("local")
    return x * 2


f(torch.ones(2), logger)
g(torch.ones(2))
""",
            "is no global logger",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        call = site.node
        if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
            return None
        logger, name = call.func.value, call.func.attr.value
        what = site.flat(call.func)
        require(_told_once(site, name), f"`{what}` is not known to give a message once")
        statement = site.lone_statement(call)
        require(isinstance(statement, cst.Expr) and statement.value is call, "the result of the call is used")
        require(isinstance(logger, cst.Name) and logger.value in site.module.bindings, f"`{what}` is no global logger")
        require(not site.binds(site.flat(logger)), f"`{site.flat(logger)}` is a variable of the function")
        for argument in call.args:
            require(not argument.star and argument.keyword is None, "the arguments are not given one by one")
            require(_is_constant(site, argument.value), f"`{site.flat(argument.value)}` is no constant")
        decorator, imports = site.refer("torch._dynamo.assume_constant_result", outside=True)
        helper, edits = _helper(site, name, f"@{decorator}\ndef {{name}}(*args):\n    {what}(*args)\n")
        return Repair("safe", "give the message, which comes once, while tracing", [
            site.replace(call.func, helper), *edits, *imports,
        ])  # fmt: skip


def _helper(site: Site, name: str, text: str) -> tuple[str, list[Edit]]:
    """The name of the function of the module that gives the message, and the edit that adds it if it is not there."""
    known = "\n".join(site.lines)
    if text.format(name=f"_{name}") in known:
        return f"_{name}", []
    own = site.fresh(f"_{name}")
    return own, [site.at_module_level("\n" + text.format(name=own))]


def _told_once(site: Site, method: str) -> bool:
    """Whether a method was given to loggers that remembers what it was called with."""
    if hasattr(logging.Logger, method):
        return False
    given = f"logging.Logger.{method}"
    return any(
        _remembers(module, name) for module in _modules(site) for attribute, name in module.given if attribute == given
    )


def _remembers(module: ModuleInfo, name: str) -> bool:
    """Whether a function of a module is cached without limit."""
    found = (f for f in module.functions if f.qualname == name and not f.owner)
    return any(_CACHE.fullmatch(decorator) for f in found for decorator in f.decorators)


def _modules(site: Site) -> Iterator[ModuleInfo]:
    """The file and the modules that it imports, those it has names of included."""
    yield site.module
    project = site.machine.project
    for bindings in site.module.bindings.values():
        for binding in bindings:
            if binding.kind != "import" or not binding.target:
                continue
            for dotted in (f"{binding.target}.{binding.attr}", binding.target):
                module = project.find(dotted, site.module)
                if module is not None:
                    yield module


def _is_constant(site: Site, node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.FormattedString):
        parts = [p.expression for p in node.parts if isinstance(p, cst.FormattedStringExpression)]
        return all(_is_constant(site, part) for part in parts)
    if isinstance(node, cst.ConcatenatedString):
        return _is_constant(site, node.left) and _is_constant(site, node.right)
    if isinstance(node, cst.SimpleString | cst.BaseNumber):
        return True
    value = site.value(node)
    if value is None:
        refuse(f"`{site.flat(node)}` is not known")
    return all(isinstance(m, Const) or (isinstance(m, Plain) and not m.symbolic) for m in members(value))
