"""A method of an object that Dynamo does not look into, or a function that ends in one.

What breaks:
    `datetime.now()` and every other method of dates and times; `json.dumps` / `loads`; `acquire` and `release` of
    locks; `update` / `digest` of hash objects; `choice`, `shuffle`, `gauss` … of a `random.Random`; methods of
    NumPy's `RandomState` and `Generator`; methods of `bytes` (`hex`, `split`, `join`), `bytearray`, `memoryview`,
    `array`; `tensor.untyped_storage().nbytes()`; `io.StringIO()`; `pprint`; `functools.lru_cache(f)` inside the
    region; `deque.rotate`; `torch.no_grad().__enter__()` called by hand.
Why Dynamo breaks:
    These objects are implemented in C. Dynamo keeps them as opaque values and has no model of their methods.
Example:
    stamp = datetime.datetime.now().isoformat()
    key = json.dumps(config)
Instead:
    key = config_key  # a string computed before the call
Fix:
    Call the method outside the compiled function and pass the result in.
Torch versions:
    Every release.
Limits:
    Reading attributes (`day.year`) does not break; `random.Random().random` / `uniform` / `randint`, compiled
    regular expressions, `str`, `list`, `dict`, `set` and `deque` methods, `weakref`, `pathlib` name methods do not
    break.
"""

from __future__ import annotations

from gblint.rule_api import Break, Call, Context, Rule, RuleMeta, tensor_certainty

LOCKS = ("threading.Lock", "threading.RLock", "threading.Condition", "_thread.lock", "_thread.RLock")
LOCK_METHODS = frozenset({"acquire", "release", "locked", "notify", "notify_all", "wait"})
TRACED_RANDOM = frozenset({"random", "uniform", "randint", "randrange", "seed", "__init__"})
TRACED_BYTES = frozenset({"decode", "__len__", "__getitem__", "__eq__"})
OWNERS = (
    "datetime.datetime", "datetime.date", "datetime.time", "datetime.timedelta", "hashlib.md5", "hashlib.sha1",
    "hashlib.sha256", "hashlib.sha512", "hashlib.new", "hashlib.blake2b", "_hashlib.HASH", "hashlib._Hash",
    "hashlib.HASH",
    "numpy.random.RandomState", "numpy.random.Generator", "numpy.random.default_rng",
    "numpy.random.mtrand.RandomState", "numpy.random._generator.Generator", "builtins.bytearray", "bytearray",
    "builtins.memoryview", "memoryview", "array.array", "queue.SimpleQueue", "multiprocessing.Queue",
    "argparse.ArgumentParser", "cProfile.Profile",
)  # fmt: skip


MADE_BY_SKIPPED = ("hashlib.HASH",)  # measured together with the call that makes the object


class OpaqueMethod(Rule):
    """Methods of opaque objects, and stdlib functions that end in one."""

    meta = RuleMeta(
        code="GB0156",
        slug="opaque-method",
        summary="a method of an object that Dynamo does not look into is called",
        category="supportable",
        advice="Call it outside the compiled function and pass the result in.",
    )
    measured = True
    calls = (
        *(f"{owner}.*" for owner in OWNERS),
        *(f"{lock}.*" for lock in LOCKS),
        "random.Random.*", "bytes.*", "builtins.bytes.*", "torch.UntypedStorage.nbytes",
        "torch.UntypedStorage.data_ptr", "json.dumps", "json.loads", "json.dump", "json.load",
        "json.JSONEncoder.encode", "json.JSONDecoder.decode", "pprint.pprint", "pprint.pformat", "io.StringIO",
        "io.BytesIO", "random.SystemRandom", "uuid.uuid5", "uuid.uuid3", "hashlib.blake2b", "threading.RLock",
        "threading.Condition", "queue.SimpleQueue", "functools.lru_cache", "functools.cache",
        "functools.cached_property", "types.new_class", "dataclasses.make_dataclass", "logging.basicConfig",
        "logging.StreamHandler", "logging.addLevelName", "logging.Logger.addHandler", "urllib.parse.quote",
        "shutil.get_terminal_size", "deque.rotate", "collections.deque.rotate", "int.to_bytes",
        "numpy.random.RandomState", "yaml.dump", "yaml.safe_load", "ctypes.c_int", "ctypes.c_float",
        "argparse.ArgumentParser", "cProfile.Profile", "torch.no_grad.__enter__", "torch.no_grad.__exit__",
        "torch.enable_grad.__enter__", "torch.profiler.record_function.__enter__",
    )  # fmt: skip
    BREAKS = (
        """
import datetime
import json
from datetime import date
import torch

DAY = datetime.datetime(2020, 1, 1)

@torch.compile
def stamped(x, config):
    now = datetime.datetime.now()  # GB0156
    x = x + now.year * 0
    key = json.dumps(config)  # GB0156
    x = x * len(key)
    text = DAY.isoformat()  # GB0156
    x = x * len(text)
    today = date.today()  # GB0156
    return x * today.day

stamped(torch.ones(2), {"a": 1})
""",
        """
import hashlib
import random
import threading
import numpy as np
import torch

LOCK = threading.Lock()
HASH = hashlib.md5()
DICE = random.Random(0)
NOISE = np.random.default_rng(0)

@torch.compile
def drawn(x):
    LOCK.acquire()  # GB0156
    x = x + 1
    LOCK.release()  # GB0156
    x = x * DICE.choice([1, 2])  # GB0156
    x = x + NOISE.random()  # GB0156
    HASH.update(b"a")  # GB0156
    return x + 1

drawn(torch.ones(2))
""",
        """
import collections
import torch

@torch.compile
def footprint(x: torch.Tensor, name: bytes):
    n = x.untyped_storage().nbytes()  # GB0156
    x = x * n
    text = name.hex()  # GB0156
    x = x * len(text)
    ring = collections.deque([1, 2])
    ring.rotate(1)  # GB0156
    return x + ring[0]

footprint(torch.ones(2), b"a")
""",
    )
    CLEAN = (
        """
import collections
import datetime
import random
import re
import torch

DAY = datetime.datetime(2020, 1, 1)
DICE = random.Random(0)
PATTERN = re.compile("a")

@torch.compile
def step(x, name: str):
    x = x * DAY.year + DICE.randint(0, 3)
    found = PATTERN.match(name)
    ring = collections.deque([1, 2], maxlen=3)
    ring.append(3)
    ring.appendleft(4)
    n = len(name.upper().strip().split(",")) + ring.popleft() + len(name.encode()) + len(b"a".decode())
    return x * n if found.group(0) == "a" else x

step(torch.ones(2), "a,b")
""",
        """
import json
import torch

CONFIG = json.loads("{}")

class Clock:
    def now(self):
        return 2

    def isoformat(self):
        return "a"

@torch.compile
def step(x, clock: Clock):
    return x * clock.now() * len(clock.isoformat()) + len(CONFIG)

step(torch.ones(2), Clock())
""",
        """
import contextlib
import pathlib
import weakref
import torch

class Holder:
    scale = 2

HOLDER = Holder()
LINK = weakref.ref(HOLDER)
FOLDER = pathlib.Path("a/b.txt")

@torch.compile
def step(x):
    with contextlib.ExitStack() as stack:
        stack.callback(len, "a")
        x = x * LINK().scale
    return x * len(str(FOLDER)) + len(FOLDER.name)

step(torch.ones(2))
""",
    )

    def on_call(self, event: Call, context: Context) -> Break | None:
        owner, _, method = event.callee.rpartition(".")
        verdict = context.knowledge.verdict(event.callee)
        if verdict not in (None, self.meta.code) and owner not in MADE_BY_SKIPPED:
            return None
        if verdict != self.meta.code and not _breaks(owner, method):
            return None
        if method == "fromkeys" and event.receiver is None:
            return None  # it is traced when called on the class
        if event.callee.startswith("torch.Tensor.") and not tensor_certainty(event.receiver):
            return None
        return Break(f"`{context.text(event.node)}` calls `{event.callee}`, which Dynamo has no model of")


def _breaks(owner: str, method: str) -> bool:
    """Whether an unmeasured callee breaks: some owners have methods that are traced."""
    if owner in LOCKS:
        return method in LOCK_METHODS
    if owner == "random.Random":
        return method not in TRACED_RANDOM
    if owner in ("bytes", "builtins.bytes"):
        return method not in TRACED_BYTES
    return True
