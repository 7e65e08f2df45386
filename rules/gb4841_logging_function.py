"""A function of the `logging` module (the root logger) inside a compiled region.

What breaks:
    `logging.info`, `logging.warning`, `logging.debug`, `logging.error`, `logging.critical`, `logging.exception` and
    `logging.log`, also when imported by name; and `traceback.format_tb`.
Why Dynamo breaks:
    These functions look at the handlers of the root logger, an object whose type Dynamo cannot tell. That logging is a
    side effect would stop it anyway.
Example:
    logging.warning("mask is ignored")
Instead:
    if not torch.compiler.is_compiling():
        logging.warning("mask is ignored")
Fix:
    Guard the call as above, remove it, or add the function to `torch._dynamo.config.ignore_logging_functions` or
    `reorderable_logging_functions`.
Torch versions:
    Since 2.12 under this id; before, GB0156.
Limits:
    Methods of a logger object are GB0291, `logging.getLogger(name)` is GB6215, `logging.warn` is GB0007.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta

ALLOWING = (
    "torch._dynamo.config.reorderable_logging_functions",
    "torch._dynamo.config.ignore_logging_functions",
)


class LoggingFunction(Rule):
    """Module-level functions of logging."""

    meta = RuleMeta(
        code="GB4841",
        slug="logging-function",
        summary="a function of `logging` is called in a compiled region",
        category="supportable",
        advice="Guard it with `if not torch.compiler.is_compiling():`, or add it to ignore_logging_functions.",
        torch=">=2.12",
        renamed=(("<2.12", "GB0156"),),
    )
    measured = True
    calls = (
        "logging.debug", "logging.info", "logging.warning", "logging.error", "logging.critical", "logging.exception",
        "logging.log", "traceback.format_tb",
    )  # fmt: skip
    BREAKS = (
        """
import logging
from logging import warning
import torch

@torch.compile
def step(x):
    y = x * 2
    logging.info("doubled")  # GB4841
    y = y + 1
    warning("added")  # GB4841
    y = y + 1
    logging.log(20, "again")  # GB4841
    return y - 1

step(torch.ones(2))
""",
    )
    CLEAN = (
        """
import logging
import torch

LEVEL = logging.getLevelName(logging.INFO)

@torch.compile
def step(x):
    if not torch.compiler.is_compiling():
        logging.info("eager only")
    if logging.root is not None and LEVEL == "INFO" and logging.getLevelName(20) == "INFO":
        x = x + 1
    return x * 2

logging.info(step(torch.ones(2)))
""",
        """
import logging
import torch

torch._dynamo.config.ignore_logging_functions.add(logging.info)

@torch.compile
def step(x):
    logging.info("dropped")
    return x * 2

step(torch.ones(2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        listed = ", ".join(context.settings.get(setting, "") for setting in ALLOWING)
        if event.callee in listed.split(", "):
            return None
        return Break(f"`{context.text(event.node)}` uses the root logger, which Dynamo cannot trace")
