"""Finds rules and codemods: every module of the packages `gblint.rules` and `gblint.codemods`, and what plugins bring
(`gblint.plugins`)."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from gblint import plugins
from gblint.errors import GblintError
from gblint.rule_api import Rule, RuleMeta

if TYPE_CHECKING:
    from gblint.codemod_api import Codemod

T = TypeVar("T")

_CODE = re.compile(r"(?!GBL)[A-Z]{2,10}\d{1,4}")  # GBL is gblint's own
_SLUG = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def _classes(module_name: str, base: type[T]) -> list[type[T]]:
    module = importlib.import_module(module_name)
    found = [c for c in vars(module).values() if isinstance(c, type) and issubclass(c, base) and c is not base]
    return [c for c in found if c.__module__ == module_name]


def _all(package: ModuleType, base: type[T]) -> list[type[T]]:
    """The classes of every module in a package, and those that other distributions add under the package's name."""
    found: list[type[T]] = []
    for entry in pkgutil.iter_modules(package.__path__):
        found += _classes(f"{package.__name__}.{entry.name}", base)
    for plugin in plugins.installed():
        if plugin.group == package.__name__:
            found += _brought(plugin, base)
    return found


def _brought(plugin: plugins.Plugin, base: type[T]) -> list[type[T]]:
    """The class that an entry point names, or the classes of the module that it names. Raises GblintError."""
    loaded = plugins.load(plugin)
    classes = _classes(loaded.__name__, base) if isinstance(loaded, ModuleType) else [loaded]
    if not classes or not all(isinstance(c, type) and issubclass(c, base) for c in classes):
        raise plugins.fault(plugin, f"names no {base.__name__}")
    for each in classes:
        meta = getattr(each, "meta", None)
        if isinstance(meta, RuleMeta) and not (_CODE.fullmatch(meta.code) and _SLUG.fullmatch(meta.slug)):
            form = "a code is letters and digits such as SHOP001, and not GBL; a name is words such as print-call"
            raise plugins.fault(plugin, f"has a rule with the code {meta.code} and the name {meta.slug}: {form}")
        if meta is None:
            raise plugins.fault(plugin, f"has a {base.__name__} without `meta`: {each.__name__}")
    return classes


def documentation(rule: type[Rule] | type[Codemod]) -> str:
    """What the author wrote about a rule or codemod: the docstring of its module, with the fixed headings."""
    return inspect.cleandoc(importlib.import_module(rule.__module__).__doc__ or rule.__doc__ or rule.meta.summary)


@lru_cache(maxsize=1)
def load_rules() -> tuple[type[Rule], ...]:
    """All rule classes, ordered by code. Raises GblintError if two rules share a code and a slug, or a plugin is
    at fault."""
    import gblint.rules as package
    from gblint.declared_break import DeclaredBreak

    rules: list[type[Rule]] = [*_all(package, Rule), DeclaredBreak]
    seen: set[tuple[str, str]] = set()
    for rule in rules:
        key = (rule.meta.code, rule.meta.slug)
        if key in seen:
            raise GblintError(f"two rules are registered as {rule.meta.code} {rule.meta.slug}")
        seen.add(key)
    return tuple(sorted(rules, key=lambda r: (r.meta.code, r.meta.slug)))


@lru_cache(maxsize=1)
def optional_rules() -> tuple[tuple[str, str], ...]:
    """Code and slug of the rules that are off until they are selected."""
    return tuple((code, r.meta.slug) for r in load_rules() if r.meta.optional for code in sorted(r.meta.codes))


@lru_cache(maxsize=1)
def load_codemods() -> tuple[type[Codemod], ...]:
    """All codemod classes, ordered by rank and name. Raises GblintError if two share a name, or a plugin is at
    fault."""
    import gblint.codemods as package
    from gblint.codemod_api import Codemod

    codemods = sorted(_all(package, Codemod), key=lambda c: (c.meta.rank, c.meta.name))
    names = [c.meta.name for c in codemods]
    for name in names:
        if names.count(name) > 1:
            raise GblintError(f"two codemods are registered as {name}")
    return tuple(codemods)
