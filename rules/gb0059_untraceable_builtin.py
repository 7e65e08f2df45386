"""A Python builtin that Dynamo has no model of.

What breaks:
    `open`, `input`, `exec`, `compile`, `breakpoint`, `globals`, `bytes`, `bytearray`, `memoryview`, `object()`, and the
    functions of the standard library that end in one of them (`ast.literal_eval`, `tempfile.NamedTemporaryFile`,
    `fnmatch.fnmatch`).
Why Dynamo breaks:
    Each builtin needs a model of its own in Dynamo. These have none: they reach outside the program or make objects
    that a graph cannot hold.
Example:
    with open(path) as file:
        scale = float(file.read())
    return x * scale
Instead:
    return x * scale  # read once, outside the compiled function
Fix:
    Do the work before the compiled region and pass the result in.
Torch versions:
    Every release; `object()`, `fnmatch` and `operator.setitem` are traced since 2.14.
Limits:
    Builtins that break only for tensors, and `dir`, have rules of their own.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta


class UntraceableBuiltin(Rule):
    """Calls of builtins that always break."""

    meta = RuleMeta(
        code="GB0059",
        slug="untraceable-builtin",
        summary="a Python builtin that Dynamo cannot trace",
        category="supportable",
        advice="Do this outside the compiled function and pass the result in.",
    )
    measured = True
    calls = (
        "builtins.open", "builtins.input", "builtins.exec", "builtins.compile", "builtins.breakpoint",
        "builtins.globals", "builtins.object", "builtins.bytes", "builtins.bytearray", "builtins.memoryview",
        "io.open", "codecs.open", "tokenize.open", "zipfile.ZipFile", "tempfile.NamedTemporaryFile",
        "tempfile.TemporaryFile", "ast.parse", "ast.literal_eval", "fnmatch.fnmatch",
        "timeit.timeit", "operator.setitem", "configparser.ConfigParser",
    )  # fmt: skip
    BREAKS = (
        """
import torch

@torch.compile
def made(x):
    marker = object()  # GB0059
    x = x + 1
    data = bytes(3)  # GB0059
    x = x * len(data)
    space = globals()  # GB0059
    return x if marker in space else x - 1

made(torch.ones(2))
""",
        """
import torch

@torch.compile
def executed(x):
    exec("y = 1")  # GB0059
    x = x + 1
    buffer = bytearray()  # GB0059
    return x if buffer is None else x - 1

executed(torch.ones(2))
""",
        """
import ast
import fnmatch
import torch

@torch.compile
def parsed(x, text, name):
    value = ast.literal_eval(text)  # GB0059
    x = x * value
    matches = fnmatch.fnmatch(name, "encoder.*")  # GB0059
    return x + 1 if matches else x

parsed(torch.ones(2), "2", "encoder.weight")
""",
        """
import torch

@torch.compile
def marked(x: torch.Tensor):
    y = x * 2
    missing = object()  # GB0059
    return y if missing is not None else x

marked(torch.rand(3))
""",
    )
    CLEAN = (
        """
import torch

@torch.compile
def folded(x, names):
    n = len(names) + abs(-2) + sum([1, 2]) + max(3, x.shape[0]) + pow(2, 3) + round(2.6) + hash("a")
    text = hex(12) + oct(8) + bin(3) + chr(65) + ascii("a") + repr(x.shape) + str(x.dtype)
    ok = isinstance(x, torch.Tensor) and callable(folded) and hasattr(x, "shape") and issubclass(type(x), torch.Tensor)
    pairs = sorted(dict(zip("ab", [1, 2])).items())
    return x * (n + len(text) + ord("a") + int(ok) + len(pairs) + eval("1") + len(locals()))

folded(torch.ones(2), ["a"])
""",
        """
import torch

class Store:
    def open(self, x):
        return x + 1

    def compile(self, x):
        return x * 2

@torch.compile
def step(x, store):
    return store.compile(store.open(x))

step(torch.ones(2), Store())
""",
        """
import torch

with open(__file__) as file:
    LINES = len(file.readlines())

@torch.compile
def step(x):
    return x * LINES

step(torch.ones(2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        if event.callee not in self.calls and not _is_plain_builtin(event.callee):
            return None
        if context.knowledge.verdict(event.callee) == "ok":  # traced by now: `object()` and `fnmatch` since 2.14
            return None
        text = context.text(event.node)
        return Break(f"`{text}` calls `{event.callee.removeprefix('builtins.')}`, which Dynamo has no model of")


def _is_plain_builtin(callee: str) -> bool:
    """Measured callees count too, except the builtins whose answer depends on the arguments (rules of their own)."""
    return not callee.startswith(("builtins.", "torch."))
