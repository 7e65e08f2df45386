"""What gblint remembers between runs: digests by stat, indexes by content, results of the engine by key.

One SQLite file per version of gblint, read row by row on demand and written in one transaction at the end. Each row
holds a digest of what it says and whom about: one that is damaged, or stands in another's place, is not there. A cache
that is damaged, locked or not writable costs time and nothing else: it is rebuilt or left alone, and `problem` says
why. One that another user can write to is not used at all.
"""

# Paths are strings here: Path objects cost too much for thousands of files.

from __future__ import annotations

import os
import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import TypeVar

import msgspec

import gblint
from gblint.index.model import ModuleInfo, packed

_SCHEMA = """
CREATE TABLE IF NOT EXISTS files (
    path TEXT PRIMARY KEY, mtime INT, ctime INT, size INT, digest TEXT, seal BLOB
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS indexes (key TEXT PRIMARY KEY, blob BLOB);
CREATE TABLE IF NOT EXISTS results (key TEXT PRIMARY KEY, blob BLOB);
"""
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# A cache of gblint; it can be deleted at any time.\n"
_SIZE_LIMIT = 512 * 1024 * 1024
_KEPT_VERSIONS_SECONDS = 7 * 24 * 3600
_BUSY_SECONDS = 2.0
_AT_ONCE = 500  # keys in one question to the database
# A file changed so shortly before it was read could change again without its time stamp showing it.
_RACY_NS = 2_000_000_000

_Item = TypeVar("_Item")
_Stat = tuple[int, int, int]
Fresh = tuple[dict[str, tuple[int, int, int, str]], dict[str, bytes]]  # of files: by path; indexes: by key
_DECODER = msgspec.msgpack.Decoder(ModuleInfo)
_ENCODER = msgspec.msgpack.Encoder()
_SEAL = 16  # bytes
# The second where SQLite's own message quotes a damaged name.
_ERRORS = (sqlite3.Error, UnicodeDecodeError)
_ABANDONED: list[sqlite3.Connection] = []


def batches(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    """Items, as many at a time as are read from a cache at once."""
    rest = iter(items)
    return iter(lambda: list(islice(rest, _AT_ONCE)), [])


def content_digest(data: bytes) -> str:
    """The name of a content: 16 bytes of BLAKE2b, in hexadecimal."""
    return blake2b(data, digest_size=16).hexdigest()


def _seal(*key: object, blob: bytes = b"") -> bytes:
    """What a row is known again by, of its key and all else that it holds."""
    digest = blake2b(repr(key).encode("utf-8", "backslashreplace"), digest_size=_SEAL)
    digest.update(blob)
    return digest.digest()


def _foreign(path: Path) -> str:
    """Why what is at a path may have been put there by somebody else, "" if it cannot. Nobody else's where there are no
    users to tell apart (Windows), or nothing is there."""
    if not hasattr(os, "geteuid"):
        return ""
    try:
        found = path.stat()
    except OSError:
        return ""
    if found.st_uid not in (os.geteuid(), 0):
        return f"{path} belongs to another user"
    if found.st_mode & 0o022:
        return f"other users can write to {path}: chmod go-w makes it yours alone"
    return ""


def source_fingerprint(*folders: Path) -> str:
    """A digest of all files below some folders of gblint itself: what a cached result depends on."""
    digest = blake2b(digest_size=8)
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"):
            digest.update(path.relative_to(folder).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


class IndexCache:
    """The cache in one folder; safe for several gblint processes and for use after a fork.

    folder: created when something is saved, for this user alone, with a CACHEDIR.TAG and a .gitignore.
    problem: why the cache is of no use, "" while it is fine. distrusted: the same, where that is what others could do.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        python = f"{sys.version_info.major}{sys.version_info.minor}"
        fingerprint = source_fingerprint(Path(__file__).parent)
        self.path = self.folder / f"gblint-{gblint.__version__}-py{python}-{fingerprint}.db"
        self.problem = self.distrusted = _foreign(self.folder) or _foreign(self.path)
        self._process = os.getpid()
        self._connection: sqlite3.Connection | None = None
        self._known: dict[str, tuple[_Stat, str]] | None = None
        self._stats: dict[str, _Stat | None] = {}
        self._ahead: dict[tuple[str, str], bytes | None] = {}
        self._new_files: dict[str, tuple[int, int, int, str]] = {}
        self._new_indexes: dict[str, bytes] = {}
        self._new_results: dict[str, bytes] = {}

    def expect(self, indexes: Iterable[tuple[str, str, str]] = (), results: Iterable[str] = ()) -> None:
        """Read what is going to be asked for: thousands of rows at once cost a third of what they cost one by one.

        indexes: what `load` will be called with; results: what `get` will be called with; no more of each than
        `batches` gives. What is asked for and not taken stays in memory.
        """
        self._read_ahead("indexes", [_index_key(*names) for names in indexes])
        self._read_ahead("results", [_printable(key) for key in results])

    def digest(self, path: str) -> str:
        """Digest of a file whose size and time stamps have not changed since it was last hashed, else ""."""
        if self._known is None:
            self._known = self._read_files()
        stat = _stat(path)
        self._stats[path] = stat
        known = self._known.get(_printable(path))
        return known[1] if known is not None and known[0] == stat else ""

    def remember(self, path: str, digest: str) -> None:
        """Record the digest of what was read from a file after the last call of `digest` for it."""
        self._check_process()
        stat = self._stats.get(path)
        if stat is not None and time.time_ns() - max(stat[0], stat[1]) > _RACY_NS:
            self._new_files[_printable(path)] = (*stat, digest)

    def load(self, digest: str, name: str, package: str) -> ModuleInfo | None:
        """The index of a content under a module name, None if there is none; its path is whatever it was."""
        key = _index_key(digest, name, package)
        blob = self._new_indexes.get(key) or self._select("indexes", key)
        if blob is None:
            return None
        try:
            return _DECODER.decode(blob)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None

    def store(self, info: ModuleInfo) -> None:
        """Keep an index for the next run."""
        self._check_process()
        with suppress(UnicodeError):  # a name with a lone surrogate has no place in a file
            self._new_indexes[_index_key(info.digest, info.name, info.package)] = _ENCODER.encode(packed(info))

    def get(self, key: str) -> bytes | None:
        """A result put in an earlier run, or in this one."""
        key = _printable(key)
        return self._new_results.get(key) or self._select("results", key)

    def put(self, key: str, blob: bytes) -> None:
        """Keep a result under a key; it reaches the disk with `save`."""
        self._check_process()
        self._new_results[_printable(key)] = blob

    def drain(self) -> Fresh:
        """What is new of files, taken out: a forked process hands it to its parent."""
        self._check_process()
        fresh = self._new_files, self._new_indexes
        self._new_files, self._new_indexes = {}, {}
        return fresh

    def absorb(self, fresh: Fresh) -> None:
        """Take over what another process has drained."""
        self._new_files.update(fresh[0])
        self._new_indexes.update(fresh[1])

    def save(self) -> None:
        """Write all that is new in one transaction; on failure it is dropped and `problem` is set."""
        self._check_process()
        if self.distrusted or not (self._new_files or self._new_indexes or self._new_results):
            return
        try:
            try:
                self._write()
            except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
                self._give_up(error)
                self._write()
        except (OSError, *_ERRORS) as error:
            self.problem = self.problem or f"{self.folder}: {error}"
        self._new_files, self._new_indexes, self._new_results = {}, {}, {}

    def close(self) -> None:
        """Save and let go of the file."""
        self.save()
        self._disconnect()

    def _check_process(self) -> None:
        """After a fork: leave to the parent what is new and the connection, which must not even be closed."""
        if self._process == os.getpid():
            return
        self._process = os.getpid()
        if self._connection is not None:
            _ABANDONED.append(self._connection)
        self._connection = None
        self._new_files, self._new_indexes, self._new_results = {}, {}, {}

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _read_ahead(self, table: str, keys: list[str]) -> None:
        try:
            connection = self._open()
            if connection is None or not keys:
                return
            marks = ", ".join("?" * len(keys))
            rows = connection.execute(f"SELECT key, blob FROM {table} WHERE key IN ({marks})", keys)
            self._ahead.update(((table, key), _opened(table, key, blob)) for key, blob in rows)
        except _ERRORS as error:
            self._give_up(error)

    def _select(self, table: str, key: str) -> bytes | None:
        if (table, key) in self._ahead:
            return self._ahead.pop((table, key))
        try:
            connection = self._open()
            if connection is None:
                return None
            row = connection.execute(f"SELECT blob FROM {table} WHERE key = ?", (key,)).fetchone()
        except _ERRORS as error:
            self._give_up(error)
            return None
        return _opened(table, key, row[0]) if row else None

    def _read_files(self) -> dict[str, tuple[_Stat, str]]:
        try:
            connection = self._open()
            if connection is None:
                return {}
            rows = connection.execute("SELECT path, mtime, ctime, size, digest, seal FROM files").fetchall()
        except _ERRORS as error:
            self._give_up(error)
            return {}
        return {
            path: ((mtime, ctime, size), digest)
            for path, mtime, ctime, size, digest, seal in rows
            if seal == _seal(path, mtime, ctime, size, digest)
        }

    def _open(self) -> sqlite3.Connection | None:
        """The connection, None where there is no cache yet or it cannot be used."""
        self._check_process()
        if self._connection is None and not self.problem and self.path.is_file():
            self._connection = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
            self._connection.execute("PRAGMA synchronous=OFF")
        return self._connection

    def _give_up(self, error: Exception) -> None:
        """Leave a locked cache alone; remove a damaged one, so that the next save starts anew."""
        self._disconnect()
        if "locked" in str(error):
            self.problem = f"{self.path}: in use by another process"
            return
        if "no such table" in str(error):  # another process has just created the file
            return
        try:
            self._remove(self.path)
        except OSError as failure:
            self.problem = f"{self.path}: {failure}"

    def _prepare_folder(self) -> None:
        if self.path.is_file() and self.path.stat().st_size < _SIZE_LIMIT:
            return
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self.distrusted = _foreign(self.folder)  # somebody may have been quicker
        if self.distrusted:
            raise PermissionError(self.distrusted)
        (self.folder / "CACHEDIR.TAG").write_text(_TAG)
        (self.folder / ".gitignore").write_text("*\n")
        self._drop_old()
        self.path.touch(mode=0o600)

    def _drop_old(self) -> None:
        """Remove caches of other versions not touched for a while, and this one when it grew too big."""
        oldest = time.time() - _KEPT_VERSIONS_SECONDS
        for path in self.folder.glob("gblint-*.db"):
            if path == self.path or path.stat().st_mtime < oldest:
                self._remove(path)

    @staticmethod
    def _remove(path: Path) -> None:
        """Delete a file of the cache, and the journal that a killed writer has left: it is of no other file's past."""
        path.unlink(missing_ok=True)
        path.with_name(f"{path.name}-journal").unlink(missing_ok=True)

    def _write(self) -> None:
        self._prepare_folder()
        connection = self._open()
        if connection is None:
            return
        connection.executescript(_SCHEMA)
        connection.execute("BEGIN IMMEDIATE")
        try:
            files = [(path, *row, _seal(path, *row)) for path, row in self._new_files.items()]
            connection.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?)", files)
            for table, new in (("indexes", self._new_indexes), ("results", self._new_results)):
                rows = ((key, _seal(table, key, blob=blob) + blob) for key, blob in new.items())
                connection.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", rows)
            connection.execute("COMMIT")
        except _ERRORS:
            connection.rollback()
            raise


class MemoryCache(IndexCache):
    """What lasts as long as the process: the indexes that forked processes have made, for those forked after them."""

    def __init__(self) -> None:
        super().__init__(Path())
        self.problem = self.distrusted = ""  # of the current folder, which is not asked anything

    def put(self, key: str, blob: bytes) -> None:
        pass

    def save(self) -> None:
        pass

    def _open(self) -> None:
        self._check_process()


def _opened(table: str, key: str, data: object) -> bytes | None:
    """A blob without its seal, None if it is not what was put under the key."""
    if not isinstance(data, bytes):
        return None
    seal, blob = data[:_SEAL], data[_SEAL:]
    return blob if seal == _seal(table, key, blob=blob) else None


def _index_key(digest: str, name: str, package: str) -> str:
    return _printable(f"{digest} {name} {package}")


def _printable(text: str) -> str:
    """A text SQLite can hold: a file name that is not UTF-8 has lone surrogates."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _stat(path: str) -> _Stat | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size
