"""Units on several processes. The result of a unit does not depend on which process ran it, or on what ran before."""

from __future__ import annotations

import multiprocessing
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gblint.analysis import Progress
    from gblint.index.model import ModuleInfo
    from gblint.units import UnitResult, Worker

_WORKER: Worker | None = None
_PLANS: list[tuple[ModuleInfo, str]] = []


def run_units(
    worker: Worker, plans: list[tuple[ModuleInfo, str]], jobs: int, progress: Progress | None, done: int, total: int
) -> list[UnitResult]:
    """Results in the order of `plans`. Without fork (Windows), all run in this process."""
    if "fork" not in multiprocessing.get_all_start_methods():
        return [worker.run(*plan) for plan in plans]
    global _WORKER, _PLANS
    worker.machine()  # made once, shared by the children
    _WORKER, _PLANS = worker, plans
    results: list[UnitResult] = []
    with multiprocessing.get_context("fork").Pool(jobs, _ignore_interrupts) as pool:
        for count, result in enumerate(pool.imap(_run_one, range(len(plans)), chunksize=4)):
            results.append(result)
            if progress is not None:
                progress(done + count + 1, total, result.path)
    return results


def _ignore_interrupts() -> None:
    """Ctrl-C is for the parent, which ends the children."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _run_one(number: int) -> UnitResult:
    assert _WORKER is not None
    return _WORKER.run(*_PLANS[number])
