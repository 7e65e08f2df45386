"""Units on several processes. The result of a unit does not depend on which process ran it, or on what ran before."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from typing import TYPE_CHECKING

from gblint.errors import GblintError

if TYPE_CHECKING:
    from gblint.index.cache import Fresh
    from gblint.units import Plan, UnitResult, Worker

_CHUNK = 4  # neighbours share much of their text, and so trees

_WORKER: Worker | None = None
_PLANS: list[Plan] = []

_Timed = tuple["UnitResult", float]


def run_units(worker: Worker, plans: list[Plan], jobs: int) -> Iterator[_Timed]:
    """Results in the order of `plans`, and the seconds that each took. Where there is no fork (on Windows, or since the
    system has no room for another process), all run in this process.

    What the processes learned of files goes into the cache of this one. Raises GblintError if one of them is ended from
    outside.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        yield from map(worker.timed, plans)
        return
    global _WORKER, _PLANS
    worker.machine()  # made once, shared by the children, and so are the modules that each would import for itself
    _import_all()
    _WORKER, _PLANS = worker, plans
    others = multiprocessing.active_children()
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("fork"), _begin)
    try:
        try:
            results = pool.map(_run_one, range(len(plans)), chunksize=_CHUNK)
        except OSError:
            _end(pool, others)
            yield from map(worker.timed, plans)
            return
        cache = worker.project.cache
        for timed, fresh in results:
            if cache is not None and fresh is not None:
                cache.absorb(fresh)
            yield timed
        pool.shutdown()
    except BrokenProcessPool as error:
        hint = "if there was too little memory for it, --jobs 1 takes less"
        raise GblintError("a process that analysed files was ended from outside; nothing is reported", hint) from error
    finally:
        _end(pool, others)


def _import_all() -> None:
    """Import what the analysis of a unit imports where it first needs it: some tenths of a second of each process."""
    from gblint.registry import load_codemods

    for module in ("gblint.findings.build", "gblint.fixing.propose", "gblint.interpreter.roots", "networkx"):
        importlib.import_module(module)
    load_codemods()


def _end(pool: ProcessPoolExecutor, others: list[multiprocessing.process.BaseProcess]) -> None:
    """End the processes of a pool, whatever they are at; `others` are not its own."""
    pool.shutdown(wait=False, cancel_futures=True)
    for child in multiprocessing.active_children():
        if child not in others:
            child.terminate()


def _begin() -> None:
    """Ctrl-C is for the parent, which ends the children; without a parent they end by themselves."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _run_one(number: int) -> tuple[_Timed, Fresh | None]:
    assert _WORKER is not None
    timed = _WORKER.timed(_PLANS[number])
    cache = _WORKER.project.cache
    return timed, cache.drain() if cache is not None else None
