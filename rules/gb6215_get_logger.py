"""`logging.getLogger(name)` inside a compiled region.

What breaks:
    `logging.getLogger` with a name, in the compiled function or in a helper it calls.
Why Dynamo breaks:
    The lookup walks the tree of loggers under a lock and compares attributes that Dynamo cannot resolve.
Example:
    def forward(self, x):
        logger = logging.getLogger(__name__)
Instead:
    logger = logging.getLogger(__name__)  # once, at module level
Fix:
    Move the lookup to module level. A call of the logger in the region still breaks (GB0291).
Torch versions:
    Since 2.13 under this id; before, GB0023.
Limits:
    `logging.getLogger()` without a name returns the root logger and does not break.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta, is_none


class GetLogger(Rule):
    """Lookups of loggers by name."""

    meta = RuleMeta(
        code="GB6215",
        slug="get-logger",
        summary="a logger is looked up in a compiled region",
        category="supportable",
        advice="Look the logger up once, at module level.",
        by_hand="which logger it is may depend on the call",
        torch=">=2.13",
        renamed=(("<2.13", "GB0023"),),
    )
    calls = ("logging.getLogger",)
    BREAKS = (
        """
import logging
import torch

def helper(name):
    return logging.getLogger(name)  # GB6215

@torch.compile
def step(x):
    logger = logging.getLogger(__name__)  # GB6215
    x = x + 1
    other = helper("other")
    return x * 2 if logger is other else x

step(torch.ones(2))
""",
    )
    CLEAN = (
        """
import logging
import torch

logger = logging.getLogger(__name__)

@torch.compile
def step(x):
    return x * 2 if logger is not None else x

step(torch.ones(2))
""",
        """
import logging
import torch

@torch.compile
def step(x):
    root = logging.getLogger()
    return x * 2 if root is not None else x

step(torch.ones(2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        name = event.argument(0, "name")
        if name is None or is_none(name):
            return None
        return Break(f"`{context.text(event.node)}` looks a logger up by name, which Dynamo cannot trace")
