"""A progress bar is shown in eager code alone.

What it does:
    Loops over what the bar was wrapped around, and wraps it in front of the loop where nothing is compiled. Statements
    that only feed the bar (`bar.set_postfix(…)`, `bar.update()`) go under the same guard.
Applicability:
    Unsafe: compiled code shows no progress.
Preconditions:
    The bar wraps one iterable, in the head of a `for` statement or in an assignment of its own. It is used for nothing
    but the loop and its display.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Declined,
    Edit,
    Example,
    Place,
    Refusal,
    Repair,
    Site,
    guarded,
    owner,
    require,
)

BARS = ("tqdm.", "rich.progress.track", "fastprogress.", "progressbar.")
SHOWING = frozenset(
    {"update", "set_description", "set_postfix", "set_postfix_str", "set_description_str", "write", "refresh", "close"}
)
MESSAGE = "show progress only when not compiling; compiled code shows none"


class SkipProgressBar(Codemod):
    """Leaves progress bars out of compiled code."""

    meta = CodemodMeta(
        name="skip-progress-bar",
        summary="show progress only when not compiling",
        fixes=("*",),
        rank=20,
    )
    EXAMPLES = (
        Example(
            """
import torch
from tqdm import tqdm


@torch.compile
def f(x, steps):
    for step in tqdm(reversed(range(steps)), desc="steps"):
        x = x + step
    return x


print("checksum", f(torch.ones(2), 3).sum().item())
""",
            """
import torch
from tqdm import tqdm


@torch.compile
def f(x, steps):
    progress = reversed(range(steps))
    if not torch.compiler.is_compiling():
        progress = tqdm(progress, desc="steps")
    for step in progress:
        x = x + step
    return x


print("checksum", f(torch.ones(2), 3).sum().item())
""",
            "unsafe",
        ),
        Example(
            """
import torch
from tqdm.auto import tqdm


@torch.compile
def f(x):
    bar = tqdm(range(3), leave=False)
    for step in bar:
        x = x + step
        bar.set_postfix(step=step)
    return x


print("checksum", f(torch.ones(2)).sum().item())
""",
            """
import torch
from tqdm.auto import tqdm


@torch.compile
def f(x):
    bar = range(3)
    if not torch.compiler.is_compiling():
        bar = tqdm(bar, leave=False)
    for step in bar:
        x = x + step
        if not torch.compiler.is_compiling():
            bar.set_postfix(step=step)
    return x


print("checksum", f(torch.ones(2)).sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch
from tqdm import tqdm

@torch.compile
def f(x):
    bar = tqdm(range(3))
    for step in bar:
        x = x + step
    return x * bar.n

f(torch.ones(2))
""",
            "`bar` is used for more than its display",
        ),
        Declined(
            """
import torch
from tqdm import tqdm

@torch.compile
def total(x):
    bar = tqdm(total=3)
    bar.update()
    return x * 2

@torch.compile
def shared(x):
    bar = tqdm(range(3)); y = x * 2
    for step in bar:
        y = y + step
    return y

@torch.compile
def inside(x):
    steps = list(tqdm(range(3)))
    return x * len(steps)

@torch.compile
def starred(x, parts):
    for step in tqdm(*parts):
        x = x + step
    return x

for f in (total, shared, inside):
    f(torch.ones(2))
starred(torch.ones(2), [range(3)])
""",
            "the bar wraps no iterable",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        call = site.node
        if not isinstance(call, cst.Call) or not self._is_bar(site, call):
            return None
        first = call.args[0] if call.args else None
        wraps = first is not None and first.keyword is None and not first.star
        require(wraps, "the bar wraps no iterable")
        assert first is not None
        above = site.parent(call)
        if isinstance(above, cst.For) and above.iter is call:
            return self._loop(site, above, call, first)
        line = site.statement(call)
        if isinstance(above, cst.Assign) and isinstance(above.targets[0].target, cst.Name) and len(above.targets) == 1:
            require(
                isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1, "the line holds other statements"
            )
            return self._named(site, line, call, first, above.targets[0].target.value)
        raise Refusal("the bar is made in the middle of an expression")

    def _is_bar(self, site: Site, call: cst.Call) -> bool:
        return site.callee(call).startswith(BARS) and not site.callee(call).endswith(".write")

    def _loop(self, site: Site, loop: cst.For, call: cst.Call, first: cst.Arg) -> Repair:
        name = site.fresh("progress")
        made, imports = self._made(site, call, first, name)
        return Repair(
            "unsafe", MESSAGE, [site.insert_before(loop, made), site.replace(call, name), *imports], ("effects",)
        )

    def _named(self, site: Site, line: Place, call: cst.Call, first: cst.Arg, name: str) -> Repair:
        showing: list[Place] = []
        for place in site.loads(name):
            above = site.parent(place)
            if isinstance(above, cst.For) and above.iter is place:
                continue
            statement = owner(site, place)
            shows = isinstance(above, cst.Attribute) and above.attr.value in SHOWING and self._is_call(site, above)
            require(shows, f"`{name}` is used for more than its display and a loop")
            showing.append(statement)
        made, imports = self._made(site, call, first, name)
        edits = guarded(site, showing) if showing else []
        assert isinstance(line, cst.SimpleStatementLine)
        return Repair("unsafe", MESSAGE, [site.replace_lines(line, line, made), *edits, *imports], ("effects",))

    def _is_call(self, site: Site, method: cst.Attribute) -> bool:
        """Whether a method is called in a statement of its own."""
        call = site.parent(method)
        return isinstance(call, cst.Call) and call.func is method and isinstance(site.parent(call), cst.Expr)

    def _made(self, site: Site, call: cst.Call, first: cst.Arg, name: str) -> tuple[str, list[Edit]]:
        """The statements that give the iterable a name and wrap it where nothing is compiled."""
        word, imports = site.refer("torch.compiler.is_compiling")
        rest = [name, *(site.flat(arg).rstrip(", ") for arg in call.args[1:])]
        bar = f"{site.text(call.func)}({', '.join(rest)})"
        text = f"{name} = {site.flat(first.value)}\nif not {word}():\n{site.step}{name} = {bar}\n"
        return text, imports
