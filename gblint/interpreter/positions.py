"""Where nodes of a libcst tree lie, found statement by statement.

libcst's own PositionProvider writes out a whole tree to place one node. Here `ast`, which parses in a fraction of that
time, says where every statement starts, and only the statement around a wanted node is written out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst
from libcst.metadata import CodePosition, CodeRange, MetadataWrapper, PositionProvider

from gblint.interpreter.walk import children

_PASS = cst.IndentedBlock([cst.SimpleStatementLine([cst.Pass()])])
_SUITES = frozenset((cst.IndentedBlock, cst.SimpleStatementSuite, cst.Else, cst.Finally))
_PLAIN = (cst.For, cst.While, cst.With, cst.FunctionDef, cst.ClassDef, cst.If)  # compound statements with a header


class _Mismatch(Exception):
    """The two parsers do not see the same statements."""


class Positions:
    """Positions in one parsed text; rows and columns as libcst counts them (rows from 1, columns from 0)."""

    def __init__(self, module: cst.Module, text: str) -> None:
        self._module = module
        self._lines = text.split("\n")
        self._found: dict[cst.CSTNode, CodeRange] = {}
        self._whole = False
        self._statements: dict[cst.CSTNode, ast.stmt] = {}
        self._owner: dict[cst.CSTNode, cst.CSTNode] = {}
        self._elifs: set[cst.CSTNode] = set()
        try:
            self._pair(module.body, ast.parse(text).body)
        except (_Mismatch, SyntaxError, ValueError, RecursionError):
            self._statements.clear()
        for statement in self._statements:
            for node in _header(statement):
                self._owner[node] = statement

    def get(self, node: cst.CSTNode) -> CodeRange | None:
        """The range of a node; None if it is not part of the text."""
        found = self._found.get(node)
        if found is not None:
            return found
        owner = self._owner.get(node)
        if owner is None and self._statements:
            return None
        if isinstance(owner, (cst.BaseSmallStatement, *_PLAIN)):
            self._write_out(owner)
        if node not in self._found and not self._whole:
            self._whole = True
            self._found.update(_resolve(self._module))
        return self._found.get(node)

    # -- matching statements ---------------------------------------------------------------------------------------

    def _pair(self, statements: object, others: list[ast.stmt]) -> None:
        flat = list(_flat(statements))
        if len(flat) != len(others):
            raise _Mismatch
        for statement, other in zip(flat, others, strict=True):
            self._statements[statement] = other
            if not isinstance(statement, cst.BaseSmallStatement):
                self._pair_blocks(statement, other)

    def _pair_blocks(self, statement: cst.CSTNode, other: ast.stmt) -> None:
        for name in ("body", "orelse", "finalbody"):
            block = getattr(statement, name, None)
            inner = getattr(other, name, [])
            if isinstance(block, cst.If):  # elif
                if len(inner) != 1:
                    raise _Mismatch
                self._elifs.add(block)
                self._statements[block] = inner[0]
                self._pair_blocks(block, inner[0])
            elif block is not None:
                self._pair((block.body if isinstance(block, cst.Else | cst.Finally) else block).body, inner)
        for name in ("handlers", "cases"):
            for part, match in zip(getattr(statement, name, ()), getattr(other, name, ()), strict=True):
                self._pair(part.body.body, match.body)

    # -- writing out one statement ---------------------------------------------------------------------------------

    def _write_out(self, statement: cst.CSTNode) -> None:
        """Positions of a statement's own nodes, from a module that holds nothing else."""
        other = self._statements[statement]
        first = min([other.lineno, *(d.lineno for d in getattr(other, "decorator_list", ()))])
        line = self._lines[first - 1]
        indent = line[: len(line) - len(line.lstrip())]
        start = len(line.encode()[: other.col_offset].decode()) if first == other.lineno else len(indent)
        shift = start - len(indent) + (2 if statement in self._elifs else 0)
        alone = _alone(statement)
        module = cst.Module([cst.If(cst.Name("x"), cst.IndentedBlock([alone], indent=indent)) if indent else alone])
        move = first - (2 if indent else 1)
        for node, place in _resolve(module).items():
            top = 2 if indent else 1
            self._found[node] = CodeRange(_moved(place.start, move, shift, top), _moved(place.end, move, shift, top))
        if not isinstance(statement, cst.BaseSmallStatement):
            self._found.pop(alone, None)  # without its body it does not end where it should


def _moved(place: CodePosition, rows: int, columns: int, top: int) -> CodePosition:
    return CodePosition(place.line + rows, place.column + (columns if place.line == top else 0))


def _resolve(module: cst.Module) -> dict[cst.CSTNode, CodeRange]:
    return dict(MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider))


def _flat(statements: object) -> Iterator[cst.CSTNode]:
    """Statements as `ast` counts them: those that share a line are several."""
    for statement in statements:  # type: ignore[attr-defined]
        if isinstance(statement, cst.SimpleStatementLine):
            yield from statement.body
        else:
            yield statement


def _header(statement: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes of a statement without those of the statements in it."""
    stack = [statement]
    while stack:
        node = stack.pop()
        yield node
        nested = node.__class__ is cst.If
        for child in children(node):
            kind = child.__class__
            if kind not in _SUITES and not (nested and kind is cst.If):
                stack.append(child)


def _alone(statement: cst.CSTNode) -> cst.SimpleStatementLine | cst.BaseCompoundStatement:
    """The statement with the same nodes in its header, but without comments before it and bodies in it."""
    if isinstance(statement, cst.BaseSmallStatement):
        return cst.SimpleStatementLine([statement])
    changes: dict[str, object] = {"body": _PASS, "leading_lines": ()}
    if isinstance(statement, cst.If | cst.For | cst.While):
        changes["orelse"] = None
    decorators = getattr(statement, "decorators", ())
    if decorators:
        changes["decorators"] = [decorators[0].with_changes(leading_lines=()), *decorators[1:]]
    return statement.with_changes(**changes)  # type: ignore[return-value]
