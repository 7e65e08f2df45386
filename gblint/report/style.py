"""How text looks: colours, paths, and source that comes from who knows where."""

from __future__ import annotations

import os
import re
from typing import Any

import click
import msgspec

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class Style(msgspec.Struct, frozen=True):
    """colour: whether escape codes may be used; summary: whether the report ends with one."""

    colour: bool = False
    summary: bool = True

    def paint(self, text: str, **look: Any) -> str:
        """Text in a colour (see click.style), as it is without colours."""
        return click.style(text, **look) if self.colour else text


def printable(text: str) -> str:
    """Text without what could steer a terminal, on one line."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r", " ").replace("\n", " "))


def readable(filename: str) -> str:
    """A file name as text: bytes that are no text are written out."""
    return os.fsencode(filename).decode("utf-8", "backslashreplace")


def shown(filename: str) -> str:
    """A file name for a person: relative to the current folder when it is below it."""
    try:
        relative = os.path.relpath(filename)
    except ValueError:  # another drive
        relative = filename
    return printable(readable(filename if relative.startswith("..") else relative))


def percent(probability: float) -> str:
    """A probability for a person; only certainty is 100%."""
    return f"{100 if probability >= 1 else min(99, round(100 * probability))}%"


def short(function: str) -> str:
    """A qualified name from its class on: "Net.forward" for "pkg.model.Net.forward"."""
    parts = function.split(".")
    first = next((i for i, part in enumerate(parts) if part[:1].isupper()), len(parts) - 1)
    return ".".join(parts[first:])


def plural(count: int, one: str, many: str = "") -> str:
    """ "1 file", "1,200 files"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
