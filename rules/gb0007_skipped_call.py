"""A call of a function that Dynamo never traces: C code, the operating system, clocks, random state.

What breaks:
    `time.*`, `random.random` / `choice` / `shuffle` / `seed` …, files and processes (`os.path.exists`,
    `os.listdir`, `os.getpid`, `subprocess.*`, `shutil.*`, most methods of `pathlib.Path` that touch the disk),
    `pickle`, `uuid4`, `hashlib`, `zlib`, `base64`, `heapq`, `bisect`, `gc.*`, `inspect.currentframe`,
    `importlib.import_module`, `threading.Lock()` and other constructors of threads and pools, `sys.exit` and any
    other function outside torch that was measured to break with this id.
Why Dynamo breaks:
    The function has no Python bytecode to trace, or torch lists its module as not to be traced. Dynamo ends the
    graph, lets Python run the call and starts again behind it.
Example:
    start = time.perf_counter()
    y = self.layers(x)
    self.elapsed = time.perf_counter() - start
Instead:
    y = self.layers(x)  # measure around the compiled call
Fix:
    Do it outside the compiled function and pass the result in; wrap C++ extensions as `torch.library.custom_op`;
    use `torch.rand` for random numbers, a table or a cached value for what does not change.
Torch versions:
    Every release. `random.random`, `random.shuffle` and `random.seed` no longer break in 2.14; reading a clock is
    GB9193 since 2.15.
Limits:
    `random.uniform` / `randint` / `randrange`, reads of the environment, `os.path.join` and other pure text
    functions, `importlib.util.find_spec`, `math.*`, `itertools.*` and `functools.*` do not break.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta

TRACED = frozenset(
    {
        "random.uniform", "random.randint", "random.randrange", "random.Random", "random.SystemRandom", "os.getenv",
        "os.fspath", "os.get_exec_path", "os.environ", "os.path.join", "os.path.basename", "os.path.dirname",
        "os.path.expanduser", "os.path.expandvars", "os.path.splitext", "os.path.split", "os.path.isabs",
        "os.path.normcase", "os.path.commonprefix", "os.path.splitdrive", "os.path.commonpath", "sys.exc_info",
        "sys.getrecursionlimit", "sys.intern", "shutil.get_terminal_size", "uuid.UUID", "uuid.uuid5", "uuid.uuid3",
        "hashlib.blake2b", "hashlib.blake2s", "shutil.copyfileobj", "pickle.PickleError", "pickle.Pickler",
        "pickle.Unpickler", "os.environ.get", "os.environ.copy", "os.environ.keys", "os.environ.items",
        "os.environ.values", "os.environ.pop", "os.environ.update", "os.environ.setdefault", "os.putenv",
        "os.unsetenv", "sys.stdout.write", "sys.stdout.flush", "sys.stderr.write", "sys.stderr.flush",
        "sys.stdin.readline", "time.struct_time",
    }
)  # fmt: skip
FAMILIES = (
    "time.", "random.", "os.", "sys.", "gc.", "subprocess.", "shutil.", "pickle.", "uuid.", "hashlib.", "zlib.",
    "gzip.", "base64.", "binascii.", "signal.", "atexit.", "cmath.", "posix.", "_thread.", "resource.",
)  # fmt: skip
CLOCK = "GB9193"  # since 2.15 the id of functions that read a clock


class SkippedCall(Rule):
    """Calls of functions Dynamo skips."""

    meta = RuleMeta(
        code="GB0007",
        slug="skipped-call",
        summary="a function that Dynamo never traces is called",
        category="supportable",
        advice="Call it outside the compiled function and pass the result in.",
    )
    measured = True
    calls = (
        *(family + "*" for family in FAMILIES),
        "inspect.currentframe", "inspect.stack", "inspect.getsource", "inspect.getfile", "traceback.format_stack",
        "traceback.extract_stack", "traceback.print_stack", "importlib.import_module", "importlib.reload",
        "builtins.__import__", "threading.Lock", "threading.Thread", "threading.Event", "threading.Semaphore",
        "threading.Barrier", "threading.Timer", "threading.current_thread", "threading.get_ident",
        "threading.Thread.join", "concurrent.futures.ThreadPoolExecutor", "concurrent.futures.ProcessPoolExecutor",
        "multiprocessing.Process", "multiprocessing.Pool", "multiprocessing.Queue", "multiprocessing.Lock",
        "multiprocessing.cpu_count", "tempfile.mkdtemp", "tempfile.mkstemp", "tempfile.TemporaryDirectory",
        "glob.glob", "pathlib.Path.exists", "pathlib.Path.is_file", "pathlib.Path.is_dir", "pathlib.Path.mkdir",
        "pathlib.Path.read_text", "pathlib.Path.read_bytes", "pathlib.Path.write_text", "pathlib.Path.write_bytes",
        "pathlib.Path.resolve", "pathlib.Path.open", "pathlib.Path.stat", "pathlib.Path.unlink", "pathlib.Path.cwd",
        "heapq.heappush", "heapq.heappop", "heapq.heapify", "bisect.bisect", "bisect.bisect_left",
        "bisect.bisect_right", "bisect.insort", "struct.calcsize", "queue.Queue", "queue.PriorityQueue",
        "queue.LifoQueue", "re.finditer", "weakref.proxy", "contextvars.copy_context", "socket.gethostname",
        "getpass.getuser", "codecs.encode", "codecs.decode", "sqlite3.connect", "typing.NamedTuple",
        "typing.TypeVar", "decimal.getcontext", "decimal.localcontext", "contextlib.ExitStack.enter_context",
        "contextlib.chdir", "timeit.default_timer", "unicodedata.normalize", "csv.reader", "csv.writer",
        "networkx.Graph", "networkx.DiGraph", "numpy.polynomial.*", "mark:disallow_in_graph",
    )  # fmt: skip
    BREAKS = (
        """
import random
import time
import torch
from torch import nn

class Timed(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(4, 4)
        self.elapsed = 0.0

    def forward(self, x):
        start = time.perf_counter()  # GB0007
        y = self.proj(x)
        self.elapsed = time.perf_counter() - start  # GB0007
        if random.choice([True, False]):  # GB0007
            y = y + 1
        return y * 2

torch.compile(Timed())(torch.randn(2, 4))
""",
        """
import os
import os.path as osp
import pickle
import uuid
import torch

def tag():
    return uuid.uuid4().hex  # GB0007

@torch.compile
def run(x, settings):
    if os.path.exists("scale.txt"):  # GB0007
        x = x * 2
    if osp.isdir("cache"):  # GB0007
        x = x * 3
    x = x + len(pickle.dumps(settings))  # GB0007
    x = x * len(tag())
    return x + os.getpid() % 2  # GB0007

run(torch.ones(2), [1])
""",
        """
import hashlib
import heapq
import importlib
import pathlib
import threading
import torch

FOLDER = pathlib.Path("cache")

@torch.compile
def keyed(x, name):
    digest = hashlib.sha256(name)  # GB0007
    x = x + 1
    if FOLDER.exists():  # GB0007
        x = x + 1
    lock = threading.Lock()  # GB0007
    x = x * 2
    module = importlib.import_module("math")  # GB0007
    x = x * module.pi
    queue = [3, 1]
    heapq.heapify(queue)  # GB0007
    return x + queue[0], digest is lock

keyed(torch.ones(2), b"layer")
""",
    )
    CLEAN = (
        """
import importlib.util
import itertools
import math
import os
import random
import sys
import torch

@torch.compile
def step(x, root):
    x = x + random.randint(0, 3)
    x = x * random.uniform(0, 1) + random.randrange(2)
    path = os.path.join(root, "a") + os.path.basename(root) + os.path.splitext(root)[0] + os.path.dirname(root)
    if importlib.util.find_spec("numpy") is None or sys.version_info < (3, 8) or os.environ.get("GBLINT_A"):
        x = x + 1
    for a, b in itertools.product([1], [2]):
        x = x * a + b
    return x * math.sqrt(2) * len(path)

step(torch.ones(2), "folder")
""",
        """
import time
import torch

START = time.time()

class Clock:
    def time(self, x):
        return x + 1

@torch.compile
def step(x, clock, now):
    return clock.time(x) * now * START

start = time.perf_counter()
step(torch.ones(2), Clock(), 2.0)
elapsed = time.perf_counter() - start
""",
        """
import re
import torch

PATTERN = re.compile("a")

@torch.compile
def step(x, name: str):
    if PATTERN.match(name) or re.sub("a", "b", name) == "b":
        x = x + 1
    return x * 2

step(torch.ones(2), "ab")
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        if not self.skips(event.callee, context):
            return None
        name = event.name or event.callee
        if event.callee.startswith("mark:"):
            return Break(f"`{context.text(event.node)}` calls `{name}`, which is kept out of graphs by the project")
        code = CLOCK if context.knowledge.verdict(event.callee) == CLOCK else ""
        return Break(f"`{context.text(event.node)}` calls `{name}`, which Dynamo never traces", code=code)

    def skips(self, callee: str, context: Context) -> bool:
        """Whether a call breaks here: what was measured counts, else the families and lists above."""
        if callee in ELSEWHERE or callee.startswith(("torch.", "hashlib.HASH.")):
            return False
        verdict = context.knowledge.verdict(callee)
        if verdict is not None:
            return verdict in (self.meta.code, CLOCK)
        return callee not in TRACED and (
            callee in self.calls or callee.startswith("numpy.polynomial.") or _is_direct_member(callee)
        )


def _is_direct_member(callee: str) -> bool:
    """True for `time.time` and `os.path.exists`, False for a method of an object (`random.Random.choice`)."""
    return callee.removeprefix("os.path.").count(".") <= 1


ELSEWHERE = frozenset(
    {
        "warnings.warn", "warnings.warn_explicit", "warnings.simplefilter", "warnings.filterwarnings",
        "warnings.resetwarnings", "warnings.showwarning", "logging.warn", "copy.copy", "os.environ.update",
        "os.environ.setdefault", "os.putenv", "os.unsetenv",
    }
)  # fmt: skip
