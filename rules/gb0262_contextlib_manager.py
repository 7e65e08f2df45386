"""A context manager of `contextlib` that Dynamo does not support.

What breaks:
    `contextlib.closing(…)`, `contextlib.redirect_stdout(…)` and `contextlib.redirect_stderr(…)`; the `with` that
    enters the result breaks again (GB0142).
Why Dynamo breaks:
    What these managers do at the end of the block (closing, restoring a stream) is a side effect Dynamo does not
    model.
Example:
    with contextlib.closing(reader):
        y = x * reader.scale
Instead:
    try:
        y = x * reader.scale
    finally:
        reader.close()
Fix:
    Enter the manager outside the compiled function.
Torch versions:
    Since 2.9, where `suppress` and `ExitStack` break too. `closing` is traced since 2.15.
Limits:
    `contextlib.nullcontext`, `suppress`, `ExitStack` and functions decorated with `contextmanager` do not break;
    `contextlib.chdir` and `ExitStack.enter_context` are GB0007.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Construct, Context, Rule, RuleMeta

NAMES = ("contextlib.closing", "contextlib.redirect_stdout", "contextlib.redirect_stderr", "contextlib.aclosing")
NAMES_OF_2_9 = ("contextlib.suppress", "contextlib.ExitStack")


class ContextlibManager(Rule):
    """Unsupported managers of contextlib."""

    meta = RuleMeta(
        code="GB0262",
        slug="contextlib-manager",
        summary="a contextlib manager that Dynamo does not support",
        category="supportable",
        advice="Enter it outside the compiled function.",
        torch=">=2.9",
    )
    calls = (*NAMES, *NAMES_OF_2_9)
    BREAKS = (
        """
import contextlib
import io
from contextlib import closing
import torch

class Reader:
    def close(self):
        pass

READER = Reader()
SINK = io.StringIO()

@torch.compile
def closed(x):
    with closing(READER):  # GB0262, GB0142
        y = x * 2
    return y

@torch.compile
def captured(x):
    with contextlib.redirect_stdout(SINK):  # GB0262, GB0142
        y = x * 2
    return y

closed(torch.ones(2))
captured(torch.ones(2))
""",
    )
    CLEAN = (
        """
import contextlib
import torch

@contextlib.contextmanager
def closing(value):
    yield value

@torch.compile
def run(x):
    with closing(2) as scale, contextlib.suppress(ValueError), contextlib.nullcontext(), contextlib.ExitStack():
        return x * scale

run(torch.ones(2))
""",
        """
import contextlib
import io
import torch

@torch.compile
def run(x):
    return x * 2

with contextlib.redirect_stdout(io.StringIO()):
    run(torch.ones(2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        return self._answer(event, context, event.callee)

    def on_construct(self, event: Construct, context: Context) -> Break | None:
        return self._answer(event, context, event.base)

    def _answer(self, event: Call | Construct, context: Context, name: str) -> Break | None:
        traced = name == "contextlib.closing" and context.torch >= (2, 15)
        if traced or name not in (NAMES if context.torch >= (2, 10) else (*NAMES, *NAMES_OF_2_9)):
            return None
        return Break(f"`{context.text(event.node)}` is a context manager that Dynamo does not support")
