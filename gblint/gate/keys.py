"""What a finding is called where rows do not count: the same before and after an edit elsewhere in its file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from typing import NamedTuple

from gblint.findings.choice import beyond as surplus
from gblint.findings.finding import Finding


class Key(NamedTuple):
    """file: relative to some folder, with slashes; function: its qualified name inside the module; code and name: of
    the rule."""

    file: str
    function: str
    code: str
    name: str


def key_of(finding: Finding, folder: Path) -> Key:
    """The key of a finding, its file being told relative to a folder."""
    return Key(relative(finding.filename, folder), local_name(finding), finding.code, finding.name)


def relative(filename: str, folder: Path) -> str:
    """A file as seen from a folder, with slashes; as it is where no relative path leads there."""
    try:
        return PurePath(os.path.relpath(filename, folder)).as_posix()
    except ValueError:  # another drive
        return PurePath(filename).as_posix()


def local_name(finding: Finding) -> str:
    """The function of a finding without its module, whose name depends on where imports start from."""
    parts = finding.function.split(".")
    path = PurePath(finding.filename).with_suffix("").parts
    if path[-1] == "__init__":
        path = path[:-1]
    for cut in range(min(len(parts), len(path)), 0, -1):
        if tuple(parts[:cut]) == path[-cut:]:
            return ".".join(parts[cut:])
    return finding.function


def beyond(findings: Iterable[Finding], allowed: Mapping[Key, int], folder: Path) -> list[Finding]:
    """The findings that are more than is allowed of their key: the last ones, by row."""
    in_order = sorted(findings, key=lambda f: (f.filename, f.row, f.column, f.code))
    return surplus(in_order, allowed, lambda finding: key_of(finding, folder))
