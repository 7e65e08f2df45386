"""What an import statement binds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

_NESTED_FROM = re.compile(r"^[ \t]+from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#;]*)", re.MULTILINE)
_PLAIN = re.compile(r"^[ \t]*import[ \t]+(\w+(?:\.\w+)+)", re.MULTILINE)
_WORD = re.compile(r"\w+")


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


def mentioned(text: str, package: str) -> tuple[str, ...]:
    """Dotted names that may be modules, of the imports in a text that bind no global name of their own: those in
    functions and `import a.b`. Read off the text, so a name in a docstring may come in too."""
    names: set[str] = set()
    for match in _NESTED_FROM.finditer(text):
        base = _climbed(len(match[1]), match[2], package)
        names.update((base, *(f"{base}.{word}" for word in _WORD.findall(match[3]))))
    for match in _PLAIN.finditer(text):
        names.add(match[1])
    names.discard("")
    return tuple(sorted(names))


def _absolute(node: ast.ImportFrom, package: str) -> str:
    """Absolute module of a from-import, "" for a relative one that climbs out of the package."""
    return _climbed(node.level, node.module or "", package)


def _climbed(level: int, module: str, package: str) -> str:
    if not level:
        return module
    parts = package.split(".") if package else []
    if level > len(parts):
        return ""
    base = parts[: len(parts) - level + 1]
    return ".".join([*base, module] if module else base)
