"""Runs in a process of its own, by path, under the Python that the user's project runs with: measures one callable.

    python bench_host.py TARGET OUTPUT CALLS BACKEND

TARGET is `pkg.mod:name` or `path/to/file.py:name`. The name is a function without arguments that makes what is to be
measured: a callable, or a tuple of a callable and its positional arguments, with a dict of further arguments at the end
if there are any. What it makes is compiled, if it is not yet, and called: `WARM_UP` times, so that everything is
compiled, then CALLS times with a clock. OUTPUT gets a JSON object of the figures.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

WARM_UP = 3


def load(target: str) -> Callable[[], Any]:
    """The function that a target names."""
    place, _, name = target.rpartition(":")
    if place.endswith(".py"):
        sys.path.insert(0, os.path.dirname(os.path.abspath(place)))
        spec = importlib.util.spec_from_file_location(os.path.basename(place)[:-3], place)
        if spec is None or spec.loader is None:
            raise SystemExit(f"{place} cannot be loaded")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    else:
        sys.path.insert(0, os.getcwd())
        module = importlib.import_module(place)
    made: Callable[[], Any] = getattr(module, name)
    return made


def parts(made: Any) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    """What to call, and with what."""
    if not isinstance(made, tuple):
        return made, (), {}
    function, *args = made
    kwargs = args.pop() if args and isinstance(args[-1], dict) else {}
    return function, tuple(args), kwargs


def measure(target: str, calls: int, backend: str) -> dict[str, float]:
    import torch

    torch.manual_seed(0)
    function, args, kwargs = parts(load(target)())
    if not hasattr(function, "_torchdynamo_orig_callable"):
        function = torch.compile(function, backend=backend)
    on_gpu = torch.cuda.is_available()

    def timed() -> float:
        start = time.perf_counter()
        function(*args, **kwargs)
        if on_gpu:
            torch.cuda.synchronize()
        return time.perf_counter() - start

    first = timed()
    for _ in range(WARM_UP - 1):
        timed()
    each = [timed() for _ in range(calls)]
    unit = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss, in bytes
    found = {
        "first_seconds": first,
        "call_seconds": statistics.median(each),
        "peak_memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6,
    }
    if on_gpu:
        found["peak_gpu_memory"] = torch.cuda.max_memory_allocated() / 1e6
    return found


if __name__ == "__main__":
    target, output, calls, backend = sys.argv[1:]
    figures = measure(target, int(calls), backend)
    with open(output, "w", encoding="utf8") as file:
        json.dump(figures, file)
