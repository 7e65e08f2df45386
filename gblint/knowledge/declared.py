"""What a project or a plugin says of functions that gblint cannot judge by itself: `[tool.gblint.functions]`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from gblint.errors import suggest

RETURNS = (
    "tensor", "bool tensor", "int tensor", "float tensor", "bool", "int", "float", "str", "none", "logger",
)  # fmt: skip
NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*\.(\*|[^\W\d]\w*)")


class Declared(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is said of one function.

    breaks: why a call breaks the graph, "" where it does not. logs: a call writes to a log. disabled: it is kept out
    of graphs as by `torch.compiler.disable`. returns: what a call gives, one of RETURNS, "" where nothing is said.
    """

    breaks: str = ""
    logs: bool = False
    disabled: bool = False
    returns: str = ""


class Declarations:
    """Looks up what is said of a name. The exact name goes before patterns ("shop.log.*"), a longer one before a
    shorter one."""

    def __init__(self, functions: Iterable[tuple[str, Declared]]) -> None:
        found = dict(functions)
        self._exact = {name: what for name, what in found.items() if not name.endswith(".*")}
        below = [(name[:-1], what) for name, what in found.items() if name.endswith(".*")]
        self._below = sorted(below, key=lambda item: -len(item[0]))

    def __bool__(self) -> bool:
        return bool(self._exact or self._below)

    def find(self, name: str) -> Declared | None:
        """What is said of a dotted name, None for nothing."""
        found = self._exact.get(name)
        if found is None and self._below:
            found = next((what for start, what in self._below if name.startswith(start)), None)
        return found


def parse_functions(value: object) -> tuple[tuple[str, Declared], ...]:
    """The table, name → what is said of it; raises ValueError that says which entry is wrong."""
    if not isinstance(value, Mapping):
        raise ValueError('expected a table such as {"shop.ops.fused" = {returns = "tensor"}}')
    return tuple((name, _declared(name, item)) for name, item in value.items())


def _declared(name: object, item: object) -> Declared:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValueError(f"`{name}` is not a dotted name such as shop.ops.fused or shop.ops.*")
    if not isinstance(item, Mapping):
        raise ValueError(f'`{name}`: expected a table such as {{returns = "tensor"}}')
    fields: dict[str, Any] = {}
    for key, given in item.items():
        if key not in _KINDS:
            raise ValueError(f"`{name}`: unknown key `{key}`; {suggest(str(key), _KINDS)}")
        if not isinstance(given, _KINDS[key]) or (key == "returns" and given not in RETURNS):
            raise ValueError(f"`{name}`: `{key}`: expected {_expected(key)}")
        fields[key] = given
    if not any(fields.values()):
        raise ValueError(f"`{name}` says nothing: expected one of {', '.join(_KINDS)}")
    told = [key for key in ("breaks", "logs", "disabled") if fields.get(key)]
    if len(told) > 1:
        raise ValueError(f"`{name}`: {' and '.join(f'`{key}`' for key in told)} exclude each other")
    return Declared(**fields)


_KINDS: dict[str, type] = {"breaks": str, "logs": bool, "disabled": bool, "returns": str}


def _expected(key: str) -> str:
    if key == "returns":
        return f"one of {', '.join(RETURNS)}"
    return "true or false" if _KINDS[key] is bool else "a text that says why"
