"""Edits as text: whether they get in each other's way, and what a file is once they are made."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from gblint.findings.finding import Edit, Fix
from gblint.source import Source, decode

_DEFINED = re.compile(r"^(?:def |class |(?=\w+ = ))(\w+)", re.MULTILINE)


class Conflict(Exception):
    """Edits that cannot be made together, or in this text; the message says why."""


def compatible(taken: Mapping[str, Sequence[Edit]], fix: Fix) -> bool:
    """Whether a fix can be made in one go with edits chosen before (by file): none overlap, save equal insertions of
    lines, and no two insert definitions or parameters of one name (each was new when it was chosen)."""
    return not any(_clash(edit, other) for edit in fix.edits for other in taken.get(edit.filename, ()))


def _clash(a: Edit, b: Edit) -> bool:
    if a.filename != b.filename:
        return False
    start_a, end_a, start_b, end_b = _start(a), _end(a), _start(b), _end(b)
    if a == b:  # an import that both need; within a line, a parameter that both take for their own
        return start_a == end_a and bool(a.content) and not a.content.endswith("\n")
    if start_a == end_a and start_b == end_b:
        return bool(_defined(a) & _defined(b))  # else they are made one behind the other
    if start_a == end_a:
        return start_b < start_a < end_b
    if start_b == end_b:
        return start_a < start_b < end_a
    return start_a < end_b and start_b < end_a


def _defined(edit: Edit) -> set[str]:
    """The functions, classes and constants that an insertion adds to the module."""
    return set(_DEFINED.findall(edit.content)) - {"_"}


def _start(edit: Edit) -> tuple[int, int]:
    return edit.row, edit.column


def _end(edit: Edit) -> tuple[int, int]:
    return edit.end_row, edit.end_column


def edited(data: bytes, edits: Iterable[Edit]) -> bytes:
    """A file's bytes after edits: byte order mark, encoding and line ends stay as they are.

    Equal insertions at one place are made once. Raises Conflict if a place is not in the file, edits overlap, or the
    file's encoding lacks a character; SourceError if the bytes are no text.
    """
    source = decode(data)
    return _encoded(edited_text(source.text, edits), source)


def edited_text(text: str, edits: Iterable[Edit]) -> str:
    """As `edited`, of a text; raises Conflict."""
    starts = _line_starts(text)
    newline = _newline(text)
    pieces: list[str] = []
    done = 0
    for edit in sorted(dict.fromkeys(edits), key=lambda e: (_start(e), _end(e))):
        first, last = (_offset(text, starts, *place) for place in (_start(edit), _end(edit)))
        if first < done or last < first:
            raise Conflict(f"two edits overlap at row {edit.row}")
        content = edit.content
        at_end_of_file = first == len(text) and edit.column == 1 and content
        if at_end_of_file and text and not text.endswith(("\n", "\r")):
            content = "\n" + content.removesuffix("\n")
        pieces += [text[done:first], content.replace("\n", newline)]
        done = last
    pieces.append(text[done:])
    return "".join(pieces)


def _encoded(text: str, source: Source) -> bytes:
    try:
        return text.encode(source.encoding)
    except UnicodeEncodeError as error:
        raise Conflict(f"the file's encoding, {source.encoding}, lacks a character of the new text") from error


def _line_starts(text: str) -> list[int]:
    """The offset of each row; rows end with "\\n", "\\r\\n" or "\\r" as for Python."""
    starts = [0]
    position = 0
    while True:
        ends = [p for p in (text.find("\n", position), text.find("\r", position)) if p >= 0]
        if not ends:
            return starts
        position = min(ends)
        position += 2 if text.startswith("\r\n", position) else 1
        starts.append(position)


def _offset(text: str, starts: list[int], row: int, column: int) -> int:
    if row == len(starts) + 1 and column == 1:
        return len(text)  # behind a last line that has no line end
    if not 1 <= row <= len(starts):
        raise Conflict(f"row {row} is not in the file")
    offset = starts[row - 1] + column - 1
    limit = starts[row] if row < len(starts) else len(text)
    if offset > limit:
        raise Conflict(f"column {column} is not in row {row}")
    return offset


def _newline(text: str) -> str:
    """The line end that the first line of a text has."""
    for position, character in enumerate(text):
        if character == "\n":
            return "\n"
        if character == "\r":
            return "\r\n" if text.startswith("\r\n", position) else "\r"
    return "\n"


def moved_row(row: int, edits: Iterable[Edit]) -> int:
    """The row that a row of the text before has after edits; of a replaced row, the first of the new text."""
    moved = row
    for edit in dict.fromkeys(edits):
        if edit.end_row < row or (edit.end_row == row and edit.end_column == 1):
            moved += edit.content.count("\n") - (edit.end_row - edit.row)
        elif edit.row < row <= edit.end_row:
            moved -= row - edit.row
    return moved
