"""The names that probing programs may use: modules, plain objects, and one small instance of everything common."""

from __future__ import annotations

import collections
import contextlib
import contextvars
import dataclasses
import datetime
import enum
import functools
import importlib
import inspect
import io
import logging
import pathlib
import pickle
import queue
import random
import re
import string
import threading
import time
import uuid
import weakref
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import torch

MODULES = """
abc argparse array ast asyncio atexit base64 bisect builtins calendar cmath codecs collections collections.abc
colorsys concurrent.futures configparser contextlib contextvars copy cProfile csv ctypes dataclasses datetime
decimal difflib enum faulthandler fnmatch fractions functools gc getpass glob graphlib gzip hashlib heapq html
importlib importlib.metadata importlib.resources importlib.util inspect io itertools json keyword linecache
locale logging marshal math mimetypes multiprocessing numbers numpy operator os os.path pathlib pickle pkgutil
platform pprint queue random re resource sched secrets select shutil signal socket sqlite3 statistics string
struct subprocess sys tempfile textwrap threading time timeit traceback tracemalloc types typing unicodedata
unittest.mock urllib.parse uuid warnings weakref xml.sax.saxutils zipfile zlib torch torch.utils.checkpoint
torch.utils.dlpack torch.utils.flop_counter torch.distributed torch.distributed.nn.functional
torch.nn.attention.flex_attention torch.fx.traceback torch.fx.experimental.proxy_tensor torch.profiler
torch._dynamo torch.nn.utils.stateless torch.nn.utils.prune torch.distributed.algorithms.join
torch.testing._internal.common_utils torch.ao.quantization torch.func torch.export
""".split()


class Plain:
    """A class of the user's, without anything special."""


class Child(Plain):
    """A subclass of it."""


class Thing:
    """An object with an attribute."""

    def __init__(self) -> None:
        self.a = 1


class Ordered:
    """A class that orders itself."""

    def __lt__(self, other: object) -> bool:
        return True


class Color(enum.Enum):
    """An enumeration."""

    RED = 1
    BLUE = 2


@dataclasses.dataclass
class Point:
    """A dataclass."""

    a: int
    b: int


class Cached:
    """A class with both sorts of computed attributes."""

    @functools.cached_property
    def value(self) -> int:
        return 1

    @property
    def plain(self) -> int:
        return 1


class Managed:
    """A context manager of the user's."""

    def __enter__(self) -> Managed:
        return self

    def __exit__(self, *_: object) -> None:
        return None


@contextlib.contextmanager
def managed() -> Iterator[None]:
    """A context manager written as a generator."""
    yield


class Square(torch.autograd.Function):
    """An autograd function in the usual form."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return 2 * ctx.saved_tensors[0] * grad


class SquareOfClass(Square):
    """The same with a classmethod."""

    @classmethod
    def forward(cls, ctx: Any, x: Any) -> Any:
        return x * x


def f(x: Any = 1) -> Any:
    """A function of the user's."""
    return x * 2


def total(x: Any) -> Any:
    """A function from a tensor to a scalar."""
    return x.sum()


def normal(x: Any) -> Any:
    """A distribution over a tensor."""
    return torch.distributions.Normal(x, x.exp())


def tanh() -> list[Any]:
    """A transformation of distributions."""
    return [torch.distributions.TanhTransform()]


def three() -> int:
    """A function that always gives the same number."""
    return 3


def three_of(_: Any) -> None:
    """A visitor of modules that does nothing."""


def hook(*_: Any) -> None:
    """A module hook that does nothing."""


def generate_numbers(n: int = 2) -> Iterator[int]:
    """A generator function."""
    yield from range(n)


def mask_mod(b: Any, h: Any, q: Any, k: Any) -> Any:
    """A mask for flex attention."""
    return q >= k


@functools.lru_cache
def cached(x: int) -> int:
    """A memoised function."""
    return x + 1


@functools.singledispatch
def dispatched(x: Any) -> Any:
    """A function that dispatches on type."""
    return x


@torch.library.custom_op("gblint_probe::double", mutates_args=())
def custom_double(x: torch.Tensor) -> torch.Tensor:
    """A custom operator."""
    return x * 2


@custom_double.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def inputs() -> tuple[Any, ...]:
    """Arguments of every program: float, int and bool tensor of shape (4, 3), and an ndarray of three numbers."""
    t = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5], [3.0, 1.0, 0.0], [0.1, 0.2, 0.3]])
    i = torch.tensor([[1, 2, 0], [2, 1, 1], [0, 2, 2], [2, 0, 1]])
    return t, i, t > 0.2, np.array([1.0, 2.0, 3.0])


ARGUMENTS = ("t", "i", "b", "arr")


def write_files() -> None:
    """Puts the files that programs read into the current directory."""
    pathlib.Path("probe.txt").write_text("1 2\n")
    torch.save(torch.ones(1), "saved.pt")


def join_group() -> None:
    """Makes this process a process group of its own, for the collectives."""
    distributed: Any = torch.distributed
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)


def make() -> dict[str, Any]:
    """The globals of a program."""
    names: dict[str, Any] = {name: value for name, value in globals().items() if not name.startswith("_")}
    for module in MODULES:
        importlib.import_module(module)
        root = module.partition(".")[0]
        names[root] = importlib.import_module(root)
    names.update(_plain_objects(), **_torch_objects())
    return names


def _plain_objects() -> dict[str, Any]:
    match, pool = re.match("(x)", "x"), ThreadPoolExecutor(1)
    finished = threading.Thread(target=f, args=(1,))
    finished.start()
    future: Future[int] = Future()
    future.set_result(1)
    some_queue: queue.Queue[int] = queue.Queue()
    some_queue.put(1)
    obj, held_lock = Thing(), threading.Lock()
    held_lock.acquire()
    return {
        "np": np,
        "n": 3,
        "x": 2.5,
        "s": "x",
        "lst": [3, 1, 2],
        "dct": {"a": 1},
        "it": iter([1, 2]),
        "obj": obj,
        "path": "probe.txt",
        "file": pathlib.Path("probe.txt"),
        "saved": "saved.pt",
        "pickled": pickle.dumps([1]),
        "logger": logging.getLogger("gblint.probe"),
        "handler": logging.NullHandler(),
        "lock": threading.Lock(),
        "held_lock": held_lock,
        "rlock": threading.RLock(),
        "event": threading.Event(),
        "condition": threading.Condition(),
        "semaphore": threading.Semaphore(),
        "local": threading.local(),
        "thread": threading.main_thread(),
        "finished": finished,
        "executor": pool,
        "future": future,
        "some_queue": some_queue,
        "rng": random.Random(0),
        "pattern": re.compile("x"),
        "match": match,
        "moment": datetime.datetime(2024, 1, 1),
        "day": datetime.date(2024, 1, 1),
        "delta": datetime.timedelta(days=1),
        "now": time.localtime(),
        "some_uuid": uuid.UUID(int=1),
        "text_io": io.StringIO(),
        "bytes_io": io.BytesIO(),
        "part": functools.partial(f, 1),
        "ref": weakref.ref(obj),
        "variable": contextvars.ContextVar("v", default=1),
        "np_rng": np.random.default_rng(0),
        "np_state": np.random.RandomState(0),
        "mat": np.ones((3, 3)),
        "signature": inspect.signature(f),
        "Pair": collections.namedtuple("Pair", "a b"),
        "string": string,
        "device": torch.device("cpu"),
    }


def _torch_objects() -> dict[str, Any]:
    disable: Any = torch.compiler.disable
    layer = torch.nn.Linear(3, 3)
    optimizer = torch.optim.SGD(layer.parameters(), 0.1)
    lengths, param_with_grad = torch.tensor([4]), torch.nn.Parameter(torch.ones(3))
    param_with_grad.grad = torch.ones(3)
    return {
        "layer": layer,
        "param_with_grad": param_with_grad,
        "state": layer.state_dict(),
        "norm": torch.nn.BatchNorm1d(3),
        "param": torch.nn.Parameter(torch.ones(3)),
        "conv": torch.nn.Conv2d(1, 1, 1).eval(),
        "norm2": torch.nn.BatchNorm2d(1).eval(),
        "lstm": torch.nn.LSTM(3, 3),
        "gru": torch.nn.GRU(3, 3),
        "rnn": torch.nn.RNN(3, 3),
        "attention": torch.nn.MultiheadAttention(3, 1),
        "optimizer": optimizer,
        "scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 1),
        "scaler": torch.amp.GradScaler("cpu"),
        "generator": torch.Generator(),
        "rng_state": torch.get_rng_state(),
        "disabled": disable(f),
        "vector": torch.ones(12),
        "transformed": torch.distributions.TransformedDistribution,
        "spectrum": torch.stft(torch.ones(12), 4, window=torch.ones(4), return_complex=True),
        "selective_contexts": torch.utils.checkpoint.create_selective_checkpoint_contexts,
        "lengths": lengths,
        "square_matrix": torch.eye(3),
        "packed": torch.nn.utils.rnn.pack_padded_sequence(torch.ones(4, 1, 3), lengths),
        "scripted": torch.jit.script(_scriptable),
        "traced": _traced(),
    }


def _scriptable(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def _traced() -> Any:
    trace: Any = torch.jit.trace
    return trace(_scriptable, torch.ones(2))
