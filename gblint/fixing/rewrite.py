"""Putting new contents in the place of files: whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress

from gblint.errors import GblintError
from gblint.notebook import is_notebook, notebook_with
from gblint.source import NOTEBOOK_LIMIT, SourceError, raw_bytes, read_bytes


def replace_file(path: str, old: bytes, new: bytes) -> None:
    """Replace a file's content in one step, keeping its mode and owner; a symbolic link stays, its target is replaced.

    old: what the content has to be for this to happen; of a notebook both are its code (see `gblint.notebook`). Raises
    GblintError, with the file as it was, when it is not, or when the file cannot be replaced.
    """
    target = os.path.realpath(path)
    try:
        if read_bytes(target) != old:
            raise GblintError(f"{path}: changed while gblint was at work; left as it is", "run gblint again")
        if is_notebook(target):
            new = notebook_with(raw_bytes(target, NOTEBOOK_LIMIT), new)
        if not os.access(target, os.W_OK):
            raise GblintError(f"{path}: is read-only; left as it is")
        _swap(target, new)
    except SourceError as error:
        raise GblintError(f"{path}: {error.message}; left as it is") from error
    except OSError as error:
        raise GblintError(f"{path}: cannot be written: {error.strerror or error}; left as it is") from error


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
        with suppress(OSError):
            os.unlink(temporary)
    _keep_entry(os.path.dirname(path))


def _swap(target: str, new: bytes) -> None:
    folder, name = os.path.split(target)
    handle, temporary = tempfile.mkstemp(prefix=f".{name[:100]}.", suffix=".gblint", dir=folder)
    try:
        with open(handle, "wb") as file:
            file.write(new)
            file.flush()
            os.fsync(file.fileno())
        _like(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    _keep_entry(folder)


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
