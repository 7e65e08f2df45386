"""What the compiled callables of a program gave in a run: recorded by the program itself, compared here.

The recording is the work of `gblint.verify.recorder`, which a `sitecustomize` on `PYTHONPATH` brings into every Python
process of the command. It is the one case in which gblint puts something into the user's program.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from gblint.verify.recorder import EAGER, FOLDER, MOST_LINES

Leaf = list[Any]
# How far values may lie apart, relative to the largest magnitude of their tensor: room for another order of summation,
# as between eager and compiled code, not for another formula. Whole numbers and booleans are compared exactly.
TOLERANCE = {
    "float64": 1e-7,
    "complex128": 1e-7,
    "float32": 1e-4,
    "complex64": 1e-4,
    "float16": 1e-2,
    "complex32": 1e-2,
    "bfloat16": 3e-2,
}
COARSEST = 0.15  # of the types with eight bits
_KINDS = {"call": "what call {} of a compiled callable gave", "gradients": "the gradients at place {}"}
_BOOT = '''\
"""Made by gblint for one run."""
import importlib.util
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
spec = importlib.util.spec_from_file_location("_gblint_recorder", {recorder!r})
spec.loader.exec_module(importlib.util.module_from_spec(spec))
mine = sys.modules.pop("sitecustomize", None)
try:
    import sitecustomize
except ImportError:
    sys.modules["sitecustomize"] = mine
'''


class Call(msgspec.Struct, frozen=True, array_like=True):
    """What one call of a compiled callable gave, or one backward left in gradients (kind "gradients")."""

    kind: str
    leaves: tuple[Leaf, ...]


class Outputs(msgspec.Struct):
    """What a run has recorded, process by process in order of rank and start. full: whether some was left out."""

    processes: list[list[Call]] = []
    full: bool = False

    @property
    def count(self) -> int:
        return sum(map(len, self.processes))


def recording(env: Mapping[str, str], folder: Path, eager: bool = False) -> dict[str, str]:
    """An environment in which programs record into a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "start").mkdir(parents=True)
    (folder / "calls").mkdir()
    recorder = str(Path(__file__).with_name("recorder.py"))
    (folder / "start" / "sitecustomize.py").write_text(_BOOT.format(recorder=recorder), "utf-8")
    path = [str(folder / "start"), *filter(None, [env.get("PYTHONPATH")])]
    return {**env, FOLDER: str(folder / "calls"), EAGER: str(int(eager)), "PYTHONPATH": os.pathsep.join(path)}


def recorded(folder: Path) -> Outputs:
    """Read what was recorded into a folder; a last line that was cut off is left out."""
    outputs = Outputs()
    for file in sorted((folder / "calls").glob("*.jsonl")):
        calls = []
        for line in file.read_text("utf-8", "replace").splitlines():
            try:
                kind, *leaves = json.loads(line)
            except (ValueError, TypeError, RecursionError):
                continue
            calls.append(Call(kind, tuple(leaves)))
        outputs.full |= len(calls) >= MOST_LINES
        outputs.processes.append(calls)
    return outputs


def difference(before: Outputs, after: Outputs, prefix: bool = False) -> str:
    """The first difference between two runs in words, "" if there is none. prefix: the first one may have ended early,
    so that the other may go on."""
    if len(before.processes) != len(after.processes) and not prefix:
        return f"{len(after.processes)} processes recorded something, not {len(before.processes)}"
    for one, other in zip(before.processes, after.processes, strict=False):
        for number, (a, b) in enumerate(zip(one, other, strict=False), 1):
            if text := _call(a, b):
                return f"{_KINDS[a.kind].format(number)} differs: {text}"
        if len(other) < len(one) or (len(other) > len(one) and not prefix):
            return f"{len(other)} calls and gradients were recorded, not {len(one)}"
    return ""


def _call(one: Call, other: Call) -> str:
    if one.kind != other.kind:
        return "a call came where gradients were, or the other way round"
    if len(one.leaves) != len(other.leaves):
        return f"{len(other.leaves)} values, not {len(one.leaves)}"
    return next((text for a, b in zip(one.leaves, other.leaves, strict=True) if (text := _leaf(a, b))), "")


def _leaf(one: Leaf, other: Leaf) -> str:
    if one[0] == other[0] == "t":
        return _tensor(one, other)
    if one == other or (one[0] == other[0] == "v" and _near(one[1], other[1])):
        return ""
    return f"{_shown(other)}, not {_shown(one)}"


def _near(one: str, other: str) -> bool:
    """Whether two plain values are floating-point numbers that a tensor's rounding may tell apart."""
    try:
        a, b = float(one), float(other)
    except ValueError:
        return False
    return "." in one + other and math.isclose(a, b, rel_tol=TOLERANCE["float32"], abs_tol=TOLERANCE["float32"])


def _tensor(one: Leaf, other: Leaf) -> str:
    """How far a tensor is off; evenly spaced values and the largest magnitude stand for all of it."""
    (_, dtype, shape, largest, values), (_, dtype2, shape2, largest2, values2) = one, other
    if (dtype, shape) != (dtype2, shape2):
        return f"{_shown(other)}, not {_shown(one)}"
    exact = not dtype.startswith(("float", "bfloat", "complex"))
    scale = max((m for m in (largest, largest2) if math.isfinite(m)), default=0.0)
    limit = 0.0 if exact else TOLERANCE.get(dtype, COARSEST) * scale
    apart = max(map(_apart, [*values, largest], [*values2, largest2]), default=0.0)
    if apart <= limit:
        return ""
    by = "not-a-number or infinity on one side" if math.isinf(apart) else f"{apart:.3g} (at most {limit:.3g} allowed)"
    return f"{_shown(one)} by {by}"


def _apart(a: float, b: float) -> float:
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    return abs(a - b) if math.isfinite(a) and math.isfinite(b) else math.inf


def _shown(leaf: Sequence[Any]) -> str:
    if leaf[0] == "t":
        return f"tensor {leaf[1]}{leaf[2]}"
    return str(leaf[1])[:60]
