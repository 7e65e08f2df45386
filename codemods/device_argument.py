"""`with torch.device(…):` becomes a `device=` argument of what makes tensors in its block.

What it does:
    Passes the device to each call in the block that makes a tensor and names no device itself, and takes the `with`
    statement off.
Applicability:
    Unsafe: other functions called in the block no longer see the device as the default.
Preconditions:
    The block calls functions of torch, tensor methods and builtins alone. The manager stands alone in its `with`.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import Codemod, CodemodMeta, Declined, Example, Repair, Site, require

FACTORIES = frozenset(
    f"torch.{name}"
    for name in (
        "arange as_tensor asarray bartlett_window blackman_window empty empty_strided eye full hamming_window "
        "hann_window kaiser_window linspace logspace normal ones rand randint randn randperm range scalar_tensor "
        "tensor tril_indices triu_indices zeros"
    ).split()
)


class DeviceArgument(Codemod):
    """Passes a device instead of entering it."""

    meta = CodemodMeta(
        name="device-argument",
        summary="pass the device to what makes tensors instead of entering it",
        fixes=("unsupported-context-manager",),
        rank=30,
    )
    EXAMPLES = (
        Example(
            """
import torch

@torch.compile
def f(n, x):
    with torch.device("cpu"):
        base = torch.ones(n, n)  # all of it
        steps = torch.arange(n, dtype=x.dtype)
    return torch.tril(base) * x + steps

print("checksum", f(2, torch.ones(2, 2)).sum().item())
""",
            """
import torch

@torch.compile
def f(n, x):
    base = torch.ones(n, n, device="cpu")  # all of it
    steps = torch.arange(n, dtype=x.dtype, device="cpu")
    return torch.tril(base) * x + steps

print("checksum", f(2, torch.ones(2, 2)).sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

def make(n):
    return torch.ones(n)

@torch.compile
def f(n, x):
    with torch.device("cpu"):
        y = make(n)
    return y * x

f(2, torch.ones(2))
""",
            "may make tensors too",
        ),
        Declined(
            """
import contextlib

import torch

@torch.compile
def several(x):
    with torch.device("cpu"), contextlib.nullcontext():
        y = torch.ones(2)
    return y * x

@torch.compile
def named(x):
    with torch.device("cpu") as device:
        y = torch.ones(2)
    return y * x, device

@torch.compile
def short(x):
    with torch.device("cpu"): return torch.ones(2) * x

@torch.compile
def long(x):
    with torch.device("cpu"):
        y = torch.ones(
            2,
        )
    return y * x

for f in (several, named, short, long):
    f(torch.ones(2))
""",
            "spans several lines",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        block = site.node if isinstance(site.node, cst.With) else site.enclosing(site.node, cst.With)
        if block is None or site.callee(block.items[0].item) != "torch.device":
            return None
        require(len(block.items) == 1 and block.items[0].asname is None, "the `with` statement has several parts")
        manager = block.items[0].item
        assert isinstance(manager, cst.Call)
        require(isinstance(block.body, cst.IndentedBlock), "the block stands on the line of its `with`")
        device = site.flat(manager.args[0].value) if len(manager.args) == 1 else site.flat(manager)
        lines = [s for s in block.body.body if isinstance(s, cst.SimpleStatementLine | cst.BaseCompoundStatement)]
        added = [self._argument(site, call, device) for call in site.calls(lines) if self._makes(site, call)]
        text = self._moved(site, lines, added)
        return Repair("unsafe", "pass the device to what makes tensors", [site.replace_lines(block, block, text)])

    def _makes(self, site: Site, call: cst.Call) -> bool:
        name = site.callee(call)
        if name in FACTORIES:
            return not any(a.keyword is not None and a.keyword.value == "device" for a in call.args)
        known = name.startswith(("torch.", "builtins.", "math."))
        require(known, f"`{site.flat(call.func)}` may make tensors too")
        return False

    def _argument(self, site: Site, call: cst.Call, device: str) -> tuple[int, int, str]:
        """Row and column (of the file) behind the last argument, and what to put there."""
        row, _, last, end = site.span(call)
        require(row == last, "a call in the block spans several lines")
        return row, end - 2, f", device={device}" if call.args else f"device={device}"

    def _moved(self, site: Site, lines: list[cst.SimpleStatementLine | cst.BaseCompoundStatement],
               added: list[tuple[int, int, str]]) -> str:  # fmt: skip
        """The block's rows with the arguments put in, for column 0."""
        rows = site.body_text(lines, "").split("\n")
        first, shift = site.span(lines[0])[0], len(site.indent(lines[0]))
        for row, column, text in sorted(added, reverse=True):
            place = column - shift
            rows[row - first] = rows[row - first][:place] + text + rows[row - first][place:]
        return "\n".join(rows)
