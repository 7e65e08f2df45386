"""Where the time of a run goes: by stage, and by file."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    """Counts seconds while it is on, and costs next to nothing while it is off.

    stages: name → seconds spent there and in no stage within. files: path → seconds of work on its roots, whichever
    process did it. kept: how many files' results came from the cache.
    """

    def __init__(self) -> None:
        self.on = False
        self.clear()

    def clear(self) -> None:
        """Begin from zero."""
        self.stages: defaultdict[str, float] = defaultdict(float)
        self.files: defaultdict[str, float] = defaultdict(float)
        self.kept = 0
        self._inner = 0.0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what runs inside to a stage. A stage that runs within another one is taken out of that."""
        if not self.on:
            yield
            return
        outer, self._inner = self._inner, 0.0
        begin = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - begin
            self.stages[name] += spent - self._inner
            self._inner = outer + spent


CLOCK = Clock()
