"""Runs batches of inputs, each batch in a process of its own: what hangs, eats memory or kills it is found out."""

from __future__ import annotations

import multiprocessing
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.fuzz.mutate import mutated
from tests.fuzz.targets import MEGABYTES, SECONDS, TARGETS

_FORK = multiprocessing.get_context("fork")
_MEAN = 0.15  # seconds of a processor for each input of a batch, besides what one of them may take
_WAIT = 20  # times that of the clock, where others use the processors as well


class Failure(NamedTuple):
    """An input that broke a promise, and which."""

    target: str
    data: bytes
    reason: str


class Slice(NamedTuple):
    """What was run of a target. peak: megabytes of the largest process."""

    target: str
    inputs: int
    seconds: float
    peak: float
    failures: list[Failure]


def fuzz(target: str, count: int, seed: int, more: tuple[Path, ...] = ()) -> Slice:
    """Run so many inputs that follow from the seed."""
    what = TARGETS[target]
    random = Random(f"{target} {seed}")
    seeds = what.seeds(more)
    begin, peak, failures = time.monotonic(), 0.0, list[Failure]()
    for start in range(0, count, what.batch):
        size = min(what.batch, count - start)
        inputs = [mutated(random, seeds, what.mutations, what.largest) for _ in range(size)]
        used, found = _batch(target, inputs)
        peak = max(peak, used)
        failures += found
    return Slice(target, count, time.monotonic() - begin, peak, failures)


def _batch(target: str, inputs: list[bytes]) -> tuple[float, list[Failure]]:
    """The failures of a batch; if something went wrong as a whole, those of its inputs one by one."""
    used, problems = _in_child(target, inputs)
    if not problems:
        return used, []
    if len(inputs) == 1:
        return used, [Failure(target, inputs[0], text) for _, text in problems]
    alone = [failure for data in inputs for failure in _batch(target, [data])[1]]
    # Some go wrong only together: then all of them are the input.
    return used, alone or [Failure(target, b"\n# ---- next file ----\n".join(inputs), text) for _, text in problems]


def _in_child(target: str, inputs: list[bytes]) -> tuple[float, list[tuple[int, str]]]:
    """Peak memory in MB, and what is wrong."""
    seconds = SECONDS + round(_MEAN * len(inputs))
    with tempfile.TemporaryDirectory(prefix="gblint-fuzz-") as scratch:
        mine, theirs = _FORK.Pipe(duplex=False)
        child = _FORK.Process(target=_run, args=(target, inputs, Path(scratch).resolve(), seconds, theirs))
        child.start()
        theirs.close()
        answer: tuple[float, list[tuple[int, str]]] = (0.0, [(-1, "")])
        try:
            answer = mine.recv() if mine.poll(_WAIT * seconds) else (0.0, [(-1, "waits for something")])
        except EOFError:
            child.join()
            slow = child.exitcode == -signal.SIGXCPU
            answer = (0.0, [(-1, f"took {seconds} s" if slow else f"the process ended with {child.exitcode}")])
        finally:
            child.kill()
            child.join()
            mine.close()
        return answer


def _run(target: str, inputs: list[bytes], scratch: Path, seconds: int, answer: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    folder = scratch / "inputs"
    folder.mkdir()
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - the process ends with it
    try:
        problems = list(TARGETS[target].run(folder, inputs))
    except BaseException:
        problems = [(-1, traceback.format_exc())]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if peak > MEGABYTES:
        problems.append((-1, f"took {peak:.0f} MB"))
    answer.send((peak, problems))
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def run_all(inputs: int, seed: int, more: tuple[Path, ...], names: tuple[str, ...]) -> Iterator[Slice]:
    """Every target with its share of the inputs."""
    whole = sum(TARGETS[name].share for name in names)
    for name in names:
        yield fuzz(name, max(1, round(inputs * TARGETS[name].share / whole)), seed, more)
