"""Library code that takes a lock is called: a queue, a thread, an event, a `cached_property`.

What breaks:
    `queue.Queue.put` / `get` / `qsize` …, `Thread.start`, `Event.set`, `Future.result`, `executor.submit`,
    `threading.enumerate`, the first read of a `functools.cached_property` before Python 3.12, and a function decorated
    by an object of a `contextlib.ContextDecorator` class.
Why Dynamo breaks:
    The Python code of the library is traced until it enters its lock (or, for the decorator, a context manager object
    made outside), which Dynamo cannot enter.
Example:
    @functools.cached_property
    def scale(self): ...
Instead:
    def __init__(self):
        self.scale = ...
Fix:
    Compute the value in `__init__`; keep queues and threads outside the compiled function; write a `with` block in the
    body instead of the decorator.
Torch versions:
    Every release. Methods of queues and events are GB0156 since 2.14. A manager object as decorator breaks from 2.10
    to 2.13.
Limits:
    `Event.is_set`, `Thread.is_alive` and a `cached_property` that was read before do not break.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta

TRACED = frozenset({"is_set", "is_alive", "name", "done", "cancelled", "daemon"})


class LibraryLock(Rule):
    """Calls that end in a lock."""

    meta = RuleMeta(
        code="GB0142",
        slug="library-lock",
        summary="library code that takes a lock is called in a compiled region",
        category="supportable",
        advice="Keep queues and threads outside; compute cached values in __init__.",
        by_hand="what the lock keeps apart is not in the code",
    )
    measured = True
    calls = (
        "threading.Thread.start", "threading.Event.set", "threading.Event.clear", "threading.Event.wait",
        "threading.enumerate", "threading.active_count", "queue.Queue.*", "queue.LifoQueue.*", "queue.PriorityQueue.*",
        "concurrent.futures.Future.result", "concurrent.futures.ThreadPoolExecutor.submit", "mark:cached_property",
        "mark:context_decorator",
    )  # fmt: skip
    BREAKS = (
        """
import queue
import threading
import torch

JOBS = queue.Queue()
DONE = threading.Event()

@torch.compile
def posted(x):
    y = x * 2
    JOBS.put(1)  # GB0142
    y = y + 1
    DONE.set()  # GB0142
    return y - 1

posted(torch.ones(2))
""",
        """
import functools
import torch
from torch import nn

class Net(nn.Module):
    @functools.cached_property
    def scale(self):
        return 2

    def forward(self, x):
        return x * self.scale  # GB0142

torch.compile(Net())(torch.ones(2))
""",
        """
import contextlib
import torch

class exploring(contextlib.ContextDecorator):
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False

@exploring()
def act(x):
    return x + 1

@torch.compile
def run(x):
    return act(x) * 2  # GB0142

run(torch.ones(2))
""",
    )
    CLEAN = (
        """
import functools
import threading
import torch
from torch import nn

DONE = threading.Event()

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.shift

    @functools.cached_property
    def shift(self):
        return 2

    @property
    def scale(self):
        return 3

    def forward(self, x):
        return x * self.scale + self.shift if not DONE.is_set() else x

torch.compile(Net())(torch.ones(2))
""",
        """
import contextlib
import torch

@contextlib.contextmanager
def scope():
    yield

@scope()
def act(x):
    return x + 1

class Queue:
    def put(self, x):
        return x + 1

@torch.compile
def run(x, jobs: Queue):
    return jobs.put(act(x)) * 2

run(torch.ones(2), Queue())
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        text = context.text(event.node)
        if event.callee == "mark:cached_property":
            message = f"`{text}` is a cached_property: its first read takes a lock, which Dynamo cannot enter"
            return Break(message, 0.8, fatal=True)
        if event.callee == "mark:context_decorator":
            if not (2, 10) <= context.torch < (2, 14):
                return None
            return Break(f"`{text}` calls a function wrapped by a context manager object made outside")
        is_method = event.receiver is not None or not event.callee.startswith(("queue.", "concurrent."))
        if not is_method or event.callee.rpartition(".")[2] in TRACED:
            return None
        return Break(
            f"`{text}` takes a lock, which Dynamo cannot enter", code="GB0156" if context.torch >= (2, 14) else ""
        )
