"""What compiling costs in one command, or in two that are to be compared: measured, several times, in turn."""

from __future__ import annotations

import math
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from gblint.errors import GblintError
from gblint.verify.running import Command, ending, problem, run

# Two-sided 95 % points of Student's distribution, by degrees of freedom; beyond, the normal one's.
_T = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13)
_NORMAL = 1.96
CACHES = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")  # settings that name the folders of the backend's caches


class Sample(msgspec.Struct, frozen=True):
    """One run. frames: that Dynamo started on; compile_seconds: of all of them together; seconds: of the command.

    Of a target also: first_seconds: the first call, which compiles; call_seconds: the median of those after warming up;
    peak_memory: of the process; peak_gpu_memory: allocated on the GPU; both in MB.
    """

    graphs: int
    frames: int
    breaks: int
    recompiles: int
    compile_seconds: float
    seconds: float
    first_seconds: float | None = None
    call_seconds: float | None = None
    peak_memory: float | None = None
    peak_gpu_memory: float | None = None


class Target(msgspec.Struct, frozen=True):
    """Something to measure by the call: see `gblint.verify.bench_host`. python: that it is to run with."""

    name: str
    calls: int = 30
    backend: str = "inductor"
    python: str = sys.executable
    timeout: float | None = None

    def command(self, output: Path) -> Command:
        """What measures it."""
        host = str(Path(__file__).with_name("bench_host.py"))
        words = (self.python, host, self.name, str(output), str(self.calls), self.backend)
        return Command(words, timeout=self.timeout)


class Interval(msgspec.Struct, frozen=True):
    """A mean, and how far the 95 % confidence interval reaches to both sides; None for a single run."""

    mean: float
    half: float | None


def measure(
    commands: Mapping[str, Command | Target],
    repeat: int,
    before: Callable[[str, int], None] | None = None,
    cold: bool = False,
) -> dict[str, list[Sample]]:
    """Run each command `repeat` times, in turn, so that what the machine does meanwhile falls on all of them alike.

    before: called with the name and the number of each run. cold: each run has empty caches of the backend. Raises
    GblintError as soon as a run fails or compiles nothing: figures of runs that did not do the same are worth nothing.
    """
    samples: dict[str, list[Sample]] = {name: [] for name in commands}
    for number in range(1, repeat + 1):
        for name, command in commands.items():
            if before:
                before(name, number)
            samples[name].append(_sample(command, cold))
    return samples


def _sample(what: Command | Target, cold: bool) -> Sample:
    if isinstance(what, Command):
        return _run(what, cold)
    with tempfile.TemporaryDirectory(prefix="gblint-bench-") as scratch:
        output = Path(scratch, "figures.json")
        sample = _run(what.command(output), cold)
        figures = msgspec.json.decode(output.read_bytes(), type=dict[str, float])
    return msgspec.structs.replace(sample, **{name: float(f"{value:.6g}") for name, value in figures.items()})


def _run(command: Command, cold: bool) -> Sample:
    with tempfile.TemporaryDirectory(prefix="gblint-cold-", ignore_cleanup_errors=True) as empty:
        if cold:
            env = os.environ if command.env is None else command.env
            command = msgspec.structs.replace(command, env={**env, **{name: f"{empty}/{name}" for name in CACHES}})
        ran = run(command)
    if error := problem(ran, command.words):
        raise error
    if text := ending(ran, command.timeout):
        raise GblintError(text, "the command has to end well to be measured")
    said = ran.said
    breaks = sum(event.count for event in said.breaks if not event.silent)
    recompiles = sum(said.recompiles.values())
    return Sample(said.graphs, said.compiled, breaks, recompiles, round(said.seconds, 3), round(ran.seconds, 3))


def interval(values: Sequence[float]) -> Interval:
    """The mean of independent measurements and its 95 % confidence interval."""
    count = len(values)
    mean = sum(values) / count
    if count == 1:
        return Interval(mean, None)
    variance = sum((value - mean) ** 2 for value in values) / (count - 1)
    t = _T[count - 2] if count - 2 < len(_T) else _NORMAL
    return Interval(mean, t * math.sqrt(variance / count))


def differ(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether the intervals of two means do not meet: a cautious test of a difference."""
    a, b = interval(one), interval(other)
    return a.half is not None and b.half is not None and abs(a.mean - b.mean) > a.half + b.half
