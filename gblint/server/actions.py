"""Repairs as code actions. What `gblint fix` would make at once is preferred, what it makes only on demand is named so,
and what is only an example is not offered."""

from __future__ import annotations

import difflib
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from lsprotocol import types

from gblint.config import Config
from gblint.findings.finding import Edit, Finding
from gblint.fixing.edits import Conflict, edited
from gblint.fixing.imports import unused_after
from gblint.fixing.plan import Choice, applicability, steps
from gblint.fixing.silence import commented
from gblint.server.checker import Report
from gblint.server.texts import Text
from gblint.source import SourceError, decode, read_bytes

FIX_ALL = "source.fixAll.gblint"
TextOf = Callable[[Path], "Text | None"]


class Actions:
    """The code actions for a report.

    text_of: what the editor has of a file, None for one that is not open; for_disk: makes a text of what is on disk.
    """

    def __init__(
        self,
        report: Report,
        config_of: Callable[[str], Config],
        text_of: TextOf,
        for_disk: Callable[[str], Text],
        uri_of: Callable[[Path], str],
    ) -> None:
        self._report = report
        self._config_of = config_of
        self._text_of = text_of
        self._for_disk = for_disk
        self._uri_of = uri_of

    def quick_fixes(
        self, findings: Iterable[Finding], diagnostics: Callable[[Finding], list[types.Diagnostic]]
    ) -> Iterator[types.CodeAction]:
        """Repairs of some findings, and comments that silence them. diagnostics: those that an action resolves."""
        for finding in findings:
            preferred = True
            for fix in finding.fixes:
                word = applicability(fix, finding, self._config_of(finding.filename))
                edit = self._workspace_edit(fix.edits) if word in ("safe", "unsafe") else None
                if edit is None:
                    continue
                title = fix.message[:1].upper() + fix.message[1:]
                yield types.CodeAction(
                    title=f"{title} ({fix.codemod})" if word == "safe" else f"Unsafe: {fix.message} ({fix.codemod})",
                    kind=types.CodeActionKind.QuickFix,
                    diagnostics=diagnostics(finding),
                    is_preferred=True if word == "safe" and preferred else None,
                    edit=edit,
                )
                preferred = False
            silenced = self._silenced(finding)
            if silenced is not None:
                yield types.CodeAction(
                    title=f"Silence {finding.name} here, by a comment",
                    kind=types.CodeActionKind.QuickFix,
                    diagnostics=diagnostics(finding),
                    edit=silenced,
                )

    def fix_all(self) -> types.CodeAction | None:
        """All safe repairs that go together and stay in this file, None if there are none."""
        path = str(self._report.path)
        chosen = steps(self._report.findings, Choice(), self._config_of, lambda fix: _files(fix.edits) == {path}, set())
        edits = tuple(edit for step in chosen for edit in step.fix.edits)
        edit = self._workspace_edit(edits) if edits else None
        if edit is None:
            return None
        return types.CodeAction(title="Make all safe repairs of graph breaks", kind=FIX_ALL, edit=edit)

    def _workspace_edit(self, edits: Iterable[Edit]) -> types.WorkspaceEdit | None:
        """Edits in the terms of the protocol; None if they cannot be made, or would leave no program."""
        by_file: dict[str, list[Edit]] = defaultdict(list)
        for edit in edits:
            by_file[edit.filename].append(edit)
        changes = {}
        for filename, own in by_file.items():
            try:
                text = self._text(filename)
                new = edited(text.data, own)
                _compile(new, filename)
                own += unused_after(filename, text.data, new)
                new = edited(text.data, own)
                _compile(new, filename)
            except (Conflict, SyntaxError, ValueError, SourceError, RecursionError):
                return None
            changes[filename] = text, new
        return self._changes(changes)

    def _silenced(self, finding: Finding) -> types.WorkspaceEdit | None:
        try:
            text = self._text(finding.filename)
            new, rows = commented(text.data, [finding], "")
        except (Conflict, SyntaxError, ValueError, SourceError, RecursionError):
            return None
        return self._changes({finding.filename: (text, new)}) if rows else None

    def _changes(self, changes: dict[str, tuple[Text, bytes]]) -> types.WorkspaceEdit:
        return types.WorkspaceEdit(
            changes={self._uri_of(Path(name)): _differences(text, new) for name, (text, new) in changes.items()}
        )

    def _text(self, filename: str) -> Text:
        """What a file is now: for the one reported on, what was checked."""
        path = Path(filename)
        if path == self._report.path:
            return self._report.text
        return self._text_of(path) or self._for_disk(decode(read_bytes(filename)).text)


def _files(edits: Iterable[Edit]) -> set[str]:
    return {edit.filename for edit in edits}


def _differences(text: Text, new: bytes) -> list[types.TextEdit]:
    """The rows that differ, as edits."""
    old, lines = text.lines, Text(decode(new).text, 0, text.codec).lines
    shorter = min(len(old), len(lines))
    head = next((n for n in range(shorter) if old[n] != lines[n]), shorter)
    tail = next((n for n in range(shorter - head) if old[-1 - n] != lines[-1 - n]), shorter - head)
    old, lines = old[head : len(old) - tail], lines[head : len(lines) - tail]
    return [
        types.TextEdit(text.range(head + a + 1, 1, head + b + 1, 1), "".join(lines[c:d]))
        for kind, a, b, c, d in difflib.SequenceMatcher(None, old, lines).get_opcodes()
        if kind != "equal"
    ]


def _compile(data: bytes, path: str) -> None:
    """Raises SyntaxError (or ValueError) for what Python would not load. Nothing of it runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compile(data, path, "exec", dont_inherit=True)
