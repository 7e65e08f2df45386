"""Room on Python's stack for an interpreter that runs deep, and runs up and down all the time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType
from typing import TypeVar, cast

Result = TypeVar("Result")

FRAMES = 12_000
_ROOM = 1 << 22  # bytes; memory is used only where the stack has been
_WORD = 8


def on_deep_stack(action: Callable[[], Result]) -> Result:
    """What `action` gives, run where it may call 12,000 frames deep without asking for memory on the way.

    CPython (3.11 to 3.14: `push_chunk` in pystate.c) maps the stack in chunks of 16 kB and unmaps one as soon as it is
    empty: a call that is made over and over where a chunk ends costs two system calls and page faults each time. The
    chunk for a frame that needs more than half of a power of two has that power's rest for all that is called from it.
    """
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, FRAMES))
    try:
        return cast(Result, _roomy(action))
    finally:
        sys.setrecursionlimit(limit)


def _call(action: Callable[[], object]) -> object:
    return action()


_roomy = FunctionType(_call.__code__.replace(co_stacksize=_ROOM // _WORD + 64), {})
