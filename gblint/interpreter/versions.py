"""Releases, which code compares to choose between ways to do a thing: torch's is the target's, Python's the settings'.

`torch.__version__` is a string that compares as a release; `packaging.version.parse` and its like make one of a string.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from gblint.interpreter.values import Const, External, Plain, Sequence, Value

if TYPE_CHECKING:
    from gblint.interpreter.machine import Machine

_TORCH = ("torch.__version__", "torch.version.__version__", "torch.torch_version.__version__")
NUMBERS = re.compile(r"\s*v?(\d+(?:\.\d+)*)")
_BEFORE = re.compile(r"\s*v?[\d.]+[._-]?(a|b|c|rc|alpha|beta|pre|preview|dev)", re.IGNORECASE)
_PART = {"major": 0, "minor": 1, "micro": 2}


class Release(str):
    """A string that compares as a release does: by its numbers, one on the way to a release (`2.1rc1`) before it. What
    stands behind a plus says nothing."""

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The release's numbers, no zeros at the end."""
        found = NUMBERS.match(self)
        numbers = [int(n) for n in found[1].split(".")] if found else []
        while numbers and not numbers[-1]:
            numbers.pop()
        return tuple(numbers)

    @property
    def _key(self) -> tuple[tuple[int, ...], bool]:
        return self.numbers, not _BEFORE.match(self)

    def _other(self, other: object) -> tuple[tuple[int, ...], bool]:
        if isinstance(other, tuple):
            other = ".".join(map(str, other))
        if not isinstance(other, str):
            raise TypeError(f"a release is compared with {other!r}")
        return Release(other)._key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str | tuple) and self._key == self._other(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._key)

    def __lt__(self, other: object) -> bool:
        return self._key < self._other(other)

    def __le__(self, other: object) -> bool:
        return self._key <= self._other(other)

    def __gt__(self, other: object) -> bool:
        return self._key > self._other(other)

    def __ge__(self, other: object) -> bool:
        return self._key >= self._other(other)


def known(machine: Machine, dotted: str) -> Value | None:
    """The release behind the name of a library's own version; None for any other name."""
    if dotted in _TORCH:
        return Const(Release(machine.knowledge.torch_version))
    if dotted == "sys.version_info":
        return Sequence("tuple", [*map(Const, machine.context.python), Plain("int"), Plain("str"), Plain("int")])
    return None


def attribute(release: Release, name: str) -> Value:
    """What a version object has besides what every string has."""
    if name in _PART:
        place = _PART[name]
        return Const(release.numbers[place] if place < len(release.numbers) else 0)
    if name == "release":
        return Sequence("tuple", [Const(n) for n in release.numbers])
    if name in ("base_version", "public"):
        return Const(Release(release.partition("+")[0]))
    return External(f"str.{name}")
