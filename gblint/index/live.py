"""A project that one process asks again and again: what has changed in between is read anew, the rest stays."""

# Paths are strings here: Path objects cost too much for thousands of files.

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from gblint.index.build import build_index
from gblint.index.cache import IndexCache
from gblint.index.layout import Layout
from gblint.index.model import ModuleInfo
from gblint.index.project import Dependencies, Project
from gblint.source import SourceError, decode, read_bytes

# What was written shortly before it was read could be written again without its time stamp showing it.
_RACY_NS = 2_000_000_000

Stamp = tuple[int, int, int]


def stamp(path: str) -> Stamp | None:
    """What tells that a file or folder has not changed since; None if it is not there, or changes right now."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    if time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) < _RACY_NS:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size


class Change(NamedTuple):
    """What `LiveProject.refresh` has found.

    before: files that have another content now, with their index before, None if only their content had been asked for.
    digests: the digests of the contents before. moved: modules may be found in other places.
    """

    before: dict[str, ModuleInfo | None]
    digests: dict[str, str]
    moved: bool

    def touches(self, path: str, used: Dependencies) -> bool:
        """Whether an answer about something in a file, which rested on `used` besides, may be another one now."""
        return self.moved or path in self.digests or not used.files.isdisjoint(self.digests)


class LiveProject(Project):
    """See `Project`. `refresh` takes the place of making a new one, as long as its files are the same."""

    def __init__(
        self, files: list[Path], search_paths: list[Path], cache: IndexCache | None, overlay: Mapping[Path, bytes]
    ) -> None:
        self._stamps: dict[str, Stamp | None] = {}
        self.former: dict[str, ModuleInfo] = {}  # by digest: indexes of contents that files had before
        super().__init__(files, search_paths, cache)
        self._overlay = self._differing(overlay)
        self._folders = self._listings()

    def index(self, path: str) -> ModuleInfo:
        """The index of a file by the path that `files` has, without recording that it was asked for."""
        info = self._infos.get(path)
        if info is None:
            info = self._infos[path] = self._load(path)
        return info

    def overlaid(self, paths: Iterable[str]) -> bool:
        """Whether one of some files has another content in an editor than on disk."""
        return not self._overlay.keys().isdisjoint(paths)

    def refresh(self, overlay: Mapping[Path, bytes]) -> Change:
        """Look at the disk again, and take over what stands in for files on it now."""
        old, self._overlay = self._overlay, self._differing(overlay)
        suspects = {path for path in {*old, *self._overlay} if old.get(path) != self._overlay.get(path)}
        written = {path for path, known in self._stamps.items() if known is None or stamp(path) != known}
        before: dict[str, ModuleInfo | None] = {}
        digests: dict[str, str] = {}
        for path in suspects | written:
            info = self._infos.pop(path, None)
            known = info.digest if info is not None else self._digests.pop(path, None)
            self._digests.pop(path, None)
            self._stamps.pop(path, None)
            if known is None:
                continue
            if self.digest(path) == known:
                if info is not None:
                    self._infos[path] = info
                continue
            before[path], digests[path] = info, known
            self._lines.pop(path, None)
            self._words.pop(path, None)
            if info is not None:
                self.former = {known: info} if len(self.former) > 64 else {**self.former, known: info}
        change = Change(before, digests, self._moved())
        if change.moved or digests:
            self._answers.clear()
        if change.moved or not written.isdisjoint(digests):
            self._exports.clear()  # these are read from disk, whatever an editor has
        if change.moved:
            self._resolved.clear()
        for path in digests:
            self._resolved = {
                key: known for key, known in self._resolved.items() if key[0] != path and path not in known[1].files
            }
        return change

    def _moved(self) -> bool:
        """Whether other modules may be found in the folders that they are looked for in; if so, they are looked at
        anew."""
        changed = [folder for folder, (known, _) in self._folders.items() if known is None or stamp(folder) != known]
        now = {folder: _listed(folder) for folder in changed}
        moved = any(now[folder][1] != self._folders[folder][1] for folder in changed)
        self._folders.update(now)
        if moved:
            self.layout = Layout(self.layout.files, self.layout.search_paths)
            self._folders = self._listings()
            self.__dict__.pop("signature", None)
        return moved

    def _listings(self) -> dict[str, tuple[Stamp | None, frozenset[str]]]:
        return {folder: _listed(folder) for folder in self.layout.folders()}

    def _differing(self, overlay: Mapping[Path, bytes]) -> dict[str, bytes]:
        """The contents that differ from what is on disk."""
        given = {os.path.abspath(place): data for place, data in overlay.items()}
        return {path: data for path, data in given.items() if not _same_on_disk(path, data)}

    def _stat_digest(self, path: str) -> str:
        if path not in self._overlay:
            self._stamps[path] = stamp(path)
        return super()._stat_digest(path)

    def _build(self, path: str, data: bytes, digest: str, name: str, package: str) -> ModuleInfo:
        if path in self._overlay:  # every key that is pressed makes another content: none is worth keeping
            return build_index(decode(data).text, path, name, package, digest)
        return super()._build(path, data, digest, name, package)


def _listed(folder: str) -> tuple[Stamp | None, frozenset[str]]:
    """The stamp of a folder, and what in it can be a module or hold some."""
    known = stamp(folder)
    try:
        names = os.listdir(folder)
    except OSError:
        return known, frozenset()
    return known, frozenset(name for name in names if name.endswith(".py") or "." not in name)


def _same_on_disk(path: str, data: bytes) -> bool:
    try:
        return read_bytes(path) == data
    except SourceError:
        return False
