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
        """The release's numbers as they are written."""
        found = NUMBERS.match(self)
        return tuple(map(int, found[1].split("."))) if found else ()

    @property
    def is_before(self) -> bool:
        """Whether it is on the way to a release."""
        return _BEFORE.match(self) is not None

    @property
    def _key(self) -> tuple[tuple[int, ...], bool]:
        significant = len(self.numbers)
        while significant and not self.numbers[significant - 1]:
            significant -= 1
        return self.numbers[:significant], not self.is_before

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


def named(machine: Machine, dotted: str) -> Value:
    """What is not followed under a dotted name: the release behind that of a version, else the name itself."""
    if dotted in _TORCH:
        return Const(Release(machine.knowledge.torch_version))
    if dotted == "sys.version_info":
        return Sequence("tuple", [*map(Const, machine.context.python), Plain("int"), Plain("str"), Plain("int")])
    return External(dotted)


def attribute(release: Release, name: str) -> Value | None:
    """What a version object has besides what every string has; None for that."""
    if name in _PART:
        place = _PART[name]
        return Const(release.numbers[place] if place < len(release.numbers) else 0)
    if name == "release":
        return Sequence("tuple", [Const(n) for n in release.numbers])
    if name in ("base_version", "public"):
        return Const(Release(release.partition("+")[0]))
    if name in ("is_prerelease", "is_devrelease"):
        return Plain("bool") if release.is_before else Const(False)
    return None if hasattr(str, name) else Plain("")
