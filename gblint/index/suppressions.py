"""Comments that silence findings."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from gblint.index.model import Suppression
from gblint.index.walk import walk

_HINT = re.compile(r"noqa|gblint:", re.IGNORECASE)
_CODE = r"[A-Za-z]+[0-9]+|[A-Za-z]+(?:-[A-Za-z0-9]+)+"
_CODES = rf"(?:{_CODE})(?:[\s,]+(?:{_CODE})\b)*"
_NOQA = re.compile(rf"#\s*noqa\b(?P<colon>\s*:\s*(?P<codes>{_CODES})?)?", re.IGNORECASE)
_GBLINT = re.compile(
    rf"#\s*gblint:\s*(?:(?P<form>noqa|skip-file)\b(?P<colon>\s*:\s*(?P<codes>{_CODES})?)?"
    r"|ignore\b(?P<bracket>\s*\[(?P<listed>[^\]]*)\])?)",
    re.IGNORECASE,
)
_SPLIT = re.compile(r"[\s,]+")


def find_suppressions(text: str, tree: ast.Module, rows: int) -> list[Suppression]:
    """All suppression comments of a parsed file, in source order."""
    lowered = text.lower()
    if "noqa" not in lowered and "gblint:" not in lowered:
        return []
    comments = [(row, comment) for row, comment in _comments(text) if _HINT.search(comment)]
    if not comments:
        return []
    spans = _spans(tree)
    found: list[Suppression] = []
    for row, comment in comments:
        found.extend(_parse(row, comment, spans.get(row, (row, row)), rows))
    return found


def _comments(text: str) -> Iterator[tuple[int, str]]:
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return


def _parse(row: int, comment: str, span: tuple[int, int], rows: int) -> Iterator[Suppression]:
    ours = _GBLINT.search(comment)
    if ours and ours["form"]:
        if not ours["colon"] or ours["codes"]:
            yield Suppression(row, _split(ours["codes"]), 1, rows, "file-noqa")
        return
    if ours and not (ours["bracket"] and not _split(ours["listed"])):
        yield Suppression(row, _split(ours["listed"]), *span, "ignore")
    # `# noqa:` with nothing readable after the colon is a mistake, not a licence to silence everything.
    noqa = _NOQA.search(comment)
    if noqa and (not noqa["colon"] or noqa["codes"]):
        yield Suppression(row, _split(noqa["codes"]), *span, "noqa")


def _split(codes: str | None) -> tuple[str, ...]:
    return tuple(part for part in _SPLIT.split(codes or "") if part)


def _spans(tree: ast.Module) -> dict[int, tuple[int, int]]:
    """First and last rows of multi-line statements → the rows they cover; of a block only its header counts."""
    spans: dict[int, tuple[int, int]] = {}
    for node in walk(tree.body):
        if not isinstance(node, ast.stmt):
            continue
        first, last = node.lineno, _last_row(node)
        if last > first:
            for row in (first, last):
                known = spans.get(row)
                if known is None or last - first < known[1] - known[0]:
                    spans[row] = (first, last)
    return spans


def _last_row(node: ast.stmt) -> int:
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    if not body:
        return node.end_lineno or node.lineno
    head = body[0]
    # A match case has no position of its own: its pattern has one.
    row = min([getattr(head, "pattern", head).lineno, *(d.lineno for d in getattr(head, "decorator_list", ()))])
    return max(node.lineno, row - 1)
