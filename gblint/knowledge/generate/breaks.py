"""Runs micro-programs under Dynamo, each in a forked child with a time limit, and says which graph break came first."""

from __future__ import annotations

import contextlib
import gc
import logging
import math
import os
import re
import resource
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import torch
import torch._dynamo
from torch._dynamo.exc import InternalTorchDynamoError, get_gbid_documentation_link

CPU_LIMIT_S = 20  # processor time of a child: on a busy machine, a fair child may take far longer by the clock
LIMIT_S = 120.0  # by the clock: for children that sleep or wait
OK, CRASH, UNNAMED = "ok", "crash", "unnamed"
_ID = re.compile(r"/gb(\d{4})\.html", re.I)


@dataclass(frozen=True)
class Outcome:
    """What came of one program: "ok", a graph-break id or "crash"; None when it does not even run eagerly.

    type: type of the value the program yields eagerly; detail: Dynamo's name of the break, or the error met.
    """

    verdict: str | None
    type: str | None = None
    detail: str = ""


def compiled_outcome(program: Callable[..., Any], *args: Any) -> Outcome:
    """Compiles and runs a program in this process (backend "eager", default configuration)."""
    torch._dynamo.reset()
    with _first_break() as breaks:
        try:
            torch.compile(program, backend="eager")(*args)
        except InternalTorchDynamoError as error:
            return Outcome(CRASH, detail=str(error).partition("\n")[0])
        except Exception as error:
            if not breaks:
                return Outcome(CRASH, detail=f"{type(error).__name__}: {error}".partition("\n")[0])
    return _outcome(breaks)


def _outcome(breaks: list[str]) -> Outcome:
    if not breaks:
        return Outcome(OK)
    ids = _ID.findall(breaks[0])
    name = next((line for line in map(str.strip, breaks[0].splitlines()) if _is_name(line)), "")
    return Outcome(f"GB{ids[0]}" if ids else UNNAMED, detail=name)


def _is_name(line: str) -> bool:
    """Whether a line of a report is Dynamo's name for a kind of break: the one that its registry links to."""
    return bool(line) and get_gbid_documentation_link(line) is not None


@contextlib.contextmanager
def _first_break() -> Iterator[list[str]]:
    """Collects the graph-break reports that Dynamo logs inside the block."""
    found: list[str] = []
    handler = _Collector(found)
    loggers = [
        logging.getLogger(name) for name in list(logging.root.manager.loggerDict) if name.endswith("__graph_breaks")
    ]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield found
    finally:
        for logger in loggers:
            logger.removeHandler(handler)


class _Collector(logging.Handler):
    def __init__(self, found: list[str]) -> None:
        super().__init__(logging.DEBUG)
        self.found = found

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(record.getMessage())


def warm_up() -> None:
    """Loads all of Dynamo and switches its graph-break log on (quietly), so that children start ready."""
    torch.set_num_threads(1)
    torch._logging._internal.set_logs(graph_breaks=True)
    for name in list(logging.root.manager.loggerDict):
        if name.endswith("__graph_breaks"):
            logging.getLogger(name).handlers.clear()
            logging.getLogger(name).propagate = False
    for program in (_straight, _breaking):
        compiled_outcome(program, torch.ones(2), np.ones(2))
    gc.collect()
    gc.freeze()


def _straight(t: Any, arr: Any) -> Any:
    """Meets what Dynamo loads lazily: modules as values, builtins, containers, contexts, arrays, classes."""
    with torch.no_grad():
        total = math.sqrt(float(t.shape[0])) + sum(n for n in [1, 2]) + len({"a": 1}) + len(str(t.shape))
    return torch.as_tensor(np.sum(arr)) + total, torch.sum(t), {"a": t.view(-1)}, isinstance(t, torch.Tensor)


def _breaking(t: Any, arr: Any) -> Any:
    """A break, so that the code that reports and resumes is loaded too."""
    torch._dynamo.graph_break()
    return t + 1


def run_all(tasks: Iterable[tuple[str, Callable[[], Any]]], jobs: int = 2, limit_s: float = LIMIT_S) -> dict[str, Any]:
    """Answer of every named task, each run in a child of its own; a child that fails answers with `Outcome(None)`."""
    tasks = list(tasks)
    with ThreadPoolExecutor(jobs) as pool:
        outcomes = pool.map(lambda task: in_child(task[1], limit_s), tasks)
        return {name: outcome for (name, _), outcome in zip(tasks, outcomes, strict=True)}


def in_child(task: Callable[[], Any], limit_s: float = LIMIT_S) -> Any:
    """Runs a task in a forked child: whatever it does to the interpreter, the terminal or the disk stays there."""
    context = get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    with tempfile.TemporaryDirectory(prefix="gblint-probe-", ignore_cleanup_errors=True) as directory:
        child = context.Process(target=_child, args=(task, theirs, directory), daemon=True)
        child.start()
        theirs.close()
        try:
            answer = ours.recv() if ours.poll(limit_s) else Outcome(None, detail="time limit")
        except EOFError:
            answer = Outcome(None, detail="child died")
        child.kill()
        child.join()
    return answer


def _child(task: Callable[[], Any], answer: Connection, directory: str) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT_S, CPU_LIMIT_S))
    warnings.simplefilter("ignore")
    os.chdir(directory)
    tempfile.tempdir = directory
    _silence()
    try:
        answer.send(task())
    except BaseException as error:
        answer.send(Outcome(None, detail=f"{type(error).__name__}: {error}"))


def _silence() -> None:
    """Sends the child's output nowhere, at the level of file descriptors: programs may write to them directly."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    sys.stdin = open(os.devnull)  # noqa: SIM115  (lives as long as the child)
