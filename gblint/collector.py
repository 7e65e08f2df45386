"""Python's cyclic garbage collector, which has nothing to find among millions of nodes that are all in use."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_off() -> Iterator[None]:
    """Make objects without the collector walking the young ones again and again. Once it is on again it walks all, and
    frees what an analysis has left: whoever analyses again needs that."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
