"""How text looks: colours, paths, and source that comes from who knows where."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import click
import msgspec

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_CHECKOUTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")  # of GitHub, of GitLab


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
    return _shown(os.getcwd(), filename)


@lru_cache(maxsize=4096)  # a report names the same files again and again
def _shown(folder: str, filename: str) -> str:
    return printable(readable(_below(folder, filename)))


def in_checkout(filename: str) -> str:
    """A file name for a service that knows the repository: as `from_checkout` has it, bytes that are no text written
    out."""
    return readable(from_checkout(filename))


def from_checkout(filename: str) -> str:
    """A file name relative to the checkout of its repository, with slashes, when it is below it.

    CI names the folder of the checkout; gblint may have been started in one below it. Anywhere else, and where that
    folder is not above the current one, it is the current folder.
    """
    here = os.getcwd()
    named = (os.environ.get(name, "") for name in _CHECKOUTS)
    top = next((folder for folder in named if os.path.isabs(folder) and Path(here).is_relative_to(folder)), here)
    return _below(top, filename).replace(os.sep, "/")


def _below(folder: str, filename: str) -> str:
    try:
        relative = os.path.relpath(filename, folder)
    except ValueError:  # another drive
        return filename
    return filename if relative.split(os.sep)[0] == os.pardir else relative


def percent(probability: float) -> str:
    """A probability for a person; only certainty is 100%."""
    return f"{100 if probability >= 1 else min(99, round(100 * probability))}%"


@lru_cache(maxsize=4096)
def short(function: str) -> str:
    """A qualified name from its class on: "Net.forward" for "pkg.model.Net.forward"."""
    parts = function.split(".")
    first = next((i for i, part in enumerate(parts) if part[:1].isupper()), len(parts) - 1)
    return ".".join(parts[first:])


def plural(count: int, one: str, many: str = "") -> str:
    """ "1 file", "1,200 files"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
