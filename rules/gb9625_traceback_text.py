"""A traceback is turned into text inside a compiled region.

What breaks:
    `traceback.format_exc()`, `traceback.print_exc()`, `traceback.format_exception(…)` and
    `traceback.TracebackException` in an `except` block.
Why Dynamo breaks:
    The text needs the position in the bytecode (`tb_lasti`), which a traced exception does not have.
Example:
    except ValueError:
        message = traceback.format_exc()
Instead:
    except ValueError as error:
        message = str(error)
Fix:
    Use the text of the exception, or handle it outside the compiled function.
Torch versions:
    Since 2.12 under this id; GB0191 in 2.10 and 2.11, GB0007 before.
Limits:
    `str(error)`, `error.__traceback__` and `sys.exc_info()` do not break. Outside an `except` block `format_exc` has
    nothing to format and does not break.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta

OF_THE_CURRENT = ("traceback.format_exc", "traceback.print_exc")  # of nothing, outside an `except` block


class TracebackText(Rule):
    """Formatting of tracebacks."""

    meta = RuleMeta(
        code="GB9625",
        slug="traceback-text",
        summary="a traceback is formatted in a compiled region",
        category="supportable",
        advice="Use str(error), or handle the exception outside.",
        by_hand="the text of a traceback cannot be had without the traceback",
        torch=">=2.12",
        renamed=((">=2.10,<2.12", "GB0191"), ("<2.10", "GB0007")),
    )
    calls = (
        "traceback.format_exc", "traceback.print_exc", "traceback.format_exception", "traceback.print_exception",
        "traceback.TracebackException.from_exception",
    )  # fmt: skip
    BREAKS = (
        """
import traceback
import torch

@torch.compile
def run(x):
    try:
        raise ValueError("probe")
    except ValueError:
        text = traceback.format_exc()  # GB9625
    return x * len(text)

@torch.compile
def shown(x):
    try:
        raise ValueError("probe")
    except ValueError as error:
        text = traceback.format_exception(error)  # GB9625
    return x * len(text)

run(torch.ones(2))
shown(torch.ones(2))
""",
    )
    CLEAN = (
        """
import sys
import traceback
import torch

@torch.compile
def run(x):
    try:
        raise ValueError("probe")
    except ValueError as error:
        text = str(error)
        found = sys.exc_info() is not None and error.__traceback__ is not None
    none = traceback.format_exc()
    return x * len(text) if found else x * len(none)

run(torch.ones(2))
""",
        """
import torch

class Reporter:
    def format_exc(self):
        return "text"

@torch.compile
def run(x, traceback: Reporter):
    try:
        raise ValueError("probe")
    except ValueError:
        text = traceback.format_exc()
    return x * len(text)

run(torch.ones(2), Reporter())
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        if event.callee in OF_THE_CURRENT and not context.handling:
            return None
        return Break(f"`{context.text(event.node)}` needs positions that a traced exception does not have", 0.9)
