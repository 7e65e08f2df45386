"""The breaks of two runs, between which files were edited: which of them are the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec

from gblint.fixing.moved import Moved
from gblint.verify.matching import real
from gblint.verify.sites import Site

Match = Callable[[Site, Site], bool]


class Pairs(msgspec.Struct):
    """same: breaks that are there before and after; gone, fresh: those only before, only after."""

    same: list[tuple[Site, Site]] = []
    gone: list[Site] = []
    fresh: list[Site] = []


class Change:
    """The edits between two runs, file by file."""

    def __init__(self, old: Mapping[str, bytes], new: Mapping[str, bytes]) -> None:
        self._moved = {real(path): Moved(old[path], data) for path, data in new.items()}

    def back(self, site: Site) -> tuple[int, int]:
        """The rows before the edits that a break after them belongs to."""
        moved = self._moved.get(real(site.filename))
        return moved.back(site.row) if moved else (site.row, site.row)

    def untouched(self, site: Site) -> bool:
        """Whether the row of a break after the edits is one that they left alone."""
        moved = self._moved.get(real(site.filename))
        return moved is None or moved.untouched(site.row)

    def pairs(self, before: Sequence[Site], after: Sequence[Site]) -> Pairs:
        """Pair breaks of one id: those at the row that has come from the other's, then those in the text that took its
        place, then those of the same function."""
        pairs = Pairs(gone=list(before), fresh=list(after))
        for test in (partial(self._at, True), partial(self._at, False), _same_function):
            for site in list(pairs.fresh):
                known = next((old for old in pairs.gone if _same_kind(old, site) and test(old, site)), None)
                if known:
                    pairs.same.append((known, site))
                    pairs.gone.remove(known)
                    pairs.fresh.remove(site)
        return pairs

    def _at(self, exactly: bool, before: Site, after: Site) -> bool:
        first, last = self.back(after)
        return first <= before.row <= last and (not exactly or self.untouched(after))


def _same_kind(one: Site, other: Site) -> bool:
    return (one.shown_code, real(one.filename)) == (other.shown_code, real(other.filename))


def _same_function(one: Site, other: Site) -> bool:
    return bool(one.function) and one.function == other.function
