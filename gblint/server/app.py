"""The protocol: what a client asks for and is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

import gblint
from gblint.checking import Options, Settled
from gblint.discovery import absolute
from gblint.findings.finding import Finding
from gblint.server import showing
from gblint.server.actions import FIX_ALL, Actions
from gblint.server.checker import Checker, Report
from gblint.server.texts import Text

PATIENCE_SECONDS = 10.0  # how long a request waits for the check it needs
_WATCHED = ("**/*.py", "**/pyproject.toml", "**/gblint.toml", "**/.gitignore")


class Server(LanguageServer):
    """A language server with a checker beside it."""

    def __init__(self) -> None:
        super().__init__("gblint", gblint.__version__)
        self.checker = Checker(self._reported, self._failed)
        self._uris: dict[Path, str] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._said = ""

    # -- what is open ----------------------------------------------------------------------------------------------

    def opened(self, uri: str) -> None:
        """Start to check a document, if it is Python source in a file."""
        document = self.workspace.get_text_document(uri)
        path = path_of(uri)
        if path is None or not (document.language_id == "python" or path.suffix == ".py"):
            return
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self.checker.start()
        self._uris[path] = uri
        self.checker.edit(path, text_in(document), opened=True)

    def edited(self, uri: str) -> None:
        """Check a document again."""
        path = path_of(uri)
        if path in self._uris:
            self.checker.edit(path, text_in(self.workspace.get_text_document(uri)))

    def closed(self, uri: str) -> None:
        """Check a document no more; what was said of it is taken back."""
        path = path_of(uri)
        if path is not None and path in self._uris:
            del self._uris[path]
            self.checker.close(path)
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def uri_of(self, path: Path) -> str:
        """The name of a file as the client has it."""
        return self._uris.get(path) or uris.from_fs_path(str(path)) or path.as_uri()

    # -- what the checker says, in its own thread --------------------------------------------------------------------

    def _reported(self, report: Report) -> None:
        if report.outcome is not None:
            self._said = ""
        self._in_loop(lambda: self._show(report))

    def _failed(self, message: str) -> None:
        if message != self._said:  # once, not at every key
            self._said = message
            shown = types.ShowMessageParams(types.MessageType.Error, f"gblint: {message}")
            self._in_loop(lambda: self.window_show_message(shown))

    def _in_loop(self, action: Callable[[], None]) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(action)

    def _show(self, report: Report) -> None:
        if self.checker.text(report.path) is not report.text:
            return
        found = showing.diagnostics(report.outcome, report.path, report.text) if report.outcome is not None else []
        params = types.PublishDiagnosticsParams(self.uri_of(report.path), found, report.text.version)
        self.text_document_publish_diagnostics(params)

    # -- what a client asks for ----------------------------------------------------------------------------------------

    def hover(self, uri: str, position: types.Position) -> types.Hover | None:
        """What is known of the findings at a place. It comes from the newest report: nothing is waited for."""
        report = self._report(uri)
        found = [f for f in _own(report) if report and _holds(showing.range_of(f, report.text), position)]
        if report is None or not found:
            return None
        text = "\n\n---\n\n".join(map(showing.hover, found))
        content = types.MarkupContent(types.MarkupKind.Markdown, text)
        return types.Hover(content, showing.range_of(found[0], report.text))

    async def actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        """Repairs and comments for the findings in a range, once they are worked out for the text as it is now."""
        path = path_of(params.text_document.uri)
        if path not in self._uris:
            return []
        only = params.context.only
        fixes, all_of_them = (_asked(only, kind) for kind in (types.CodeActionKind.QuickFix.value, FIX_ALL))
        if not fixes and not all_of_them:
            return []
        report = await asyncio.to_thread(self.checker.finished, path, PATIENCE_SECONDS)
        if report is None:
            return []
        settled = Settled(Options())
        on_disk = lambda source: Text(source, 0, report.text.codec)  # noqa: E731
        offers = Actions(report, settled.of_file, self.checker.text, on_disk, self.uri_of)
        there = [f for f in _own(report) if _overlap(showing.range_of(f, report.text), params.range)]
        shown = params.context.diagnostics

        def resolved(finding: Finding) -> list[types.Diagnostic]:
            where = showing.range_of(finding, report.text)
            return [d for d in shown if d.code == finding.code and d.range == where]

        found = list(offers.quick_fixes(there, resolved)) if fixes else []
        everything = offers.fix_all() if all_of_them else None
        return [*found, everything] if everything is not None else found

    async def lenses(self, uri: str) -> list[types.CodeLens]:
        """A line above each root in a file."""
        path = path_of(uri)
        if path not in self._uris:
            return []
        text = self.checker.text(path)
        roots = await asyncio.to_thread(self.checker.roots, path, PATIENCE_SECONDS)
        if text is None:
            return []
        return [types.CodeLens(text.line(r.row), types.Command(r.title, "")) for r in roots]

    def _report(self, uri: str) -> Report | None:
        path = path_of(uri)
        return self.checker.report(path) if path is not None else None


def path_of(uri: str) -> Path | None:
    """The file that a document is in, None if it is in none."""
    if not uri.startswith("file:"):
        return None
    found = uris.to_fs_path(uri)
    return absolute(found) if found else None


def text_in(document: TextDocument) -> Text:
    """A document's text as it is now."""
    return Text(document.source, document.version or 0, document.position_codec)


def _own(report: Report | None) -> list[Finding]:
    return [f for f in report.findings if f.filename == str(report.path)] if report is not None else []


def _asked(only: Iterable[str] | None, kind: str) -> bool:
    """Whether a client that wants actions of some kinds only wants one."""
    return only is None or any(kind == wanted or kind.startswith(f"{wanted}.") for wanted in map(_text, only))


def _text(kind: object) -> str:
    return kind.value if isinstance(kind, types.CodeActionKind) else str(kind)


def _holds(where: types.Range, position: types.Position) -> bool:
    return where.start <= position <= where.end


def _overlap(a: types.Range, b: types.Range) -> bool:
    return a.start <= b.end and b.start <= a.end


def make_server() -> Server:
    """A server with everything it answers to."""
    server = Server()

    @server.feature(types.INITIALIZED)
    def initialized(params: types.InitializedParams) -> None:
        workspace = server.client_capabilities.workspace
        watching = workspace.did_change_watched_files if workspace else None
        if watching and watching.dynamic_registration:
            watchers = [types.FileSystemWatcher(pattern) for pattern in _WATCHED]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            registration = types.Registration("gblint-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            server.client_register_capability(types.RegistrationParams([registration]))

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        server.opened(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        server.edited(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        server.closed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(params: types.DidSaveTextDocumentParams) -> None:
        server.checker.look_again()

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def did_change_files(params: types.DidChangeWatchedFilesParams) -> None:
        server.checker.look_again()

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        return server.hover(params.text_document.uri, params.position)

    kinds = [types.CodeActionKind.QuickFix, FIX_ALL]

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=kinds))
    async def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        return await server.actions(params)

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def code_lens(params: types.CodeLensParams) -> list[types.CodeLens]:
        return await server.lenses(params.text_document.uri)

    @server.feature(types.SHUTDOWN)
    def shutdown(*_: object) -> None:
        server.checker.stop()

    return server


def serve() -> None:
    """Serve one client on standard input and output, until it says that it is done."""
    server = make_server()
    try:
        server.start_io()
    finally:
        server.checker.stop()
