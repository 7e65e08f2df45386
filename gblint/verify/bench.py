"""What compiling costs in one command, or in two that are to be compared: measured, several times, in turn."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import msgspec

from gblint.errors import GblintError
from gblint.verify.running import Command, ending, problem, run

# Two-sided 95 % points of Student's distribution, by degrees of freedom; beyond, the normal one's.
_T = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13)
_NORMAL = 1.96


class Sample(msgspec.Struct, frozen=True):
    """One run. frames: that Dynamo started on; compile_seconds: of all of them together; seconds: of the command."""

    graphs: int
    frames: int
    breaks: int
    recompiles: int
    compile_seconds: float
    seconds: float


class Interval(msgspec.Struct, frozen=True):
    """A mean, and how far the 95 % confidence interval reaches to both sides; None for a single run."""

    mean: float
    half: float | None


def measure(
    commands: Mapping[str, Command], repeat: int, before: Callable[[str, int], None] | None = None
) -> dict[str, list[Sample]]:
    """Run each command `repeat` times, in turn, so that what the machine does meanwhile falls on all of them alike.

    before: called with the name and the number of each run. Raises GblintError as soon as a run fails or compiles
    nothing: figures of runs that did not do the same are worth nothing.
    """
    samples: dict[str, list[Sample]] = {name: [] for name in commands}
    for number in range(1, repeat + 1):
        for name, command in commands.items():
            if before:
                before(name, number)
            samples[name].append(_sample(command))
    return samples


def _sample(command: Command) -> Sample:
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
