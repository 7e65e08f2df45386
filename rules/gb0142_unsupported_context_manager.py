"""A `with` block whose context manager Dynamo cannot enter.

What breaks:
    Locks, conditions and semaphores; files (`with open(…)`); managers made by a call that itself breaks
    (`detect_anomaly`, `save_on_cpu`, `fork_rng`, `contextlib.closing`, `redirect_stdout`, `TemporaryDirectory`,
    thread pools, `mock.patch`, `numpy.errstate`); `torch.device(…)` and `torch.backends.*.flags` as managers; any
    object of a user class, `@contextmanager` result, `no_grad`, `inference_mode` or profiler that was made outside
    the compiled function.
Why Dynamo breaks:
    It enters managers it has a model of, and objects of Python classes that it sees made. Others it does not know.
Example:
    with self.lock:
        y = self.layer(x)
Instead:
    y = self.layer(x)  # lock around the compiled call
Fix:
    Enter the manager outside the compiled function, or make the object inside it (`with Scope():`).
Torch versions:
    Every release. Since 2.14 objects of own classes and of `@contextmanager` may come from outside. In 2.9 `suppress`
    and `ExitStack` cannot be entered.
Limits:
    `autocast`, `record_function` and `nullcontext` objects may come from outside. `no_grad()`, `suppress`,
    `ExitStack`, profilers and user classes made in the region do not break.
"""

from __future__ import annotations

from gblint.rule_api import Break, Context, Enter, External, Instance, Rule, RuleMeta, Stream, members

LOCKS = frozenset(
    {
        "threading.Lock", "threading.RLock", "threading.Condition", "threading.Semaphore",
        "threading.BoundedSemaphore", "_thread.lock", "_thread.RLock", "_thread.allocate_lock",
        "multiprocessing.Lock", "multiprocessing.RLock", "multiprocessing.context.Lock",
        "multiprocessing.synchronize.Lock",
    }
)  # fmt: skip
FILES = frozenset(
    {
        "builtins.open", "io.open", "io.TextIOWrapper", "io.BufferedReader", "io.BufferedWriter", "io.StringIO",
        "io.BytesIO", "tempfile.TemporaryDirectory", "tempfile.NamedTemporaryFile", "tempfile.TemporaryFile",
        "zipfile.ZipFile", "tarfile.open", "gzip.open", "socket.socket", "sqlite3.connect", "sqlite3.Connection",
    }
)  # fmt: skip
BROKEN = frozenset(
    {
        "contextlib.closing", "contextlib.redirect_stdout", "contextlib.redirect_stderr", "torch.device",
        "torch.autograd.detect_anomaly", "torch.autograd.set_detect_anomaly", "torch.autograd.graph.save_on_cpu",
        "torch.autograd.graph.saved_tensors_hooks", "torch.autograd.graph.allow_mutation_on_saved_tensors",
        "torch.autograd.set_multithreading_enabled", "torch.autograd.profiler.emit_nvtx", "torch.random.fork_rng",
        "torch.backends.cudnn.flags", "torch.jit.optimized_execution", "concurrent.futures.ThreadPoolExecutor",
        "concurrent.futures.ProcessPoolExecutor", "multiprocessing.Pool", "unittest.mock.patch", "numpy.errstate",
        "numpy.printoptions", "decimal.localcontext", "torch.compiler.disable", "torch._dynamo.config.patch",
    }
)  # fmt: skip
# Since 2.14 entering these breaks for another reason only.
ENTERED = ("contextlib.closing", "contextlib.redirect_stdout", "contextlib.redirect_stderr",
           "torch.autograd.detect_anomaly", "torch.autograd.graph.save_on_cpu")  # fmt: skip
BROKEN_IN_2_9 = ("contextlib.suppress", "contextlib.ExitStack")
CODES_SINCE_2_14 = {"torch.random.fork_rng": "GB0007", "torch.no_grad": "GB0008", "torch.enable_grad": "GB0008",
                    "torch.inference_mode": "GB0008", "torch.set_grad_enabled": "GB0008"}  # fmt: skip
MAY_COME_FROM_OUTSIDE = ("torch.autocast", "torch.amp.", "torch.cuda.amp.", "torch.profiler.record_function",
                         "torch.autograd.profiler.record_function", "contextlib.nullcontext", "contextlib.suppress",
                         "warnings.catch_warnings")  # fmt: skip


class UnsupportedContextManager(Rule):
    """with items that cannot be entered, and library calls that take a lock."""

    meta = RuleMeta(
        code="GB0142",
        slug="unsupported-context-manager",
        summary="a context manager that Dynamo cannot enter",
        category="supportable",
        advice="Enter it outside the compiled function, or make the object inside the region.",
        by_hand="what the manager does would have to be done without it",
    )
    BREAKS = (
        """
import threading
import torch
from torch import nn

LOCK = threading.Lock()

class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.lock = threading.RLock()

    def forward(self, x):
        with self.lock:  # GB0142
            y = self.layer(x)
        return y

@torch.compile
def locked(x):
    y = x * 2
    with LOCK:  # GB0142
        y = y + 1
    return y

torch.compile(Shared())(torch.ones(1, 2))
locked(torch.ones(2))
""",
        """
import torch

class Scope:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False

scope = Scope()
frozen = torch.no_grad()

@torch.compile
def scoped(x):
    y = x * 2
    with scope:  # GB0142
        y = y + 1
    return y

@torch.compile
def evaluated(x, manager):
    y = x * 2
    with frozen:  # GB0142
        y = y + 1
    return y

scoped(torch.ones(2))
evaluated(torch.ones(2), Scope())
""",
        """
import torch

@torch.compile
def device(x):
    with torch.device("cpu"):  # GB0142
        y = torch.zeros(2)
    return x + y

@torch.compile
def checked(x):
    with torch.autograd.detect_anomaly():  # GB0008, GB0142
        y = x * 2
    return y

device(torch.ones(2))
checked(torch.ones(2))
""",
    )
    CLEAN = (
        """
import contextlib
import torch

@contextlib.contextmanager
def scope():
    yield 2

class Scope:
    def __enter__(self):
        return 3

    def __exit__(self, *error):
        return False

@torch.compile
def scoped(x):
    with Scope() as a, scope() as b, contextlib.suppress(ValueError), contextlib.nullcontext(4) as c:
        y = x * a * b * c
    return y

scoped(torch.ones(2))
""",
        """
import contextlib
import torch
from torch import nn

mixed = torch.autocast("cpu")
named = torch.profiler.record_function("step")

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.context = contextlib.nullcontext()

    def forward(self, x):
        with self.context, mixed, named:
            y = self.layer(x)
        with torch.no_grad(), torch.inference_mode(False), torch.set_grad_enabled(True), torch.enable_grad():
            return y + 1

torch.compile(Net())(torch.ones(1, 2))
""",
        """
import threading
import torch

LOCK = threading.Lock()

@torch.compile
def step(x):
    return x * 2 if LOCK is not None else x

with LOCK:
    step(torch.ones(2))
""",
    )

    def on_enter(self, event: Enter, context: Context) -> Break | None:
        certainty = self._certainty(event, context)
        if not certainty:
            return None
        message = f"Dynamo cannot enter the context manager `{context.text(event.node)}`"
        code = CODES_SINCE_2_14.get(event.callee, "") if context.torch >= (2, 14) else ""
        return Break(message, certainty, about=event.manager, fatal=True, code=code)

    def _certainty(self, event: Enter, context: Context) -> float:
        name = event.callee
        if name in ENTERED and context.torch >= (2, 14):
            return 0.0
        if name in LOCKS or name in FILES or name in BROKEN or (name in BROKEN_IN_2_9 and context.torch < (2, 10)):
            return 1.0
        measured = context.knowledge.context_managers.get(name)
        if measured is not None and measured != "ok":
            return 0.95
        best = 0.0
        for member in members(event.manager):
            if isinstance(member, Instance) and member.born == "outside":
                best = max(best, 0.9 if self._outside_breaks(member, name, context) else 0.0)
            elif isinstance(member, External) and context.knowledge.canonical(member.dotted) == "torch.device":
                best = 1.0
            elif isinstance(member, Stream) and member.kind == "generator" and member.passed_in:
                best = max(best, 0.9 if context.torch < (2, 14) else 0.0)
        return best

    def _outside_breaks(self, manager: Instance, name: str, context: Context) -> bool:
        """Whether an object made outside the region cannot be entered in it."""
        if name == "contextlib._GeneratorContextManager" or manager.base == "contextlib._GeneratorContextManager":
            return context.torch < (2, 14)
        if manager.cls is not None:
            return context.torch < (2, 14)
        return bool(name) and not name.startswith(MAY_COME_FROM_OUTSIDE)
