"""A write to the environment inside a compiled region.

What breaks:
    `os.environ[name] = value`, `del os.environ[name]`, `os.environ.update`, `os.environ.setdefault`, `os.putenv` and
    `os.unsetenv`.
Why Dynamo breaks:
    The write goes through C code to the process environment, which a graph cannot do.
Example:
    os.environ["STEP"] = str(step)
Instead:
    set the variable before the compiled function is called
Fix:
    Move the write out of the compiled region.
Torch versions:
    Every release.
Limits:
    Reads (`os.environ["A"]`, `os.environ.get`, `os.getenv`, `in os.environ`) do not break. A `setdefault` of a name
    that is set already only reads.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, External, Index, Instance, Rule, RuleMeta, Value


class EnvironmentWrite(Rule):
    """Writes to os.environ."""

    meta = RuleMeta(
        code="GB0007",
        slug="environment-write",
        summary="the process environment is written in a compiled region",
        category="supportable",
        advice="Set environment variables before the compiled function is called.",
    )
    calls = (
        "os.environ.update", "os.environ.setdefault", "os._Environ.update", "os._Environ.setdefault", "os.putenv",
        "os.unsetenv",
    )  # fmt: skip
    BREAKS = (
        """
import os
from os import environ
import torch

@torch.compile
def run(x):
    x = x + 1
    os.environ["GBLINT_STEP"] = "1"  # GB0007
    x = x * 2
    environ.update({"GBLINT_STEP": "2"})  # GB0007
    x = x + 1
    del os.environ["GBLINT_STEP"]  # GB0007
    return x - 1

run(torch.ones(2))
""",
        """
import os
import torch

@torch.compile
def run(x):
    x = x + 1
    os.environ.setdefault("GBLINT_NEW", "1")  # GB0007
    x = x * 2
    os.putenv("GBLINT_NEW", "2")  # GB0007
    x = x + 1
    os.unsetenv("GBLINT_NEW")  # GB0007
    return x - 1

run(torch.ones(2))
""",
    )
    CLEAN = (
        """
import os
import torch

@torch.compile
def run(x):
    if os.environ.get("GBLINT_STEP") or os.getenv("GBLINT_MODE") or "GBLINT_X" in os.environ:
        x = x + 1
    return x * len(os.environ["PATH"])

os.environ["GBLINT_STEP"] = "1"
run(torch.ones(2))
""",
        """
import torch

class Holder:
    pass

settings = Holder()
settings.environ = {}

@torch.compile
def run(x):
    settings.environ["step"] = 1
    settings.environ.update(mode=2)
    return x * len(settings.environ)

run(torch.ones(2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        certainty = 0.6 if event.callee.endswith("setdefault") else 1.0
        return Break(f"`{context.text(event.node)}` writes the process environment", certainty)

    def on_index(self, event: Index, context: Context) -> Break | None:
        if not event.store or not _is_environment(event.base):
            return None
        is_deleted = event.value is None  # `del` cannot be resumed, a store can
        return Break(f"`{context.text(event.node)}` writes the process environment", fatal=is_deleted)


def _is_environment(value: Value) -> bool:
    if isinstance(value, External):
        return value.dotted == "os.environ"
    return isinstance(value, Instance) and value.base in ("os._Environ", "os.environ")
