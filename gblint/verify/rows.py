"""Which rows belong together: those of a statement, those of a function."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator
from functools import lru_cache

from gblint.source import SourceError, decode, read_bytes

Range = tuple[int, int]
_NONE: Range = (0, 0)


class Rows:
    """The statements and functions of a file, by row. Without the file, or if it is broken, each row is alone."""

    def __init__(self, text: str) -> None:
        self._statements: dict[int, Range] = {}
        self._functions: list[Range] = []
        self._names: dict[Range, str] = {}
        self.lines = text.splitlines()
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        for node in _walk(tree):
            first, last = _extent(node)
            for row in range(first, last + 1):
                self._statements[row] = (first, last)  # inner statements come later
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._functions.append((first, node.end_lineno or node.lineno))
        self._names = dict(_names(tree.body, ""))

    def statement(self, row: int) -> Range:
        """First and last row of the statement that a row belongs to: the head alone, if it has a body."""
        return self._statements.get(row, (row, row))

    def columns(self, row: int) -> Range:
        """Where the text of a row begins and ends: 1-based, the end exclusive."""
        line = self.lines[row - 1] if 0 < row <= len(self.lines) else ""
        return len(line) - len(line.lstrip()) + 1, max(len(line.rstrip()), 1) + 1

    def functions(self, row: int) -> list[Range]:
        """First and last row, decorators included, of each function around a row, outermost first."""
        return [(first, last) for first, last in self._functions if first <= row <= last]

    def name(self, row: int) -> str:
        """The qualified name of the innermost function around a row, "" outside of all: "Net.forward"."""
        return self._names.get(self.function(row), "")

    def function(self, row: int) -> Range:
        """The innermost one."""
        around = self.functions(row)
        return around[-1] if around else _NONE


def _walk(tree: ast.AST) -> Iterator[ast.stmt]:
    """All statements, outer ones before inner ones."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.stmt):
            yield node
        waiting += [
            child
            for child in ast.iter_child_nodes(node)
            if isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case))
        ]


def _names(body: Iterable[ast.AST], around: str) -> Iterator[tuple[Range, str]]:
    """Functions with their qualified names, by first and last row, decorators included."""
    for node in body:
        name = around
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{around}.{node.name}" if around else node.name
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield (_extent(node)[0], node.end_lineno or node.lineno), name
            name = f"{name}.<locals>"
        yield from _names(ast.iter_child_nodes(node), name)


def _extent(node: ast.stmt) -> Range:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(d.lineno for d in decorators)])
    body: list[ast.AST] = getattr(node, "body", None) or getattr(node, "cases", None) or []
    if not body:
        return first, node.end_lineno or node.lineno
    inner = body[0]
    start = inner.pattern.lineno if isinstance(inner, ast.match_case) else getattr(inner, "lineno", first)
    start = min([start, *(d.lineno for d in getattr(inner, "decorator_list", []))])
    return first, max(node.lineno, start - 1)


def rows_of(filename: str) -> Rows:
    """The rows of a file as it is now."""
    try:
        found = os.stat(filename)
    except (OSError, ValueError):  # also a name with a NUL in it, which a log may hold
        return Rows("")
    return _rows(filename, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=256)
def _rows(filename: str, changed: int, size: int) -> Rows:
    try:
        return Rows(decode(read_bytes(filename)).text)
    except (SourceError, OSError):
        return Rows("")
