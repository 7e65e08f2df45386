"""`torch.compile` is called with arguments that it refuses, or that its backend ignores.

What breaks:
    Nothing in the graph. `mode` and `options` together, a `mode` that the inductor does not know, a misspelt `backend`:
    the call raises an error. A `mode` or `options` for the backends `eager`, `aot_eager` and `cudagraphs`: it has no
    effect.
Why Dynamo breaks:
    A mode is a name for a set of options, so only one of both can be given. Modes and options are the inductor's own;
    the other backends log that they ignore them, once for each graph, and go on.
Example:
    step = torch.compile(step, mode="reduce-overhead", options={"epilogue_fusion": True})
Instead:
    step = torch.compile(step, options={"triton.cudagraphs": True, "epilogue_fusion": True})
Fix:
    Give `mode` or `options`, not both; `torch._inductor.list_mode_options()` says which options a mode stands for. Use
    a mode it lists, and a backend that `torch._dynamo.list_backends(None)` lists.
Torch versions:
    Every release.
Limits:
    The id is gblint's own. Only arguments that are known without running the program are judged: not those that come
    from a configuration or by `**kwargs`. A backend is called misspelt where it is a letter or two away from
    `inductor`, `eager`, `aot_eager` or `cudagraphs`: any other name may be one that a package registers.
"""

from __future__ import annotations

from difflib import get_close_matches

from gblint.rule_api import Break, Compile, Const, Context, Mapping, Rule, RuleMeta, Value

MODES = ("default", "lite", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
IGNORING = ("eager", "aot_eager", "cudagraphs")
MISSPELT = 0.85  # how alike two names are of which one is meant to be the other


class CompileArguments(Rule):
    """Calls of torch.compile that fail or do not do what they say."""

    meta = RuleMeta(
        code="GBL201",
        slug="compile-arguments",
        summary="`torch.compile` refuses its arguments, or its backend ignores them",
        category="user-error",
        advice="Give a mode or options, not both, and a mode and backend that torch lists.",
        by_hand="which of the arguments was meant is not in the code",
        confidence=0.97,
    )
    BREAKS = (
        """
import torch

def step(x):
    return x + 1

def refused(make):
    try:
        make()
    except Exception as error:
        return type(error).__name__
    raise AssertionError("it was not refused")

refused(lambda: torch.compile(step, mode="default", options={"epilogue_fusion": True}))  # GBL201
refused(lambda: torch.compile(step, mode="fastest"))  # GBL201
refused(lambda: torch.compile(step, backend="inductr"))  # GBL201
run = torch.compile(step, backend="eager", mode="reduce-overhead")  # GBL201

@torch.compile(backend="aot_eager", options={"epilogue_fusion": True})  # GBL201
def other(x):
    return x * 2

other(run(torch.ones(2)))
""",
    )
    CLEAN = (
        """
import torch
from torch import nn

MODE = "max-autotune-no-cudagraphs"

def step(x):
    return x + 1

def compiled(function, **settings):
    return torch.compile(function, backend="eager", **settings)

@torch.compile(backend="eager", fullgraph=True, dynamic=False)
def other(x):
    return x * 2

net = nn.Linear(2, 2)
net.compile(backend="aot_eager")
torch.compile(step, mode=MODE)
torch.compile(step, mode=None, options={"epilogue_fusion": True})
torch.compile(step, backend=lambda graph, inputs: graph.forward, mode="of its own")
other(compiled(step)(net(torch.ones(1, 2))))
""",
    )

    def on_compile(self, event: Compile, context: Context) -> Break | None:
        mode, options, backend = (event.arguments.get(name) for name in ("mode", "options", "backend"))
        given = [name for name, value in (("mode", mode), ("options", options)) if _is_given(value)]
        if len(given) == 2:
            return _fails("`torch.compile` takes `mode` or `options`, and raises an error for both")
        named = "inductor" if backend is None else _text(backend)
        if named in IGNORING and given:
            return Break(f"`{given[0]}` has no effect: the backend `{named}` ignores it", consequence="ignored")
        if named == "inductor" and _text(mode) not in ("", *MODES):
            return _fails(f"there is no mode `{_text(mode)}`: `torch.compile` raises an error")
        meant = get_close_matches(named, ("inductor", *IGNORING), 1, MISSPELT)
        if meant and meant[0] != named:
            return _fails(f"there is no backend `{named}`, `{meant[0]}` may be meant: `torch.compile` raises an error")
        return None


def _fails(message: str) -> Break:
    return Break(message, consequence="fails")


def _text(value: Value | None) -> str:
    """The string that an argument surely is, else ""."""
    return value.value if isinstance(value, Const) and isinstance(value.value, str) else ""


def _is_given(value: Value | None) -> bool:
    """Whether an argument is surely not None."""
    return isinstance(value, Mapping) or bool(_text(value))
