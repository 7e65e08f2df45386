"""What an import statement binds."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple


class Imported(NamedTuple):
    """A name an import binds ("*" for all), the absolute module, and the attribute taken from it ("" for none)."""

    name: str
    target: str
    attr: str

    @property
    def dotted(self) -> str:
        return f"{self.target}.{self.attr}" if self.attr else self.target


def imported(node: ast.Import | ast.ImportFrom, package: str) -> Iterator[Imported]:
    """The names bound by an import in a module whose relative imports start from `package`."""
    if isinstance(node, ast.ImportFrom):
        module = _absolute(node, package)
        for alias in node.names:
            yield Imported(alias.asname or alias.name, module, alias.name)
        return
    for alias in node.names:
        head = alias.name.partition(".")[0]
        yield Imported(alias.asname, alias.name, "") if alias.asname else Imported(head, head, "")


def _absolute(node: ast.ImportFrom, package: str) -> str:
    """Absolute module of a from-import, "" for a relative one that climbs out of the package."""
    if not node.level:
        return node.module or ""
    parts = package.split(".") if package else []
    if node.level > len(parts):
        return ""
    base = parts[: len(parts) - node.level + 1]
    return ".".join([*base, node.module] if node.module else base)
