"""Putting new contents in the place of files: whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress

from gblint.errors import GblintError
from gblint.notebook import is_notebook, notebook_with, python_of
from gblint.source import NOTEBOOK_LIMIT, SIZE_LIMIT, SourceError, raw_bytes

_SUFFIX = ".gblint"  # of files that are not whole yet


def replace_file(path: str, old: bytes, new: bytes) -> None:
    """Replace a file's content in one step, keeping its mode and owner; a symbolic link stays, its target is replaced.

    old: what the content has to be for this to happen; of a notebook both are its code (see `gblint.notebook`). Raises
    GblintError, with the file as it was, when it is not, or when the file cannot be replaced.
    """
    target = os.path.realpath(path)
    try:
        seen = _raw(target)
        if (python_of(seen) if is_notebook(target) else seen) != old:
            raise GblintError(*_changed(path))
        if is_notebook(target):
            new = notebook_with(seen, new)
        if not os.access(target, os.W_OK):
            raise GblintError(f"{path}: is read-only; left as it is")
        if not _swap(target, seen, new):
            raise GblintError(*_changed(path))
    except SourceError as error:
        raise GblintError(f"{path}: {error.message}; left as it is") from error
    except OSError as error:
        raise GblintError(f"{path}: cannot be written: {error.strerror or error}; left as it is") from error


def _raw(target: str) -> bytes:
    return raw_bytes(target, NOTEBOOK_LIMIT if is_notebook(target) else SIZE_LIMIT)


def _changed(path: str) -> tuple[str, str]:
    return f"{path}: changed while gblint was at work; left as it is", "run gblint again"


def create_file(path: str, data: bytes) -> None:
    """Write a file that is not there yet, whole or not at all; raises GblintError, also when it has come meanwhile."""
    temporary = f"{path}.{os.getpid()}.gblint"
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if os.path.lexists(path):
            raise GblintError(f"{path}: was written while gblint was at work; left as it is", "run gblint again")
        os.replace(temporary, path)
    except OSError as error:
        raise GblintError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        _unlink(temporary)
    _keep_entry(os.path.dirname(path))


def _swap(target: str, seen: bytes, new: bytes) -> bool:
    """Put a new content in the place of `seen`; False, with nothing done, if the file has come to hold another."""
    folder, name = os.path.split(target)
    prefix = f".{name[:100]}."
    _clear(folder, prefix)
    handle, temporary = tempfile.mkstemp(prefix=prefix, suffix=_SUFFIX, dir=folder)
    claim = -1
    try:
        with open(handle, "wb") as file:
            if _claim(handle):
                claim = os.dup(handle)  # holds until the file has its name
            file.write(new)
            file.flush()
            os.fsync(handle)
        _like(target, temporary)
        same = _raw(target) == seen
        if same:
            os.replace(temporary, target)
    except BaseException:
        _unlink(temporary)
        raise
    finally:
        if claim >= 0:
            os.close(claim)
    if not same:
        _unlink(temporary)
        return False
    _keep_entry(folder)
    return True


def _clear(folder: str, prefix: str) -> None:
    """Remove what a gblint that was killed while it wrote has left: the files that nobody holds a claim on."""
    for name in os.listdir(folder):
        if not (name.startswith(prefix) and name.endswith(_SUFFIX)):
            continue
        with suppress(OSError):
            handle = os.open(os.path.join(folder, name), os.O_RDWR)
            try:
                if _claim(handle):
                    os.unlink(os.path.join(folder, name))
            finally:
                os.close(handle)


def _claim(handle: int) -> bool:
    """Hold an open file until it is closed, or this process ends; False if another process does, or there is no such
    thing here."""
    try:
        import fcntl
    except ImportError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _unlink(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def _like(target: str, temporary: str) -> None:
    """Give the new file the mode and owner of the old one; raises OSError if that is not allowed."""
    known, own = os.stat(target), os.stat(temporary)
    if hasattr(os, "chown") and (known.st_uid, known.st_gid) != (own.st_uid, own.st_gid):
        os.chown(temporary, known.st_uid, known.st_gid)
    shutil.copymode(target, temporary)


def _keep_entry(folder: str) -> None:
    """Make the new directory entry last through a crash, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
