"""Silencing findings: a comment `# gblint: ignore[rule] reason` in a row where it covers the finding."""

from __future__ import annotations

import ast
import io
import tokenize
from collections import defaultdict
from collections.abc import Iterable

import msgspec

from gblint.errors import GblintError
from gblint.findings.finding import Edit, Finding
from gblint.findings.suppression import apply
from gblint.fixing.edits import Conflict, edited
from gblint.fixing.rewrite import replace_file
from gblint.index.suppressions import find_suppressions, listing
from gblint.index.walk import statements
from gblint.source import SourceError, decode, read_bytes


class Silenced(msgspec.Struct):
    """findings: those that a comment covers now; left: those that no comment could be put on; rows: how many rows got
    one; files: how many files changed."""

    findings: list[Finding] = []
    left: list[Finding] = []
    rows: int = 0
    files: int = 0


def silence(findings: Iterable[Finding], reason: str = "") -> Silenced:
    """Put comments on findings in their files, which change in nothing else, each whole or not at all.

    Raises GblintError at the end if files cannot be replaced: the others are.
    """
    by_file: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_file[finding.filename].append(finding)
    result = Silenced()
    failed: list[GblintError] = []
    for path, mine in sorted(by_file.items()):
        try:
            data = read_bytes(path)
            new, rows = commented(data, mine, reason)
            covered = _covered(new, mine)
            if covered:
                replace_file(path, data, new)
                result.rows += rows
                result.files += 1
        except GblintError as error:
            failed.append(error)
            covered = []
        except (Conflict, SourceError, SyntaxError, ValueError, RecursionError):
            covered = []
        result.findings += covered
        result.left += [finding for finding in mine if finding not in covered]
    if failed:
        raise GblintError("; ".join(error.message for error in failed[:5]), failed[0].hint)
    return result


def commented(data: bytes, findings: Iterable[Finding], reason: str) -> tuple[bytes, int]:
    """A file with comments on findings, and how many rows have got one.

    A comment stands in the row where the finding starts, else where it ends, else at an end of its statement: in the
    first of these rows whose end is neither in a string nor carried on by a backslash. Where gblint already ignores
    something, the rule is added to the list. Raises SourceError, SyntaxError or ValueError for what cannot be parsed,
    Conflict when the file's encoding lacks a character of the reason.
    """
    text = _lines_of(data)
    tree = ast.parse(text)
    rows = _Rows(text)
    names: dict[int, set[str]] = defaultdict(set)
    for finding in findings:
        row = next((row for row in _places(finding, tree) if rows.free(row)), None)
        if row is not None:
            names[row].add(finding.name)
    edits = [rows.edit(row, sorted(names[row]), reason) for row in sorted(names)]
    new = edited(data, edits)
    if ast.dump(ast.parse(_lines_of(new))) != ast.dump(tree):
        raise ValueError("a comment would have changed the program")
    return new, len(edits)


def _lines_of(data: bytes) -> str:
    return decode(data).text.replace("\r\n", "\n").replace("\r", "\n")


def _covered(new: bytes, findings: list[Finding]) -> list[Finding]:
    """The findings that the comments of a file's new content silence."""
    text = _lines_of(new)
    comments = find_suppressions(text.split("\n"), ast.parse(text))
    return apply(findings, {finding.filename: comments for finding in findings}).silenced


def _places(finding: Finding, tree: ast.Module) -> list[int]:
    """Rows in which a comment may cover a finding, best first."""
    inside = [s for s in statements(tree.body) if s.lineno <= finding.row <= (s.end_lineno or s.lineno)]
    around = min(inside, key=lambda s: (s.end_lineno or s.lineno) - s.lineno, default=None)
    ends = [] if around is None else [around.lineno]
    if around is not None and not hasattr(around, "body") and not hasattr(around, "cases"):
        ends.insert(0, around.end_lineno or around.lineno)  # a comment at the end of a body says nothing of its header
    return [finding.row, finding.noqa_row or finding.end_row, *ends]


class _Rows:
    """The ends of the rows of a text, for comments to be put there."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._comments: dict[int, tuple[int, str]] = {}
        self._taken: set[int] = set()
        depth, start = 0, 0
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            kind = tokenize.tok_name[token.type]
            if kind == "COMMENT":
                self._comments[token.start[0]] = token.start[1], token.string
            elif kind == "STRING":
                self._taken.update(range(token.start[0], token.end[0]))
            elif kind.endswith("STRING_START"):  # of an f-string or a template, which may hold others
                start = token.start[0] if not depth else start
                depth += 1
            elif kind.endswith("STRING_END"):
                depth -= 1
                if not depth:
                    self._taken.update(range(start, token.end[0]))

    def free(self, row: int) -> bool:
        """Whether what follows a row's end would be a comment."""
        if not 1 <= row <= len(self._lines) or row in self._taken:
            return False
        return row in self._comments or not self._lines[row - 1].endswith("\\")

    def edit(self, row: int, names: list[str], reason: str) -> Edit:
        """The edit, in a file without a name, that makes a comment of gblint in a row ignore rules."""
        start, comment = self._comments.get(row, (0, ""))
        listed = listing(comment)
        if listed:
            column, content = start + listed[0] + 1, (", " if listed[1] else "") + ", ".join(names)
        else:
            column = len(self._lines[row - 1]) + 1
            content = f"  # gblint: ignore[{', '.join(names)}]" + (f" {reason}" if reason else "")
        return Edit("", row, column, row, column, content)
