"""Writing to or reading from a stream or file object inside a compiled region.

What breaks:
    `sys.stdout.write`, `sys.stdout.flush`, `sys.stderr.write`, `sys.stdout.isatty`, and every method of a file,
    `io.StringIO` or `io.BytesIO` that was made outside.
Why Dynamo breaks:
    Input and output are side effects of C objects, which a graph cannot hold.
Example:
    sys.stderr.write("step\\n")
Instead:
    write outside the compiled function
Fix:
    Move the output out of the compiled region, or guard it with `if not torch.compiler.is_compiling():`.
Torch versions:
    Every release.
Limits:
    Attributes (`file.closed`) do not break. `print(…, file=…)` is GB0059, `open` GB0059 and `with file:` GB0142.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta


class StreamWrite(Rule):
    """Methods of files and streams."""

    meta = RuleMeta(
        code="GB0156",
        slug="stream-write",
        summary="a file or stream is written or read in a compiled region",
        category="supportable",
        advice="Move input and output out of the compiled function.",
        confidence=0.95,
    )
    calls = (
        "sys.stdout.*", "sys.stderr.*", "sys.stdin.*", "sys.__stdout__.*", "sys.__stderr__.*", "io.TextIOWrapper.*",
        "io.BufferedReader.*", "io.BufferedWriter.*", "io.FileIO.*", "io.StringIO.*", "io.BytesIO.*", "builtins.open.*",
        "typing.TextIO.*", "typing.IO.*", "typing.BinaryIO.*", "_io.TextIOWrapper.*", "_io.StringIO.*", "_io.BytesIO.*",
    )  # fmt: skip
    BREAKS = (
        """
import io
import sys
import torch

BUFFER = io.StringIO()

@torch.compile
def run(x):
    y = x * 2
    sys.stdout.flush()  # GB0156
    y = y + 1
    sys.stderr.write("step")  # GB0156
    y = y + 1
    BUFFER.write("a")  # GB0156
    return y - 1

run(torch.ones(2))
""",
        """
import torch

class Recorder:
    def __init__(self, path):
        self.file = open(path)

recorder = Recorder(__file__)

@torch.compile
def run(x):
    y = x * 2
    text = recorder.file.read()  # GB0156
    return y * len(text)

run(torch.ones(2))
""",
    )
    CLEAN = (
        """
import sys
import torch

@torch.compile
def run(x):
    if not torch.compiler.is_compiling():
        sys.stdout.write("eager only")
    out = sys.stdout
    return x * 2 if out is not None else x

sys.stdout.flush()
run(torch.ones(2))
""",
        """
import torch

class Writer:
    def write(self, x):
        return x + 1

    def flush(self):
        return None

@torch.compile
def run(x, stdout: Writer):
    stdout.flush()
    return stdout.write(x)

run(torch.ones(2), Writer())
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        return Break(f"`{context.text(event.node)}` does input or output, a side effect that cannot be part of a graph")
