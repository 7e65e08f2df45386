"""Comments that silence findings."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from gblint.index.model import Suppression
from gblint.index.walk import statements

_HINT = re.compile(r"#.*(?:noqa|gblint:)", re.IGNORECASE)
_CODE = r"[A-Za-z]+[0-9]+|[A-Za-z]+(?:-[A-Za-z0-9]+)+"
_CODES = rf"(?:{_CODE})(?:[\s,]+(?:{_CODE})\b)*"
_NOQA = re.compile(rf"#\s*noqa\b(?P<colon>\s*:\s*(?P<codes>{_CODES})?)?", re.IGNORECASE)
_GBLINT = re.compile(
    rf"#\s*gblint:\s*(?:(?P<form>noqa|skip-file)\b(?P<colon>\s*:\s*(?P<codes>{_CODES})?)?"
    r"|ignore\b(?P<bracket>\s*\[(?P<listed>[^\]]*)\])?)",
    re.IGNORECASE,
)
_SPLIT = re.compile(r"[\s,]+")

_Span = tuple[int, int]


def find_suppressions(lines: list[str], tree: ast.Module) -> list[Suppression]:
    """All suppression comments of a parsed file, in source order."""
    rows = [row for row, line in enumerate(lines, 1) if _HINT.search(line)]
    if not rows:
        return []
    found: list[Suppression] = []
    spans = _statement_spans(tree, rows)
    for row in rows:
        first, last = spans.get(row, (row, row))
        comment = _comment(lines[first - 1 : last], row - first + 1)
        covered = (first, last) if row in (first, last) else (row, row)
        found.extend(_parse(row, comment, covered, len(lines)))
    return found


def listing(comment: str) -> tuple[int, bool] | None:
    """Where the list in the brackets of a `# gblint: ignore[…]` comment ends, and whether anything is in it; None for a
    comment without one."""
    ours = _GBLINT.search(comment)
    if not ours or not ours["bracket"]:
        return None
    return ours.start("listed") + len(ours["listed"].rstrip(" ,")), bool(_split(ours["listed"]))


def _comment(lines: list[str], row: int) -> str:
    """The comment in one row of a statement, "" if what looks like one is part of a string."""
    try:
        for token in tokenize.generate_tokens(io.StringIO("\n".join(lines)).readline):
            if token.type == tokenize.COMMENT and token.start[0] == row:
                return token.string
    except (tokenize.TokenError, SyntaxError):
        pass  # the header of a block may end before the tokenizer is content
    return ""


def _parse(row: int, comment: str, span: _Span, rows: int) -> Iterator[Suppression]:
    ours = _GBLINT.search(comment)
    if ours and ours["form"]:
        if not ours["colon"] or ours["codes"]:
            yield Suppression(row, _split(ours["codes"]), 1, rows, "file-noqa")
        return
    if ours and not (ours["bracket"] and not _split(ours["listed"])):
        yield Suppression(row, _split(ours["listed"]), *span, "ignore")
    # A colon with nothing readable after it is a mistake, not a licence to silence everything.
    noqa = _NOQA.search(comment)
    if noqa and (not noqa["colon"] or noqa["codes"]):
        yield Suppression(row, _split(noqa["codes"]), *span, "noqa")


def _split(codes: str | None) -> tuple[str, ...]:
    return tuple(part for part in _SPLIT.split(codes or "") if part)


def _statement_spans(tree: ast.Module, rows: list[int]) -> dict[int, _Span]:
    """For each of some rows the innermost statement it lies in; a compound one has only its header."""
    spans: dict[int, _Span] = {}
    for node in statements(tree.body):
        first, last = node.lineno, _last_row(node)
        for row in rows:
            if first <= row <= last:
                known = spans.get(row)
                if known is None or last - first < known[1] - known[0]:
                    spans[row] = first, last
    return spans


def _last_row(node: ast.stmt) -> int:
    """Last row of a simple statement, or of the header of a compound one."""
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    if not body:
        return node.end_lineno or node.lineno
    head = body[0]
    decorators = getattr(head, "decorator_list", ())
    # A match case has no position of its own: its pattern has one.
    row: int = decorators[0].lineno if decorators else getattr(head, "pattern", head).lineno
    return max(node.lineno, row - 1)
