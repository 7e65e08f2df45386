"""Where the rows of a file have come from, once it has been edited."""

from __future__ import annotations

import difflib


class Moved:
    """The rows of two versions of a file held against each other."""

    def __init__(self, old: bytes, new: bytes) -> None:
        matcher = difflib.SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False)
        self._blocks = matcher.get_opcodes()

    def back(self, row: int) -> tuple[int, int]:
        """The rows of the old version that a row of the new one stands for: itself, if it was left alone; those that it
        is in the place of; the two around it where it was put in between."""
        for tag, start, end, new_start, new_end in self._blocks:
            if new_start < row <= new_end:
                if tag == "equal":
                    return (row - new_start + start,) * 2
                return (start + 1, end) if end > start else (start, start + 1)
        return row, row

    def untouched(self, row: int) -> bool:
        """Whether a row of the new version is as it was."""
        return any(tag == "equal" and start < row <= end for tag, _, _, start, end in self._blocks)
