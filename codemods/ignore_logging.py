"""Logging and warning by a function that Dynamo is told to leave out.

What it does:
    Adds the very function or method to `torch._dynamo.config.ignore_logging_functions`, at module level (for the method
    of a logger of the module that is the bound one, for another logger the method of the class): compiled code does not
    call it, and no statement changes.
Applicability:
    Unsafe: compiled code loses the message, in every module that uses the function or method.
Preconditions:
    `[tool.gblint.fix] logging = "ignore"`. The result of the call is not used.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import Codemod, CodemodMeta, Declined, Edit, Example, Instance, Repair, Site, require

CONFIG = "torch._dynamo.config.ignore_logging_functions"
FUNCTIONS = ("builtins.print", "warnings.warn", "logging.")


class IgnoreLogging(Codemod):
    """Lets Dynamo leave out logging functions."""

    meta = CodemodMeta(
        name="ignore-logging",
        summary="leave logging functions out of compiled code",
        fixes=("print-call", "warnings-warn", "logging-function", "logger-method"),
        rank=10,
        logging=("ignore",),
    )
    EXAMPLES = (
        Example(
            """
import logging
import warnings

import torch

logger = logging.getLogger(__name__)


@torch.compile
def f(x):
    y = x * 2
    logger.info("doubled %s", y.shape)
    warnings.warn("no mask")
    return y + 1


print("checksum", f(torch.ones(2)).sum().item())
""",
            """
import logging
import warnings

import torch

torch._dynamo.config.ignore_logging_functions.add(warnings.warn)

logger = logging.getLogger(__name__)
torch._dynamo.config.ignore_logging_functions.add(logger.info)


@torch.compile
def f(x):
    y = x * 2
    logger.info("doubled %s", y.shape)
    warnings.warn("no mask")
    return y + 1


print("checksum", f(torch.ones(2)).sum().item())
""",
            "unsafe",
        ),
        Example(
            """
import logging

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.log = logging.getLogger("net")

    def forward(self, x):
        self.log.debug("in")
        return x * 2


print("checksum", torch.compile(Net())(torch.ones(2)).sum().item())
""",
            """
import logging

import torch
from torch import nn

torch._dynamo.config.ignore_logging_functions.add(logging.Logger.debug)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.log = logging.getLogger("net")

    def forward(self, x):
        self.log.debug("in")
        return x * 2


print("checksum", torch.compile(Net())(torch.ones(2)).sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import logging
import torch

log = logging.getLogger(__name__)

@torch.compile
def f(x):
    return x + 1 if log.isEnabledFor(10) else x

f(torch.ones(2))
""",
            "the result of the call is used",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        call = site.node
        if not isinstance(call, cst.Call):
            return None
        require(isinstance(site.parent(call), cst.Expr), "the result of the call is used")
        config, imports = site.refer(CONFIG)
        place = self._bound(site, call, config) or self._function(site, call, config)
        require(place, f"what `{site.flat(call.func)}` is, is not known")
        return Repair("unsafe", "let Dynamo leave the call out of compiled code", [*place, *imports], ("effects",))

    def _bound(self, site: Site, call: cst.Call, config: str) -> list[Edit]:
        """Behind the statement that makes the logger of a module, where the call is of one."""
        if site.finding.name != "logger-method" or not isinstance(call.func, cst.Attribute):
            return []
        base = call.func.value
        if not isinstance(base, cst.Name) or site.binds(base.value):
            return []
        bound = site.module.bindings.get(base.value, [])
        if len(bound) != 1 or bound[0].kind != "assign" or bound[0].guard:
            return []
        row = bound[0].end + 1
        text = f"{config}.add({site.text(call.func)})\n"
        return [Edit(site.module.path, row, 1, row, 1, text)]

    def _method(self, site: Site, call: cst.Call) -> str:
        """The method of the class of loggers that is called on an object."""
        if not isinstance(call.func, cst.Attribute) or site.finding.name != "logger-method":
            return ""
        value = site.value(call.func.value)
        base = value.base if isinstance(value, Instance) else ""
        return f"{base}.{call.func.attr.value}" if base.startswith("logging.") else ""

    def _function(self, site: Site, call: cst.Call, config: str) -> list[Edit]:
        own = site.callee(call) or self._method(site, call)
        if not own.startswith(FUNCTIONS):
            return []
        dotted = own.removeprefix("builtins.")
        name, imports = (dotted, []) if dotted != own else site.refer(dotted)
        return [*site.configure(f"{config}.add({name})\n"), *imports]
