"""What git knows of earlier source, read without touching the working tree, its index or any hook."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from gblint.errors import GblintError

_RECORD = re.compile(rb":(\d+) (\d+) ([0-9a-f]+) [0-9a-f]+ ([A-Z])\d*")
_FILE_MODES = ("100644", "100755")  # not links, not submodules
# A hook that runs gblint has these set for its own repository, which need not be the one that is looked at.
_OF_HOOKS = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")

# Nothing is to be run, and what git learns about times of files is not to be written into the index.
_STILL = ("-c", "core.fsmonitor=false", "-c", "diff.autoRefreshIndex=false")


class Past(NamedTuple):
    """How Python files were at a revision, as far as they differ now.

    contents: of files that have changed or are gone; absent: files that were not there yet; moved: the old path of a
    file → its path now.
    """

    contents: dict[Path, bytes]
    absent: set[Path]
    moved: dict[Path, Path]


def repository(folder: Path) -> Path | None:
    """The working tree that a folder is in, None outside of git."""
    return next((place for place in (folder, *folder.parents) if (place / ".git").exists()), None)


def past(top: Path, revision: str) -> Past:
    """What differs in a working tree, uncommitted and untracked files included, from the state in which its branch left
    a revision: their merge base, else the revision itself. Raises GblintError when git cannot tell."""
    base = _base(top, revision)
    found = Past({}, set(), {})
    blobs: dict[Path, str] = {}
    words = iter(_git(top, "diff", "--raw", "-z", "-M", "--no-abbrev", "--no-ext-diff", "--no-relative", base, "--",
                      "*.py").split(b"\0")[:-1])  # fmt: skip
    for record in words:
        match = _RECORD.fullmatch(record)
        if not match:
            raise GblintError(f"git diff in {top} says what gblint cannot read: {record!r}")
        old_mode, _, blob, status = (group.decode() for group in match.groups())
        path = _path(top, next(words))
        now = _path(top, next(words)) if status in "RC" else path
        if old_mode in _FILE_MODES and status != "C":
            blobs[path] = blob
        if status in "ARC":
            found.absent.add(now)
        if status == "R":
            found.moved[path] = now
    untracked = _git(top, "ls-files", "-z", "--others", "--exclude-standard", "--", "*.py")
    found.absent.update(_path(top, name) for name in untracked.split(b"\0")[:-1])
    found.contents.update(zip(blobs, _contents(top, blobs.values()), strict=True))
    found.absent.difference_update(found.contents)  # moved away, and something else put in its place
    return found


def _base(top: Path, revision: str) -> str:
    known = "" if revision.startswith("-") else _ask(top, "rev-parse", "--verify", "--quiet", revision + "^{commit}")
    if not known:
        raise GblintError(
            f"git knows no revision `{revision}` in {top}",
            "a CI job that fetches only the last commit has to fetch that one too, such as with fetch-depth: 0",
        )
    return _ask(top, "merge-base", "HEAD", known) or known


def _contents(top: Path, blobs: Iterable[str]) -> list[bytes]:
    names = list(blobs)
    if not names:
        return []
    output = _git(top, "cat-file", "--batch", given="".join(f"{name}\n" for name in names).encode())
    contents: list[bytes] = []
    at = 0
    for name in names:
        line_end = output.index(b"\n", at)
        head = output[at:line_end].split()
        if len(head) != 3:
            raise GblintError(
                f"git lacks the content {name} in {top}", "a shallow or partial clone has to fetch it first"
            )
        start = line_end + 1
        at = start + int(head[2]) + 1
        contents.append(output[start : at - 1])
    return contents


def _path(top: Path, name: bytes) -> Path:
    return top / os.fsdecode(name)


def _ask(top: Path, *words: str) -> str:
    """The answer of git as a line, "" where it has none."""
    done = _run(top, words, b"")
    return done.stdout.decode().strip() if done.returncode == 0 else ""


def _git(top: Path, *words: str, given: bytes = b"") -> bytes:
    done = _run(top, words, given)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise GblintError(f"git {words[0]} failed in {top}: {said[0] if said else done.returncode}")
    return done.stdout


def _run(top: Path, words: tuple[str, ...], given: bytes) -> subprocess.CompletedProcess[bytes]:
    environment = {name: value for name, value in os.environ.items() if name not in _OF_HOOKS} | {"LC_ALL": "C"}
    command = ["git", "-C", str(top), *_STILL, *words]
    try:
        return subprocess.run(command, input=given, capture_output=True, env=environment, check=False)
    except OSError as error:
        raise GblintError(f"git cannot be run: {error.strerror or error}", "--new-since needs it") from error
