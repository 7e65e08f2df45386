"""A method of a logger inside a compiled region.

What breaks:
    Every method of a `logging.Logger` or `LoggerAdapter`: `info`, `debug`, `warning`, … and also the questions
    `isEnabledFor`, `getEffectiveLevel`, `hasHandlers`, `getChild`, whether the level is enabled or not.
Why Dynamo breaks:
    Logging is a side effect on handlers and files. Dynamo does not look at the level first: the call itself ends the
    graph.
Example:
    logger.debug("scores %s", scores.shape)
Instead:
    if not torch.compiler.is_compiling():
        logger.debug("scores %s", scores.shape)
Fix:
    Guard the call as above, remove it, or add the method to `torch._dynamo.config.ignore_logging_functions`
    (`logging.Logger.debug` covers all loggers; the message is then dropped under compile).
Torch versions:
    Since 2.10 under this id; before, the break had none.
Limits:
    Passing a logger around or reading an attribute without comparing it does not break. Functions of the `logging`
    module (`logging.info`) are GB4841.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta


class LoggerMethod(Rule):
    """Methods of loggers."""

    meta = RuleMeta(
        code="GB0291",
        slug="logger-method",
        summary="a logger is called in a compiled region",
        category="supportable",
        advice="Guard it with `if not torch.compiler.is_compiling():`, or add it to ignore_logging_functions.",
        by_hand="what the logger is asked for would have to be known without it",
        torch=">=2.10",
        renamed=(("<2.10", ""),),
        confidence=0.97,
    )
    calls = ("logging.Logger.*", "logging.LoggerAdapter.*", "logging.RootLogger.*")
    BREAKS = (
        """
import logging
import torch
from torch import nn

log = logging.getLogger(__name__)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.logger = logging.getLogger("net")

    def forward(self, x):
        y = x * 2
        log.info("doubled")  # GB0291
        y = y + 1
        self.logger.debug("added %s", y.shape)  # GB0291
        return y - 1

torch.compile(Net())(torch.ones(2))
""",
        """
import logging
import torch

log = logging.getLogger("checks")
adapter = logging.LoggerAdapter(log, {})

def announce(logger, text):
    logger.warning(text)  # GB0291

@torch.compile
def step(x):
    if log.isEnabledFor(logging.DEBUG):  # GB0291
        x = x + 1
    announce(log, "step")
    x = x * 2
    adapter.error("late")  # GB0291
    return x + 1

step(torch.ones(2))
""",
    )
    CLEAN = (
        """
import logging
import torch

log = logging.getLogger(__name__)

@torch.compile
def step(x):
    if not torch.compiler.is_compiling():
        log.info("eager only")
    if log is not None and isinstance(log, logging.Logger):
        x = x + 1
    return x * 2

log.info(step(torch.ones(2)))
""",
        """
import logging
import torch

log = logging.getLogger(__name__)
torch._dynamo.config.ignore_logging_functions.add(logging.Logger.info)

@torch.compile
def step(x):
    log.info("dropped")
    return x * 2

step(torch.ones(2))
""",
        """
import torch

class Logger:
    def info(self, x):
        return x + 1

log = Logger()

@torch.compile
def step(x):
    return log.info(x)

step(torch.ones(2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        method = event.callee.rpartition(".")[2]
        if method == "addHandler" or method in _ignored(context):
            return None
        return Break(f"`{context.text(event.node)}` logs, which is a side effect that cannot be part of a graph")


def _ignored(context: Context) -> set[str]:
    """Names of the methods that the project tells Dynamo to skip."""
    listed = context.settings.get("torch._dynamo.config.ignore_logging_functions", "")
    listed += ", " + context.settings.get("torch._dynamo.config.ignore_logger_methods", "")
    return {name.rpartition(".")[2] for name in listed.split(", ")}
