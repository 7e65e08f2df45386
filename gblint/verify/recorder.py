"""Runs inside the user's program when `--check-outputs` asks for it: writes down what compiled callables give.

It is loaded by path, through a `sitecustomize` in front of the program's own, so it imports nothing of gblint's. As
soon as the program has imported torch, it

- seeds the generators of `random`, NumPy and torch, and lets compiled random numbers be those of eager code,
- wraps what `torch.compile` returns, so that each call from outside compiled code is written down,
- wraps `torch.autograd.backward`, so that the gradients of the parameters and inputs seen are written down after it.

With `GBLINT_RECORD_EAGER=1` all of it runs without compilation (`torch.compiler.set_stance("force_eager")`).

A line of the file is a JSON array: "call" or "gradients", then what one call gave or one backward left, leaf by leaf:
`["t", dtype, shape, largest magnitude, values]` for a tensor, of which at most `MOST_VALUES` evenly spaced values are
kept, `["v", text]` for a plain value, `["o", type]` for any other.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

FOLDER, EAGER = "GBLINT_RECORD", "GBLINT_RECORD_EAGER"
SEED = 0
MOST_VALUES = 512
MOST_LINES = 2_000
MOST_LEAVES = 200
PLAIN = (bool, int, float, complex, str, bytes, type(None))


class Recorder:
    """What one process writes down."""

    def __init__(self, torch: Any, folder: str) -> None:
        self._torch = torch
        name = f"{int(os.environ.get('RANK') or 0):06}-{time.time_ns():020}-{os.getpid()}.jsonl"
        self._path = os.path.join(folder, name)
        self._lines = 0
        self._inside = False  # a compiled call: what it calls in turn may or may not be one of its own
        self._leaves: dict[int, Any] = {}  # tensors that gradients may come to, in the order seen

    def install(self) -> None:
        """Seed the program and wrap what it will call."""
        torch = self._torch
        seed(torch)
        plain, backward = torch.compile, torch.autograd.backward

        @functools.wraps(plain)
        def recorded(model: Any = None, *args: Any, **kwargs: Any) -> Any:
            if model is None:
                return lambda model: recorded(model, *args, **kwargs)
            torch._inductor.config.fallback_random = True
            return self.watched(plain(model, *args, **kwargs), model)

        @functools.wraps(backward)
        def backward_and_note(*args: Any, **kwargs: Any) -> None:
            backward(*args, **kwargs)
            self.note("gradients", [leaf.grad for leaf in self._leaves.values() if leaf.grad is not None])

        torch.compile, torch.autograd.backward = recorded, backward_and_note
        if os.environ.get(EAGER) == "1":
            torch.compiler.set_stance("force_eager")

    def watched(self, compiled: Any, given: Any) -> Any:
        """A compiled callable that writes down what each call gives. Of a module, it is `forward` that changes."""
        inner = compiled.forward if isinstance(compiled, self._torch.nn.Module) else compiled

        @functools.wraps(inner)
        def call(*args: Any, **kwargs: Any) -> Any:
            if self._torch.compiler.is_compiling() or self._inside:
                return inner(*args, **kwargs)
            self.expect([given, args, kwargs])
            self._inside = True
            try:
                result = inner(*args, **kwargs)
            except Exception as error:
                if not type(error).__module__.startswith("torch._dynamo"):  # the program's own, eager or compiled
                    self.note("call", error)
                raise
            finally:
                self._inside = False
            self.note("call", result)
            return result

        if inner is compiled:
            return call
        compiled.forward = call
        return compiled

    def expect(self, things: Any) -> None:
        """Remember the leaves of autograd in what a call is given, and in what a function takes from around it."""
        for thing in flat(things):
            owner = getattr(thing, "__self__", thing)
            around = cells(owner) if callable(owner) and not isinstance(owner, self._torch.nn.Module) else []
            for tensor in [t for each in (owner, *around) for t in self._tensors(each)]:
                if tensor.requires_grad and tensor.is_leaf and len(self._leaves) < MOST_LEAVES:
                    self._leaves.setdefault(id(tensor), tensor)

    def _tensors(self, thing: Any) -> list[Any]:
        if isinstance(thing, self._torch.nn.Module):
            return list(thing.parameters())
        return [thing] if isinstance(thing, self._torch.Tensor) else []

    def note(self, kind: str, things: Any) -> None:
        """Write one line down. Nothing that goes wrong here may stop the program."""
        if self._lines >= MOST_LINES or self._torch.compiler.is_compiling():
            return
        self._lines += 1
        try:
            with self._torch.no_grad():
                leaves = [self._leaf(leaf) for leaf, _ in zip(flat(things), range(MOST_LEAVES), strict=False)]
            line = json.dumps([kind, *leaves])
        except Exception as error:
            line = json.dumps([kind, ["o", f"{type(error).__name__} while recording"]])
        with open(self._path, "a", encoding="utf8") as file:
            file.write(line + "\n")

    def _leaf(self, leaf: Any) -> list[Any]:
        if isinstance(leaf, self._torch.Tensor):
            return self._tensor(leaf)
        if isinstance(leaf, PLAIN):
            return ["v", repr(leaf)]
        return ["o", type(leaf).__qualname__]

    def _tensor(self, tensor: Any) -> list[Any]:
        torch = self._torch
        dense = tensor.detach()
        dense = dense.to_dense() if dense.layout != torch.strided else dense
        dense = (torch.view_as_real(dense.resolve_conj()) if dense.is_complex() else dense).flatten()
        largest = float(dense.abs().max()) if dense.numel() and dense.dtype != torch.bool else 0.0
        step = max(1, -(-dense.numel() // MOST_VALUES))
        values = dense[::step].to("cpu", torch.float64).tolist()
        return ["t", str(tensor.dtype).removeprefix("torch."), list(tensor.shape), largest, values]


def seed(torch: Any) -> None:
    """Start every generator in the same way."""
    import random

    random.seed(SEED)
    torch.manual_seed(SEED)
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "random"):
        numpy.random.seed(SEED)


def flat(thing: Any) -> Iterator[Any]:
    """The leaves of nested containers, mappings in their order, and of the fields of plain data objects."""
    if isinstance(thing, (list, tuple, set, frozenset)):
        for item in thing:
            yield from flat(item)
    elif isinstance(thing, dict):
        for item in thing.values():
            yield from flat(item)
    elif hasattr(thing, "__dataclass_fields__") and not isinstance(thing, type):
        for name in thing.__dataclass_fields__:
            yield from flat(getattr(thing, name, None))
    else:
        yield thing


def cells(function: Any) -> list[Any]:
    """What a function takes from around it: its closure, and the globals that it names."""
    found = []
    for cell in getattr(function, "__closure__", None) or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # not bound yet
            continue
    code = getattr(function, "__code__", None)
    around = getattr(function, "__globals__", {})
    return found + [around[name] for name in (code.co_names if code else ()) if name in around]


class _AfterTorch(importlib.abc.MetaPathFinder):
    """Calls back once torch is imported."""

    def __init__(self, then: Callable[[Any], None]) -> None:
        self._then = then

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "torch":
            return None
        sys.meta_path.remove(self)
        found = importlib.util.find_spec("torch")
        if found is None or found.loader is None:
            return None
        then, load = self._then, found.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            load(module)
            then(module)

        found.loader.exec_module = exec_module  # type: ignore[method-assign]
        return found


def start() -> None:
    """Record this process, now or as soon as it has torch."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return

    def install(torch: Any) -> None:
        Recorder(torch, folder).install()

    if "torch" in sys.modules:
        install(sys.modules["torch"])
    else:
        sys.meta_path.insert(0, _AfterTorch(install))


start()
