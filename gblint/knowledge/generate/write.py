"""Writes and reads back the data file: JSON with one fact a line, so that two releases can be compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from gblint.knowledge.model import Changes, Entry

_LINES = ("tensor_attributes", "dtypes", "verdicts", "context_managers", "gb_types", "aliases", "entries")


def encode(data: dict[str, Any]) -> str:
    """The text of the file; maps are sorted and spread over lines, lists stay on one."""
    parts = []
    for key, value in data.items():
        if key in _LINES:
            rows = ",\n".join(f"  {json.dumps(name)}: {_compact(value[name])}" for name in sorted(value))
            parts.append(f" {json.dumps(key)}: {{\n{rows}\n }}")
        else:
            parts.append(f" {json.dumps(key)}: {_compact(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def encode_changes(changes: Changes) -> str:
    """The text of a file of changes, a verdict a line."""
    return encode(msgspec.to_builtins(changes))


def _compact(value: Any) -> str:
    plain = msgspec.to_builtins(value)
    if isinstance(value, Entry):
        for param in plain.get("parameters", ()):
            _trim(param)
    return msgspec.json.encode(plain).decode()


_DEFAULTS: tuple[Any, ...] = (None, [], None, False, None)  # of the fields of `Param`


def _trim(param: list[Any]) -> None:
    """Drops what a reader fills in again: fields at the end that have their default."""
    while len(param) > 1 and param[-1] == _DEFAULTS[len(param) - 1]:
        param.pop()


class Earlier(msgspec.Struct):
    """What is kept of an earlier run: breaks."""

    entries: dict[str, Entry]
    context_managers: dict[str, str]
    gb_types: dict[str, str]


def read(path: Path) -> Earlier:
    """The data of an earlier run. Raises FileNotFoundError when there is none."""
    return msgspec.json.decode(path.read_bytes(), type=Earlier)
