"""A context manager that compiled code can do without is left out of it.

What it does:
    Puts `contextlib.nullcontext()` in the place of the manager while Dynamo traces: `with nullcontext() if
    torch.compiler.is_compiling() else lock:`. For managers that guard, watch or redirect, and that do not change what
    is computed in their block: locks, anomaly detection, profilers, redirected output, saved tensors moved to the CPU,
    a random state that is put back.
Applicability:
    Unsafe: compiled code is not locked, watched or redirected, and random numbers behind the block are others.
Preconditions:
    What the manager gives (`as name`) is not used. The manager changes no value that is computed in its block.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Declined,
    Example,
    Repair,
    Site,
    is_guarded,
    require,
    type_name,
)

SPARED = (
    "threading.Lock", "threading.RLock", "threading.Condition", "threading.Semaphore", "threading.BoundedSemaphore",
    "_thread.lock", "_thread.RLock", "_thread.allocate_lock", "multiprocessing.Lock", "multiprocessing.RLock",
    "torch.autograd.detect_anomaly", "torch.autograd.set_detect_anomaly", "torch.autograd.anomaly_mode",
    "torch.autograd.profiler", "torch.profiler", "torch.cuda.nvtx", "torch.autograd.graph.save_on_cpu",
    "contextlib.redirect_stdout", "contextlib.redirect_stderr", "warnings.catch_warnings", "torch.cuda.profiler",
    "tempfile.TemporaryDirectory", "torch.backends.cudnn.flags", "torch.cuda.device", "filelock.FileLock",
    "torch.random.fork_rng", "cProfile.Profile", "tracemalloc",
)  # fmt: skip


class SkipContextManager(Codemod):
    """Leaves out managers that compiled code does not need."""

    meta = CodemodMeta(
        name="skip-context-manager",
        summary="enter a lock or a watching context manager only when not compiling",
        fixes=("unsupported-context-manager", "contextlib-manager", "skipped-library-function", "opaque-method"),
        rank=40,
    )
    EXAMPLES = (
        Example(
            """
import contextlib
import threading

import torch


class Cache:
    def __init__(self):
        self._lock = threading.RLock()
        self._items = {}

    def get(self, key):
        with self._lock:
            if key not in self._items:
                self._items[key] = torch.arange(key)
            return self._items[key]


CACHE = Cache()


@torch.compile
def f(x):
    return x + CACHE.get(x.size(0))


print("checksum", f(torch.ones(2)).sum().item())
""",
            """
import contextlib
import threading

import torch


class Cache:
    def __init__(self):
        self._lock = threading.RLock()
        self._items = {}

    def get(self, key):
        with contextlib.nullcontext() if torch.compiler.is_compiling() else self._lock:
            if key not in self._items:
                self._items[key] = torch.arange(key)
            return self._items[key]


CACHE = Cache()


@torch.compile
def f(x):
    return x + CACHE.get(x.size(0))


print("checksum", f(torch.ones(2)).sum().item())
""",
            "unsafe",
        ),
        Example(
            """
import torch


@torch.compile
def f(x):
    with torch.autograd.detect_anomaly():
        return (x * 2).sum()


print("checksum", f(torch.ones(2, requires_grad=True)).item())
""",
            """
import contextlib

import torch


@torch.compile
def f(x):
    with contextlib.nullcontext() if torch.compiler.is_compiling() else torch.autograd.detect_anomaly():
        return (x * 2).sum()


print("checksum", f(torch.ones(2, requires_grad=True)).item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def f(x):
    with torch.device("meta"):
        return x + torch.ones(2).shape[0]

f(torch.ones(2))
""",
            "may depend on",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        item = self._item(site)
        if item is None or is_guarded(site, item):
            return None
        spared = self._spared(site, item.item)
        require(spared, f"what is computed may depend on `{site.flat(item.item)}`")
        target = item.asname.name if item.asname is not None else None
        used = target is not None and not (isinstance(target, cst.Name) and not any(site.loads(target.value)))
        require(not used, "what the manager gives is used in its block")
        null, first = site.refer("contextlib.nullcontext")
        word, second = site.refer("torch.compiler.is_compiling")
        text = f"{null}() if {word}() else {site.flat(item.item)}"
        edits = [site.replace(item.item, text), *first, *second]
        return Repair("unsafe", "enter the context manager only when not compiling", edits)

    def _item(self, site: Site) -> cst.WithItem | None:
        """The item of a `with` statement whose manager the node is or belongs to."""
        for above in (site.node, *site.ancestors(site.node)):
            if isinstance(above, cst.WithItem):
                return above
            if isinstance(above, cst.With):
                return above.items[0] if len(above.items) == 1 and above is site.node else None
            if isinstance(above, cst.BaseStatement | cst.Lambda):
                return None
        return None

    def _spared(self, site: Site, manager: cst.BaseExpression) -> bool:
        value = site.value(manager)
        names = [site.callee(manager), site.dotted(manager), type_name(value) if value is not None else ""]
        names.append(getattr(value, "base", ""))
        return any(name.startswith(SPARED) for name in names if name)
