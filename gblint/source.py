"""Reading Python source: bytes on disk in, text out, or an error a person can act on."""

# Paths are strings here: Path objects cost too much for thousands of files.

from __future__ import annotations

import codecs
import os
import re
import stat
from pathlib import Path
from typing import NamedTuple

SIZE_LIMIT = 10_000_000
NOTEBOOK_LIMIT = 200_000_000  # with the pictures in its outputs

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"^[ \t\f]*(?:#.*)?$")


class Source(NamedTuple):
    """Decoded source: `text` without its byte order mark, and the `encoding` it was decoded with."""

    text: str
    encoding: str


class SourceError(Exception):
    """A file that cannot be turned into text.

    kind: "unreadable", "bad-encoding", "too-large" or "invalid-notebook"; row and column are 1-based (1, 1 for the
    whole file).
    """

    def __init__(self, kind: str, message: str, row: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.row = row
        self.column = column


def read_source(path: str | Path) -> Source:
    """Read and decode a Python file as the interpreter would; raises SourceError."""
    return decode(read_bytes(path))


def read_bytes(path: str | Path) -> bytes:
    """The source in a regular file, of at most SIZE_LIMIT bytes; of a notebook its code. Raises SourceError."""
    if not str(path).endswith(".ipynb"):
        return raw_bytes(path)
    from gblint.notebook import python_of

    return python_of(raw_bytes(path, NOTEBOOK_LIMIT))


def raw_bytes(path: str | Path, limit: int = SIZE_LIMIT) -> bytes:
    """The bytes of a regular file of at most so many; raises SourceError."""
    try:
        # A named pipe would block the open for ever, so the kind of file is looked at first.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise SourceError("unreadable", "not a regular file")
        with open(path, "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if size > limit:
                raise SourceError("too-large", f"{size:,} bytes, more than the limit of {limit:,}")
            return file.readall()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SourceError("unreadable", f"cannot be read: {reason}") from error


def rows_of(text: str) -> list[str]:
    """The rows of a text, without their ends; one more after the last end."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def decode(data: bytes) -> Source:
    """Decode source by byte order mark and coding line (PEP 263), UTF-8 otherwise; raises SourceError."""
    bom = data.startswith(codecs.BOM_UTF8)
    body = data[len(codecs.BOM_UTF8) :] if bom else data
    if b"\0" in body:
        place = _place(body, body.index(0))
        raise SourceError("bad-encoding", "contains a NUL byte, so it is not Python source", *place)
    encoding = _encoding(body, bom)
    try:
        return Source(str(body, encoding), "utf-8-sig" if bom else encoding)
    except UnicodeDecodeError as error:
        message = f"cannot be decoded as {encoding}: byte 0x{body[error.start]:02x}"
        raise SourceError("bad-encoding", message, *_place(body, error.start)) from error
    except UnicodeError as error:
        raise SourceError("bad-encoding", f"cannot be decoded as {encoding}: {error}") from error


def _encoding(body: bytes, bom: bool) -> str:
    row, name = _coding_line(body)
    if not name:
        return "utf-8"
    try:
        info = codecs.lookup(name)
    except LookupError as error:
        raise SourceError("bad-encoding", f"unknown encoding {name!r} in the coding line", row) from error
    if not getattr(info, "_is_text_encoding", True):
        raise SourceError("bad-encoding", f"{name!r} in the coding line is not a text encoding", row)
    if bom and info.name != "utf-8":
        message = f"coding line says {name!r}, but the file starts with a UTF-8 byte order mark"
        raise SourceError("bad-encoding", message, row)
    return info.name


def _coding_line(body: bytes) -> tuple[int, str]:
    """Row and name of the declared encoding, (0, "") if there is none; only the first two lines count."""
    for row, line in enumerate(re.split(rb"\r\n|\r|\n", body[:2000], maxsplit=2)[:2], 1):
        found = _COOKIE.match(line)
        if found:
            return row, found[1].decode("ascii", "replace")
        if not _BLANK.match(line):
            break
    return 0, ""


def _place(body: bytes, offset: int) -> tuple[int, int]:
    """Row and column, 1-based, of a byte."""
    before = body[:offset]
    return before.count(b"\n") + 1, offset - before.rfind(b"\n")
