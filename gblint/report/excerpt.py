"""Lines of source with a span underlined."""

from __future__ import annotations

from collections.abc import Mapping

from rich.cells import cell_len

from gblint.report.style import Style, printable
from gblint.source import SourceError, decode, read_bytes, rows_of

_LONGEST_SPAN = 6
_WIDEST = 160
_TAB = 4


class Sources:
    """Lines of files, read when asked for; one file is kept at a time. overlay: contents that stand in for files."""

    def __init__(self, overlay: Mapping[str, bytes]) -> None:
        self._overlay = overlay
        self._filename = ""
        self._lines: list[str] = []

    def lines(self, filename: str) -> list[str]:
        """All lines of a file, none if it cannot be read."""
        if filename != self._filename:
            self._filename, self._lines = filename, self._read(filename)
        return self._lines

    def _read(self, filename: str) -> list[str]:
        try:
            data = self._overlay.get(filename)
            return rows_of(decode(read_bytes(filename) if data is None else data).text)
        except SourceError:
            return []


def excerpt(lines: list[str], span: tuple[int, int, int, int], style: Style) -> list[str]:
    """The rows of a span with line numbers and the span marked.

    span: row, column, end row, end column; 1-based, end column exclusive, columns in characters. A span on one row is
    underlined, one on several rows has a bar beside it. No lines if the span lies outside the file.
    """
    row, column, end_row, end_column = span
    if not 1 <= row <= len(lines):
        return []
    end_row = max(row, min(end_row, len(lines)))
    width = len(str(end_row))
    if end_row == row:
        line = lines[row - 1]
        text, start = _window(line, column)
        before = _cells(text[: max(0, column - 1 - start)])
        marked = _cells(text[max(0, column - 1 - start) : max(column, end_column - 1) - start])
        under = " " * before + style.paint("^" * max(1, min(marked, _WIDEST)), fg="red", bold=True)
        empty = _gutter("", width, style)
        return [empty, _gutter(row, width, style, _expanded(text)), _gutter("", width, style, under)]
    rows = list(range(row, end_row + 1))
    if len(rows) > _LONGEST_SPAN:
        rows = [*rows[: _LONGEST_SPAN - 2], 0, rows[-1]]
    bar = style.paint("|", fg="red", bold=True)
    body = [
        _gutter(r, width, style, f"{bar} {_expanded(_window(lines[r - 1], 1)[0])}") if r else _gutter("…", width, style)
        for r in rows
    ]
    return [_gutter("", width, style), *body, _gutter("", width, style)]


def _gutter(mark: int | str, width: int, style: Style, text: str = "") -> str:
    return (style.paint(f"{mark:>{width}} |", fg="blue", bold=True) + (f" {text}" if text else "")).rstrip()


def _window(line: str, column: int) -> tuple[str, int]:
    """The part of a very long line round a column, and where it starts."""
    if len(line) <= _WIDEST:
        return line.rstrip(), 0
    start = max(0, min(column - _WIDEST // 4, len(line) - _WIDEST))
    return line[start : start + _WIDEST], start


def _expanded(text: str) -> str:
    return printable(_tabs(text))


def _cells(text: str) -> int:
    return cell_len(_expanded(text))


def _tabs(text: str) -> str:
    return text.replace("\f", " ").replace("\t", " " * _TAB)
