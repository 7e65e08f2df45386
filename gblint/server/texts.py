"""An editor's text: as bytes for the analyzer, and with places counted as the protocol counts them."""

from __future__ import annotations

import re
from functools import cached_property

from lsprotocol.types import Position, Range
from pygls.workspace import PositionCodec

from gblint.source import SourceError, decode

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


class Text:
    """One version of a text. Rows and columns of gblint count from 1, in characters; those of a client from 0, in the
    units that client and server have agreed on."""

    def __init__(self, source: str, version: int, codec: PositionCodec) -> None:
        self.source = source
        self.version = version
        self.codec = codec

    @cached_property
    def lines(self) -> list[str]:
        """The lines with their ends; at least one."""
        return _LINE.findall(self.source) or [""]

    @cached_property
    def data(self) -> bytes:
        """The text as it would be on disk: in the encoding that its first lines name."""
        data = self.source.encode("utf-8", "surrogatepass")
        try:
            return self.source.encode(decode(data).encoding)
        except (SourceError, UnicodeEncodeError):  # the analyzer says what is wrong with it
            return data

    def position(self, row: int, column: int) -> Position:
        """A place as the client counts it; beyond the end of a line it is that end."""
        lines = self.lines
        if row > len(lines):
            return Position(len(lines), 0) if lines[-1].endswith(("\n", "\r")) else self._end(len(lines))
        line = lines[max(row, 1) - 1]
        column = min(max(column, 1) - 1, len(line.rstrip("\r\n")))
        return Position(max(row, 1) - 1, self.codec.client_num_units(line[:column]))

    def _end(self, row: int) -> Position:
        return Position(row - 1, self.codec.client_num_units(self.lines[row - 1].rstrip("\r\n")))

    def range(self, row: int, column: int, end_row: int, end_column: int) -> Range:
        """A range as the client counts it."""
        return Range(self.position(row, column), self.position(end_row, end_column))

    def line(self, row: int) -> Range:
        """What stands in a row, without its indentation."""
        text = self.lines[row - 1] if row <= len(self.lines) else ""
        return self.range(row, len(text) - len(text.lstrip()) + 1, row, len(text) + 1)

    @property
    def whole(self) -> Range:
        """All of it."""
        return Range(Position(0, 0), self.position(len(self.lines) + 1, 1))
