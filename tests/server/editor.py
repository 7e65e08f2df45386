"""An editor for tests: a client of the Language Server Protocol that starts `gblint server` and talks to it."""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from pathlib import Path
from types import TracebackType
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

PATIENCE = 60.0


class Editor(LanguageClient):
    """Open files and what was said of them."""

    def __init__(self, folder: Path, server: list[str] | None = None) -> None:
        super().__init__("gblint-tests", "1")
        self.folder = folder
        self.server = server or [sys.executable, "-m", "gblint", "server"]
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = defaultdict(int)
        self.published: dict[str, list[types.PublishDiagnosticsParams]] = defaultdict(list)
        self.messages: list[str] = []
        self._news = asyncio.Event()
        self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda params: self._on_diagnostics(params))
        self.feature(types.WINDOW_SHOW_MESSAGE)(lambda params: self._on_message(params))

    def _on_diagnostics(self, params: types.PublishDiagnosticsParams) -> None:
        self.published[params.uri].append(params)
        self._news.set()

    def _on_message(self, params: types.ShowMessageParams) -> None:
        self.messages.append(params.message)
        self._news.set()

    async def __aenter__(self) -> Editor:
        await self.start_io(*self.server, cwd=str(self.folder))
        folders = [types.WorkspaceFolder(self.folder.as_uri(), self.folder.name)]
        self.answer = await self.initialize_async(
            types.InitializeParams(types.ClientCapabilities(), workspace_folders=folders, root_uri=self.folder.as_uri())
        )
        self.initialized(types.InitializedParams())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.wait_for(self.shutdown_async(None), PATIENCE)
        self.exit(None)
        assert self._server is not None
        self.code = await asyncio.wait_for(self._server.wait(), PATIENCE)
        await self.stop()

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str | None = None) -> str:
        uri = self.uri(name)
        self.texts[uri] = (self.folder / name).read_text("utf-8") if text is None else text
        self.versions[uri] += 1
        document = types.TextDocumentItem(uri, "python", self.versions[uri], self.texts[uri])
        self.text_document_did_open(types.DidOpenTextDocumentParams(document))
        return uri

    def type(self, uri: str, old: str, new: str) -> None:
        """Replace a piece of a text, as an editor tells it: the range, and what stands there now."""
        before = self.texts[uri]
        start = before.index(old)
        where = types.Range(_position(before, start), _position(before, start + len(old)))
        self.texts[uri] = before.replace(old, new, 1)
        self.versions[uri] += 1
        document = types.VersionedTextDocumentIdentifier(uri=uri, version=self.versions[uri])
        change = types.TextDocumentContentChangePartial(where, new)
        self.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    async def diagnostics(self, uri: str) -> list[types.Diagnostic]:
        """Those of the text as it is now, once they arrive."""
        async with asyncio.timeout(PATIENCE) if hasattr(asyncio, "timeout") else _no_limit():
            while not any(p.version == self.versions[uri] for p in self.published[uri]):
                self._news.clear()
                await self._news.wait()
        return list(self.published[uri][-1].diagnostics)

    async def message(self) -> str:
        """The newest message, once there is one."""
        while not self.messages:
            self._news.clear()
            await asyncio.wait_for(self._news.wait(), PATIENCE)
        return self.messages[-1]

    def place(self, uri: str, piece: str) -> types.Position:
        return _position(self.texts[uri], self.texts[uri].index(piece))

    async def hover(self, uri: str, piece: str) -> str | None:
        document = types.TextDocumentIdentifier(uri)
        found = await self.text_document_hover_async(types.HoverParams(document, self.place(uri, piece)))
        assert found is None or isinstance(found.contents, types.MarkupContent)
        return found.contents.value if found else None

    async def actions(
        self, uri: str, diagnostics: list[types.Diagnostic], only: list[str] | None = None
    ) -> list[types.CodeAction]:
        """The actions for some diagnostics, or for the whole text."""
        start, end = types.Position(0, 0), _position(self.texts[uri], len(self.texts[uri]))
        where = diagnostics[0].range if diagnostics else types.Range(start, end)
        found = await self.text_document_code_action_async(
            types.CodeActionParams(
                types.TextDocumentIdentifier(uri), where, types.CodeActionContext(diagnostics, only=only)
            )
        )
        return [action for action in found or [] if isinstance(action, types.CodeAction)]

    async def lenses(self, uri: str) -> dict[int, str]:
        """Titles by row, counted from 1."""
        document = types.TextDocumentIdentifier(uri)
        found = await self.text_document_code_lens_async(types.CodeLensParams(document))
        return {lens.range.start.line + 1: lens.command.title for lens in found or [] if lens.command}

    def apply(self, action: types.CodeAction) -> None:
        """Make the edits of an action in the open texts."""
        assert action.edit is not None
        assert action.edit.changes is not None
        for uri, edits in action.edit.changes.items():
            for edit in sorted(edits, key=lambda e: (e.range.start.line, e.range.start.character), reverse=True):
                text = self.texts[uri]
                start, end = _offset(text, edit.range.start), _offset(text, edit.range.end)
                self.versions[uri] += 1
                self.texts[uri] = text[:start] + edit.new_text + text[end:]
                document = types.VersionedTextDocumentIdentifier(uri=uri, version=self.versions[uri])
                change = types.TextDocumentContentChangePartial(edit.range, edit.new_text)
                self.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))


class _no_limit:
    async def __aenter__(self) -> None: ...

    async def __aexit__(self, *what: Any) -> None: ...


def _position(text: str, offset: int) -> types.Position:
    """Lines and UTF-16 units, as the protocol counts unless both sides agree on something else."""
    line = text.count("\n", 0, offset)
    start = text.rfind("\n", 0, offset) + 1
    return types.Position(line, len(text[start:offset].encode("utf-16-le")) // 2)


def _offset(text: str, position: types.Position) -> int:
    lines = text.split("\n")
    before = sum(len(line) + 1 for line in lines[: position.line])
    units = 0
    for count, character in enumerate(lines[position.line] if position.line < len(lines) else ""):
        if units >= position.character:
            return before + count
        units += len(character.encode("utf-16-le")) // 2
    return min(before + (len(lines[position.line]) if position.line < len(lines) else 0), len(text))
