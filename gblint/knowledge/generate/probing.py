"""Turns the tables into micro-programs, runs them under Dynamo, and files what came out as entries."""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import inspect
import math
import numbers
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from gblint.knowledge.generate import namespace, tables
from gblint.knowledge.generate.breaks import CRASH, OK, Outcome, compiled_outcome

# Results that a compiled function can hand back.
_RETURNABLE = (numbers.Number, str, tuple, list, dict, set, np.ndarray, np.generic, torch.Tensor)


@dataclass(frozen=True)
class Probe:
    """One callable: the dotted name to file it under and the expressions to try, plain before rich.

    also: further calls, made only to see what types of result there are.
    """

    name: str
    expressions: tuple[str, ...]
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Measured:
    """What one probe gave: the expression that ran and Dynamo's verdict on it.

    as_number: the verdict when the number it gives is used as a size, where that differs.
    """

    verdict: str | None
    expression: str = ""
    as_number: str | None = None
    detail: str = ""


def parse_table(text: str) -> list[Probe]:
    """The probes of a table (see `tables`)."""
    return [_parse_line(line) for line in text.strip().splitlines() if line.strip()]


def _parse_line(line: str) -> Probe:
    name, separator, expression = line.partition(" := ")
    if separator:
        return Probe(name.strip(), (expression.strip(),))
    call = ast.parse(line.strip(), mode="eval").body
    callee: ast.expr = call
    while isinstance(callee, ast.Call):  # of `vmap(f)(t)` the name is vmap
        callee = callee.func
    return Probe(ast.unparse(callee), (line.strip(),))


def pooled_probes() -> list[Probe]:
    """Probes with guessed arguments: public callables of harmless modules and methods of common objects."""
    found = [p for module in tables.POOLED_MODULES for p in _module_probes(module)]
    for name, receiver in tables.RECEIVERS.items():
        found += _method_probes(name, receiver)
    return found


def numpy_python_probes() -> list[Probe]:
    """NumPy functions once more, called with plain numbers and lists."""
    arguments = tables.NUMPY_PYTHON_POOL
    names = [p.name for module in ("numpy", "numpy.linalg") for p in _module_probes(module)]
    return [Probe(name, _calls(name, arguments)) for name in names]


def _module_probes(module: str) -> Iterator[Probe]:
    pool = tables.NUMPY_POOL if module.startswith("numpy") else tables.POOL
    also = () if module.startswith(("numpy", "random")) else tables.TENSOR_POOL
    for name, value in sorted(vars(importlib.import_module(module)).items()):
        dotted = f"{module}.{name}"
        skipped = name.startswith("_") or dotted in tables.FORBIDDEN or not callable(value)
        if skipped or (inspect.isclass(value) and issubclass(value, BaseException)) or not _belongs(value, module):
            continue
        callee = name if module == "builtins" else dotted
        yield Probe(callee, _calls(callee, pool), _calls(callee, also))


def _belongs(value: Any, module: str) -> bool:
    owner = getattr(value, "__module__", None) or module
    if module == "os.path":
        return owner in ("posixpath", "genericpath")
    return owner.split(".")[0].lstrip("_") in (module.split(".")[0].lstrip("_"), "builtins", "functools", "")


def _method_probes(name: str, receiver: str) -> Iterator[Probe]:
    cls = _resolve(name)
    pool = tables.NUMPY_POOL if name == "numpy.ndarray" else tables.POOL
    for method in sorted(dir(cls)):
        if method.startswith("_") or not callable(getattr(cls, method, None)):
            continue
        arguments = ("", *(a for a in pool if a))
        yield Probe(f"{name}.{method}", _calls(f"{receiver}.{method}", arguments))


def _calls(callee: str, pool: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{callee}({arguments})" for arguments in pool)


def _resolve(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module or "builtins"), attribute)


def tensor_method_probes() -> list[Probe]:
    """Every public method of a tensor made inside the region, with what a tensor method may take."""
    pool = (
        "",
        "t",
        "0",
        "1",
        "2.0",
        "0, 1",
        "b",
        "t, t",
        "i",
        "t.T",
        "0, i, t",
        "0, i",
        "t[0]",
        "b, 1.0",
        "b, t",
        "(0, 1)",
        "1, 0, 1",
        "1, 0, 2",
        "torch.float64",
        "'cpu'",
        "f",
        "(i[:, 0],), t[0]",
        "0.5",
        "0, i[:, 0], t",
        "0, i[:, 0], 1.0",
        "0, i, t, 'sum'",
        "t, 0",
        "(12,)",
        "(1, 0)",
        "[2], [0]",
        "(4, 3), (3, 1)",
        "1, (1, 3)",
        "3, 1, 1",
        "t, 0, 1",
        "t, t, t",
        "0.0, 1.0",
        "t, 0.5",
        "8",
        "(8, 3)",
        "t.shape",
    )
    names = [n for n in dir(torch.Tensor) if not n.startswith("_") and callable(getattr(torch.Tensor, n, None))]
    found = [Probe(f"torch.Tensor.{n}", _tensor_calls(n, pool, "t.clone()", *_OTHER_RECEIVERS)) for n in names]
    # A method that changes a tensor itself (`t.squeeze_()`) may be refused on an input of the graph alone.
    return found + [
        Probe(f"torch.Tensor.{n}@input", _tensor_calls(n, pool, "t", "i")) for n in names if n.endswith("_")
    ]


_OTHER_RECEIVERS = ("i.clone()", "t[0]", "(t @ t.T)", "t[:3]", "t.to(torch.complex64)", "i[:, 0]")


def _tensor_calls(method: str, pool: tuple[str, ...], *receivers: str) -> tuple[str, ...]:
    return tuple(call for receiver in receivers for call in _calls(f"{receiver}.{method}", pool))


def measure(probe: Probe, names: dict[str, Any]) -> Measured:
    """Finds the first expression that runs eagerly, and compiles it. To be called in a child process.

    Dynamo failing on guessed arguments says little about usual ones: then the next expressions are tried, a few times.
    """
    _prepare(probe)
    result, failures = Measured(None, detail="no expression runs"), 0
    for expression in probe.expressions:
        try:
            value = _evaluate(expression, names)
        except BaseException as reason:
            result = result if failures else Measured(None, detail=f"{type(reason).__name__}: {reason}")
            continue
        measured = _measure(expression, value, names)
        if measured.verdict != CRASH or failures == _FAILURES:
            return measured
        result, failures = measured, failures + 1
    return result


_FAILURES = 3


def _prepare(probe: Probe) -> None:
    namespace.write_files()
    if probe.name.startswith("torch.distributed."):
        namespace.join_group()


def observe_types(probe: Probe, names: dict[str, Any]) -> tuple[str, ...]:
    """The types of all results that the expressions of a probe have eagerly. To be called in a child process."""
    _prepare(probe)
    found: dict[str, None] = {}
    for expression in (*probe.expressions, *probe.also):
        with contextlib.suppress(BaseException):
            found[type_name(_evaluate(expression, names))] = None
    return tuple(found)


def result_type(name: str, types: tuple[str, ...]) -> str | None:
    """One name for the types observed, the plain call's first; None where they have nothing in common.

    A result that may be None counts as what it is otherwise. NumPy gives scalars or arrays as it pleases, never what it
    was given: there the plain call decides.
    """
    known = [t for t in types if not t.startswith(namespace.__name__) and "<locals>" not in t]
    found = set(known) - {"None"} or set(known)
    if found == {"str", "bytes"}:
        return "str"
    if found and (len(found) == 1 or name.startswith("numpy.")):
        return next(t for t in known if t in found)
    return None


def shows_type(probe: Probe) -> bool:
    """Whether the results of the expressions are those of the callable itself: not so for `vmap(f)(t)` or a form."""
    call = ast.parse(probe.expressions[0], mode="eval").body
    return "@" not in probe.name and not (isinstance(call, ast.Call) and isinstance(call.func, ast.Call))


def _evaluate(expression: str, names: dict[str, Any]) -> Any:
    """Runs an expression as plain Python."""
    return _program(f"    return {expression}", names)(*namespace.inputs())


def _measure(expression: str, value: Any, names: dict[str, Any]) -> Measured:
    """Some calls break only when their result is used: it is returned, unless a compiled function cannot do that."""
    result = ", r" if isinstance(value, _RETURNABLE) else ""
    outcome = _compile(f"    y = t + 1\n    r = {expression}\n    return y * 2{result}", names)
    as_number = None
    if outcome.verdict == OK and _is_size(value):
        sized = _compile(f"    r = {expression}\n    return t[: int(r)] + 1", names)
        as_number = sized.verdict if sized.verdict != OK else None
    return Measured(outcome.verdict, expression, as_number, outcome.detail)


def _is_size(value: Any) -> bool:
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return number and math.isfinite(value) and abs(value) < 1e9


def _compile(body: str, names: dict[str, Any]) -> Outcome:
    return compiled_outcome(_program(body, names), *namespace.inputs())


def _program(body: str, names: dict[str, Any]) -> Callable[..., Any]:
    source = f"def program({', '.join(namespace.ARGUMENTS)}):\n{body}\n"
    scope = dict(names)
    exec(compile(source, "<probe>", "exec"), scope)
    program: Callable[..., Any] = scope["program"]
    return program


def measure_context(probe: Probe, names: dict[str, Any]) -> Measured:
    """Dynamo's verdict on entering a context manager inside the region. To be called in a child process."""
    namespace.write_files()
    expression = probe.expressions[0]
    body = f"    y = t + 1\n    with {expression}:\n        y = y * 2\n    return y"
    try:
        _program(body, names)(*namespace.inputs())
    except BaseException as reason:
        return Measured(None, expression, detail=f"{type(reason).__name__}: {reason}")
    outcome = _compile(body, names)
    return Measured(outcome.verdict, expression, detail=outcome.detail)


def type_name(value: Any) -> str:
    """Dotted name of a value's type, builtins bare: "int", "numpy.ndarray", "logging.Logger"."""
    cls = type(value)
    if value is None:
        return "None"
    if cls.__module__ == "builtins":
        return cls.__name__
    return _PUBLIC_TYPES.get(f"{cls.__module__}.{cls.__qualname__}", f"{cls.__module__}.{cls.__qualname__}")


_PUBLIC_TYPES = {
    "_thread.lock": "threading.Lock",
    "_thread.RLock": "threading.RLock",
    "torch.Tensor": "torch.Tensor",
    "numpy.ndarray": "numpy.ndarray",
    "_io.TextIOWrapper": "io.TextIOWrapper",
    "_io.StringIO": "io.StringIO",
    "_io.BytesIO": "io.BytesIO",
    "_hashlib.HASH": "hashlib.HASH",
    "_contextvars.ContextVar": "contextvars.ContextVar",
    "_contextvars.Context": "contextvars.Context",
    "_contextvars.Token": "contextvars.Token",
    "numpy.random._generator.Generator": "numpy.random.Generator",
    "numpy.random.mtrand.RandomState": "numpy.random.RandomState",
    "functools.partial": "functools.partial",
    "_thread._local": "threading.local",
    "pathlib.PosixPath": "pathlib.Path",
    "pathlib.PurePosixPath": "pathlib.PurePath",
    "_queue.SimpleQueue": "queue.SimpleQueue",
    "_random.Random": "random.Random",
    "torch.random.Generator": "torch.Generator",
    "torch._C.Generator": "torch.Generator",
    "_sqlite3.Connection": "sqlite3.Connection",
    "_csv.reader": "csv.reader",
}


Task = Callable[[Probe, dict[str, Any]], Any]


def tasks(probes: list[Probe], task: Task = measure) -> list[tuple[str, Callable[[], Any]]]:
    """Probes as tasks for `breaks.run_all`; the globals are made once, each child gets its own copy by forking."""
    names = _globals()
    return [(p.name, functools.partial(task, p, names)) for p in probes]


@functools.cache
def _globals() -> dict[str, Any]:
    return namespace.make()


def unique(probes: list[Probe]) -> list[Probe]:
    """One probe a name; written expressions come before guessed ones, which then only show types."""
    chosen: dict[str, Probe] = {}
    for probe in probes:
        first = chosen.setdefault(probe.name, probe)
        if first is not probe:
            chosen[probe.name] = replace(first, also=(*first.also, *probe.expressions, *probe.also))
    return list(chosen.values())
