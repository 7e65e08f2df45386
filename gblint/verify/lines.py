"""Lines of files that may be huge, cut off, or no text at all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO

LONGEST = 1 << 20  # bytes of one line that are looked at; the rest is skipped
_ESCAPE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


def bounded(stream: IO[bytes], longest: int = LONGEST) -> Iterator[bytes]:
    """The lines of a stream without their ends, each cut at `longest` bytes; one is in memory at a time."""
    while line := stream.readline(longest):
        tail = line
        while not tail.endswith(b"\n") and len(tail) >= longest:
            tail = stream.readline(longest)
            if not tail:
                break
        yield line.rstrip(b"\r\n")


def plain(line: bytes) -> str:
    """A line as text: without the codes that colour a terminal, bytes that are no text written out."""
    if b"\x1b" in line:
        line = _ESCAPE.sub(b"", line)
    return readable(line)


def readable(data: bytes) -> str:
    """Bytes as text; what is no text, and NUL, which no file name can hold, is written out."""
    return data.decode("utf-8", "backslashreplace").replace("\0", "\\x00")
