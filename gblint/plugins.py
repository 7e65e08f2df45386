"""Rules, codemods and knowledge that other installed packages bring along, as entry points.

The groups are `gblint.rules` and `gblint.codemods` (a class, or a module with such classes) and `gblint.knowledge`
(what `[tool.gblint.functions]` holds, as a mapping, or a function that returns one). Plugins are installed beside
gblint by who runs it; nothing of what is checked is ever loaded.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from gblint.errors import GblintError
from gblint.knowledge.declared import Declared, parse_functions

RULES, CODEMODS, KNOWLEDGE = "gblint.rules", "gblint.codemods", "gblint.knowledge"
_GROUPS = (RULES, CODEMODS, KNOWLEDGE)


class Plugin(NamedTuple):
    """One entry point. value: "package.module:attribute"; package: name and version of the distribution it is from."""

    group: str
    name: str
    value: str
    package: str

    def __str__(self) -> str:
        return f"{self.name} ({self.value}) of {self.package}"


@lru_cache(maxsize=1)
def installed() -> tuple[Plugin, ...]:
    """All plugins, by group, package and name."""
    if not _any_on_path():
        return ()
    from importlib.metadata import entry_points

    found = {
        Plugin(group, point.name, point.value, f"{point.dist.name} {point.dist.version}" if point.dist else "?")
        for group in _GROUPS
        for point in entry_points(group=group)
    }
    return tuple(sorted(found))


def _any_on_path() -> bool:
    """Whether some distribution has a plugin. Importing importlib.metadata takes as long as a tenth of a run that has
    everything in its cache, so it is left to those who have one."""
    for folder in sys.path:
        try:
            names = [name for name in os.listdir(folder or ".") if name.endswith((".dist-info", ".egg-info"))]
        except OSError:
            continue
        for name in names:
            try:
                data = Path(folder, name, "entry_points.txt").read_bytes()
            except OSError:
                continue
            if b"[gblint." in data:
                return True
    return False


def load(plugin: Plugin) -> Any:
    """What an entry point stands for. Raises GblintError if it cannot be had, whatever the reason."""
    from importlib.metadata import EntryPoint

    try:
        return EntryPoint(plugin.name, plugin.value, plugin.group).load()
    except Exception as error:
        raise fault(plugin, f"cannot be loaded: {type(error).__name__}: {error}") from error


def fault(plugin: Plugin, what: str) -> GblintError:
    """The error for a plugin with which something is wrong."""
    return GblintError(f"the plugin {plugin} {what}", f"repair or uninstall {plugin.package.partition(' ')[0]}")


@lru_cache(maxsize=1)
def declared() -> Mapping[str, Declared]:
    """What the plugins of the group for knowledge say of functions: name → `Declared`. Raises GblintError."""
    found: dict[str, Declared] = {}
    for plugin in installed():
        if plugin.group != KNOWLEDGE:
            continue
        given = load(plugin)
        try:
            found.update(parse_functions(given() if callable(given) else given))
        except Exception as error:
            raise fault(plugin, f"is wrong: {error}") from error
    return found


def fingerprint() -> str:
    """A digest of all plugins and of their source: what a cached result depends on. "" without any."""
    if not installed():
        return ""
    from hashlib import blake2b

    digest = blake2b(repr(installed()).encode(), digest_size=8)
    for top in sorted({plugin.value.partition(":")[0].partition(".")[0].strip() for plugin in installed()}):
        for path in _sources(top):
            digest.update(path.as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _sources(top: str) -> Iterator[Path]:
    """The files of a package or module, which is not imported for that."""
    from importlib.util import find_spec

    spec = find_spec(top)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        yield from sorted(Path(folder).rglob("*.py"))
    if spec and spec.origin and not spec.submodule_search_locations:
        yield Path(spec.origin)
