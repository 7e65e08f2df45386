"""Units on several processes. The result of a unit does not depend on which process ran it, or on what ran before."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gblint.index.cache import Fresh
    from gblint.units import Plan, UnitResult, Worker

_CHUNK = 4  # neighbours share much of their text, and so trees

_WORKER: Worker | None = None
_PLANS: list[Plan] = []


def run_units(worker: Worker, plans: list[Plan], jobs: int) -> Iterator[tuple[UnitResult, float]]:
    """Results in the order of `plans`, and the seconds that each took. Without fork (Windows), all run in this process.

    What the processes learned of files goes into the cache of this one.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        yield from map(worker.timed, plans)
        return
    global _WORKER, _PLANS
    worker.machine()  # made once, shared by the children
    _WORKER, _PLANS = worker, plans
    cache = worker.project.cache
    with multiprocessing.get_context("fork").Pool(jobs, _ignore_interrupts) as pool:
        for timed, fresh in pool.imap(_run_one, range(len(plans)), chunksize=_CHUNK):
            if cache is not None and fresh is not None:
                cache.absorb(fresh)
            yield timed


def _ignore_interrupts() -> None:
    """Ctrl-C is for the parent, which ends the children."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _run_one(number: int) -> tuple[tuple[UnitResult, float], Fresh | None]:
    assert _WORKER is not None
    timed = _WORKER.timed(_PLANS[number])
    cache = _WORKER.project.cache
    return timed, cache.drain() if cache is not None else None
