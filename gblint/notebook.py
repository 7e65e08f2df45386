"""Jupyter notebooks as Python source, and back: the code cells in order, each below a comment that names it.

What only IPython understands (`%magic`, `!command`, `name?`) is taken out of the way on its own row, in a comment that
it is put back from. Cells are counted as a reader counts them: from 1, those that hold no code too.
"""

from __future__ import annotations

import ast
import bisect
import io
import json
import re
import tokenize
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

from gblint.source import SourceError

SUFFIX = ".ipynb"
_SPACE = re.compile(r"[ \t\r\n]*")
_ALIKE = re.compile(r"# (%+) cell (\d*)")
_ASIDE = "#%ipython "  # what follows is the row as it is in the notebook
_SPECIAL = re.compile(r"\s*(?:[%!?]|[^#'\"]*\?\s*$)")
_ASSIGNED = re.compile(r"(\s*)([A-Za-z_][\w.\[\]'\", ]*?)\s*=\s*[%!]")
# Cell magics whose cell is Python all the same
_PYTHON_CELLS = frozenset({"capture", "prun", "time", "timeit"})


class NotebookError(SourceError):
    """A file that is no notebook."""

    def __init__(self, message: str, row: int = 1, column: int = 1) -> None:
        super().__init__("invalid-notebook", message, row, column)


class Cell(NamedTuple):
    """A code cell. number: among all cells, from 1; start, end: where its `source` is in the notebook's text."""

    number: int
    text: str
    start: int
    end: int


def is_notebook(path: str) -> bool:
    """Whether a file is taken for a notebook."""
    return path.endswith(SUFFIX)


def python_of(data: bytes) -> bytes:
    """The code of a notebook as one Python source, nothing for a notebook in another language. Raises NotebookError."""
    cells = _cells(_text(data))
    mark = _mark(cells)
    return "".join(f"{mark}{cell.number}\n{_set_aside(cell.text)}\n" for cell in cells).encode("utf-8", "surrogatepass")


def notebook_with(data: bytes, source: bytes) -> bytes:
    """A notebook with its code taken from Python source that `python_of` gave and somebody has edited. All that is not
    source of a cell that differs stays as it is, byte for byte. Raises NotebookError, also if cells are gone."""
    text = _text(data)
    cells = _cells(text)
    new = _split(source.decode("utf-8", "surrogatepass"), _mark(cells))
    if list(new) != [cell.number for cell in cells]:
        raise NotebookError("an edit would move code between cells")
    pieces: list[str] = []
    done = 0
    for cell in cells:
        code = _put_back(new[cell.number])
        if code != cell.text:
            pieces += [text[done : cell.start], _value(text[cell.start : cell.end], code)]
            done = cell.end
    return "".join([*pieces, text[done:]]).encode("utf-8", "surrogatepass")


class Cells:
    """Where the rows of the Python source of a notebook are in its cells."""

    def __init__(self, source: bytes) -> None:
        self._lines = source.decode("utf-8", "replace").split("\n")
        found = [(row, _numbered(line)) for row, line in enumerate(self._lines, 1)]
        heads = [(row, number) for row, number in found if number]
        # A comment of the user's that looks alike is no head: the real ones have the longest mark.
        longest = max((self._lines[row - 1].index(" cell") for row, _ in heads), default=0)
        self._heads = [(row, number) for row, number in heads if self._lines[row - 1].index(" cell") == longest]
        self._end = len(self._lines) + (1 if self._lines[-1] else 0)
        self._rows = [row for row, _ in self._heads]

    def place(self, row: int) -> tuple[int, int]:
        """Cell and row in it; (0, row) before the first cell."""
        index = bisect.bisect_right(self._rows, row) - 1
        if index < 0:
            return 0, row
        head, number = self._heads[index]
        return number, max(row - head, 1)

    def texts(self) -> Iterator[tuple[int, bytes]]:
        """Every cell with its source."""
        ends = [*self._rows[1:], self._end]
        for (row, number), end in zip(self._heads, ends, strict=False):
            yield number, _put_back("\n".join(self._lines[row : end - 1])).encode("utf-8", "replace")


# ---------------------------------------------------------------------------------------------------------------- JSON


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotebookError(f"is not a notebook: byte {error.start} is not UTF-8") from error


def _cells(text: str) -> list[Cell]:
    """The code cells of a notebook in Python."""
    body = text.removeprefix("\ufeff")
    if not body.strip():
        return []  # as editors make them
    try:
        whole = json.loads(body)
    except json.JSONDecodeError as error:
        raise NotebookError(f"is not a notebook: not valid JSON ({error.msg})", error.lineno, error.colno) from error
    except RecursionError as error:
        raise NotebookError("is not a notebook: nested too deeply") from error
    except ValueError as error:  # a number of thousands of digits
        raise NotebookError(f"is not a notebook: {error}") from error
    if not isinstance(whole, dict) or not isinstance(whole.get("cells"), list):
        raise NotebookError("is not a notebook that can be read: it has no `cells`, as nbformat 4 wants them")
    if _language(whole) != "python":
        return []
    at = len(text) - len(body)
    start = next(start for key, start, _ in _members(text, at) if key == "cells")
    cells = []
    for number, (value, begin, _) in enumerate(_elements(text, start), 1):
        if isinstance(value, dict) and value.get("cell_type") == "code":
            spans = [(s, e) for key, s, e in _members(text, begin) if key == "source"]
            if spans:
                cells.append(Cell(number, _joined(value["source"]), *spans[-1]))
    return cells


def _language(notebook: dict[str, Any]) -> str:
    """The language of the code, Python where nothing is said."""
    metadata = notebook.get("metadata")
    parts = [metadata.get(key) for key in ("language_info", "kernelspec")] if isinstance(metadata, dict) else []
    found = [part.get(key) for part, key in zip(parts, ("name", "language"), strict=False) if isinstance(part, dict)]
    return str(next((name for name in found if name), "python"))


def _joined(source: object) -> str:
    if isinstance(source, list):
        return "".join(map(str, source))
    return str(source)


_DECODER = json.JSONDecoder()


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _members(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    """Key, start and end of each value of the object that starts here, in text known to be JSON."""
    at = _skip(text, _skip(text, at) + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        start = _skip(text, _skip(text, at) + 1)
        _, at = _DECODER.raw_decode(text, start)
        yield key, start, at
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _elements(text: str, at: int) -> Iterator[tuple[Any, int, int]]:
    """Value, start and end of each element of the array that starts here."""
    at = _skip(text, _skip(text, at) + 1)
    while text[at] != "]":
        value, end = _DECODER.raw_decode(text, at)
        yield value, at, end
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _value(old: str, code: str) -> str:
    """Code as JSON, written as the old value is: one string, or an array of rows with what stands between them. Rows
    that were there before are written as they were."""
    escapes = "\\u" in old and old.isascii()
    if not old.startswith("["):
        return json.dumps(code, ensure_ascii=escapes)
    rows = list(_elements(old, 0))
    known = {value: old[start:end] for value, start, end in rows}
    first, between, last = "", ", ", ""
    if rows:
        first, last = old[1 : rows[0][1]], old[rows[-1][2] : -1]
        between = old[rows[0][2] : rows[1][1]] if len(rows) > 1 else f",{first or ' '}"
    lines = code.splitlines(keepends=True) if "\r" not in code else re.findall(r"[^\n]*\n|[^\n]+", code)
    written = [known.get(line) or json.dumps(line, ensure_ascii=escapes) for line in lines]
    return f"[{first}{between.join(written)}{last}]" if written else "[]"


# -------------------------------------------------------------------------------------------------------------- source


def _numbered(line: str) -> int:
    found = _ALIKE.fullmatch(line)
    return int(found[2]) if found and found[2] else 0


def _mark(cells: list[Cell]) -> str:
    """The start of the comments that name cells: one with more signs than any that a row of a cell has."""
    alike = (_ALIKE.match(line) for cell in cells for line in cell.text.split("\n"))
    longest = max((len(found[1]) for found in alike if found), default=1)
    return f"# {'%' * max(longest + 1, 2)} cell "


def _split(source: str, mark: str) -> dict[int, str]:
    """The source of each cell by its number. What stands before the first belongs to it."""
    texts: dict[int, list[str]] = {}
    early: list[str] = []
    current = early
    for line in source.split("\n"):
        number = line.removeprefix(mark) if line.startswith(mark) else ""
        if number.isdecimal():
            current = texts.setdefault(int(number), [])
            current += early
            early = []
        else:
            current.append(line)
    last = next(reversed(texts), 0)
    if last and texts[last] and not texts[last][-1]:
        texts[last].pop()  # behind the end of the last row
    return {number: "\n".join(lines) for number, lines in texts.items()}


def _set_aside(text: str) -> str:
    """A cell without what is not Python, row by row."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
            return text
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass  # IPython's own rows are among it, or it is broken
    lines = text.split("\n")
    first = next((line.strip() for line in lines if line.strip()), "")
    if first.startswith("%%") and first[2:].partition(" ")[0] not in _PYTHON_CELLS:
        return "\n".join(f"{_ASIDE}{line}" if line.strip() else line for line in lines)
    done: list[str] = []
    goes_on = False
    for line in lines:
        if goes_on or (_is_special(line) and not _is_open(done)):
            done.append(_aside(line, goes_on))
            goes_on = line.endswith("\\")
        else:
            done.append(line)
    return "\n".join(done)


def _is_special(line: str) -> bool:
    return bool(_SPECIAL.match(line) or _ASSIGNED.match(line)) and not line.lstrip().startswith("#")


def _is_open(lines: list[str]) -> bool:
    """Whether a bracket or a string is open behind some rows: then what follows is part of it."""
    try:
        for _ in tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline):
            pass
    except tokenize.TokenError:
        return True
    except (SyntaxError, ValueError):
        return False
    return False


def _aside(line: str, goes_on: bool) -> str:
    """A row of Python that stands for one of IPython: of an assignment it keeps the name."""
    indent = line[: len(line) - len(line.lstrip())]
    assigned = _ASSIGNED.match(line)
    if goes_on:
        return f"{_ASIDE}{line}"
    if assigned:
        return f"{indent}{assigned[2]} = get_ipython()  {_ASIDE}{line}"
    if line.lstrip().startswith("%%"):
        return f"{_ASIDE}{line}"
    return f"{indent}pass  {_ASIDE}{line}"


def _put_back(text: str) -> str:
    """A cell with IPython's rows as they were."""
    if _ASIDE not in text:
        return text
    return "\n".join(line.partition(_ASIDE)[2] if _ASIDE in line else line for line in text.split("\n"))
