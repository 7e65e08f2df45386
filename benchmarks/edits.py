"""How long the language server takes to check a large file again after an edit, as an editor would see it.

    python benchmarks/edits.py [FILE ...] [--edits N] [--tree]

FILE is a modeling file of a library; by default some of transformers with 3,000 lines or more. With `--tree` the whole
library is the project that is open (the first look at it takes minutes); without, the folder of the file. Everything is
copied first. Every edit goes through a real client and the real process; the time is from sending the edit until its
diagnostics arrive, with the pause that the server waits for further keys taken off. CPU seconds are those of the
server, for machines that others use too.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import os
import re
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from gblint.server.checker import DEBOUNCE_SECONDS

FILES = (
    "models/perceiver/modeling_perceiver.py",
    "models/oneformer/modeling_oneformer.py",
    "models/speecht5/modeling_speecht5.py",
    "models/edgetam_video/modeling_edgetam_video.py",
)
FIRST_LOOK_SECONDS = 1800
REST_SECONDS = 0.4


class Client(LanguageClient):
    """Sends edits and waits for what is said of them."""

    def __init__(self) -> None:
        super().__init__("gblint-benchmark", "1")
        self.version = 0
        self.arrived: dict[int, int] = {}
        self._news = asyncio.Event()
        self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda params: self._on_diagnostics(params))

    def _on_diagnostics(self, params: types.PublishDiagnosticsParams) -> None:
        if params.version is not None:
            self.arrived[params.version] = len(params.diagnostics)
            self._news.set()

    @property
    def cpu(self) -> float:
        """CPU seconds that the server has used."""
        assert self._server is not None
        fields = Path(f"/proc/{self._server.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    async def start(self, folder: Path) -> None:
        await self.start_io(sys.executable, "-m", "gblint", "server", cwd=str(folder))
        await self.initialize_async(types.InitializeParams(types.ClientCapabilities(), root_uri=folder.as_uri()))
        self.initialized(types.InitializedParams())

    def open(self, uri: str, text: str) -> None:
        self.version += 1
        document = types.TextDocumentItem(uri, "python", self.version, text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(document))

    def insert(self, uri: str, row: int, text: str) -> None:
        self.version += 1
        start = types.Position(row, 0)
        change = types.TextDocumentContentChangePartial(types.Range(start, start), text)
        document = types.VersionedTextDocumentIdentifier(uri=uri, version=self.version)
        self.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    async def settled(self) -> None:
        """Wait until the server rests: the whole project is known, and repairs are worked out."""
        quiet = 0
        while quiet < 3:
            before = self.cpu
            await asyncio.sleep(REST_SECONDS)
            quiet = quiet + 1 if self.cpu - before < 0.03 else 0

    async def answered(self) -> int:
        """How many diagnostics the text as it is now has."""
        while self.version not in self.arrived:
            self._news.clear()
            await self._news.wait()
        return self.arrived[self.version]


async def measure(folder: Path, path: Path, edits: int) -> tuple[float, list[float], list[float], int]:
    """Seconds of the first look, seconds and CPU seconds of each edit, and the diagnostics at the end."""
    text = path.read_text("utf-8")
    bodies = [n for n, line in enumerate(text.split("\n")) if re.match(r"        \w+ = .*[\w)]$", line)]
    client = Client()
    await client.start(folder)
    start = time.perf_counter()
    uri = path.as_uri()
    client.open(uri, text)
    await client.answered()
    await asyncio.wait_for(client.settled(), FIRST_LOOK_SECONDS)
    first = time.perf_counter() - start - 3 * REST_SECONDS
    walls, cpus, found = [], [], 0
    for number in range(edits):
        row = bodies[number * len(bodies) // edits] + number  # every edit before has added a line further up
        cpu, start = client.cpu, time.perf_counter()
        client.insert(uri, row, f"        edit_{number} = {number}\n")
        found = await client.answered()
        walls.append(time.perf_counter() - start - DEBOUNCE_SECONDS)
        cpus.append(client.cpu - cpu)
        await client.settled()
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return first, walls, cpus, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE", help="modeling files, relative to transformers or absolute")
    parser.add_argument("--edits", type=int, default=10)
    parser.add_argument("--tree", action="store_true", help="open the whole library, not the folder of the file")
    parser.add_argument("--library", type=Path, help="the folder of transformers  [default: the installed one]")
    arguments = parser.parse_args()
    library = arguments.library or installed()
    if library is None:
        parser.error("transformers is not installed: name its folder with --library")
    print(f"{'':44}{'lines':>7}{'first s':>9}{'median s':>10}{'most s':>8}{'CPU s':>7}{'shown':>7}")
    for name in arguments.files or FILES:
        source = library / name
        with tempfile.TemporaryDirectory(prefix="gblint-edits-") as scratch:
            top = library if arguments.tree else source.parent
            folder = Path(scratch).resolve() / top.name
            shutil.copytree(top, folder, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
            (folder / "pyproject.toml").write_text(f'[tool.gblint]\npython = "{library.parent}"\n', "utf-8")
            path = folder / source.relative_to(top)
            first, walls, cpus, found = asyncio.run(measure(folder, path, arguments.edits))
        lines = source.read_text("utf-8").count("\n")
        print(
            f"{source.name:44}{lines:>7,}{first:>9.1f}{statistics.median(walls):>10.3f}{max(walls):>8.3f}"
            f"{statistics.median(cpus):>7.2f}{found:>7}"
        )


def installed() -> Path | None:
    spec = importlib.util.find_spec("transformers")
    places = list(spec.submodule_search_locations or []) if spec else []
    return Path(places[0]) if places else None


if __name__ == "__main__":
    main()
