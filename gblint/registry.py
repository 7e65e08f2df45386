"""Finds rules and codemods: every module of the packages `gblint.rules` and `gblint.codemods`, and the entry points of
the groups of the same names."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import lru_cache
from importlib.metadata import entry_points
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from gblint.rule_api import Rule

if TYPE_CHECKING:
    from gblint.codemod_api import Codemod

T = TypeVar("T")


def _classes(module_name: str, base: type[T]) -> list[type[T]]:
    module = importlib.import_module(module_name)
    found = [c for c in vars(module).values() if isinstance(c, type) and issubclass(c, base) and c is not base]
    return [c for c in found if c.__module__ == module_name]


def _all(package: ModuleType, base: type[T]) -> list[type[T]]:
    """The classes of every module in a package, and those that other distributions add under the package's name."""
    found: list[type[T]] = []
    for entry in pkgutil.iter_modules(package.__path__):
        found += _classes(f"{package.__name__}.{entry.name}", base)
    for point in entry_points(group=package.__name__):
        found.append(point.load())
    return found


def documentation(rule: type[Rule] | type[Codemod]) -> str:
    """What the author wrote about a rule or codemod: the docstring of its module, with the fixed headings."""
    return inspect.cleandoc(importlib.import_module(rule.__module__).__doc__ or rule.__doc__ or rule.meta.summary)


@lru_cache(maxsize=1)
def load_rules() -> tuple[type[Rule], ...]:
    """All rule classes, ordered by code. Raises ValueError if two rules share a code and a slug."""
    import gblint.rules as package

    rules = _all(package, Rule)
    seen: set[tuple[str, str]] = set()
    for rule in rules:
        key = (rule.meta.code, rule.meta.slug)
        if key in seen:
            raise ValueError(f"two rules are registered as {rule.meta.code} {rule.meta.slug}")
        seen.add(key)
    return tuple(sorted(rules, key=lambda r: (r.meta.code, r.meta.slug)))


@lru_cache(maxsize=1)
def load_codemods() -> tuple[type[Codemod], ...]:
    """All codemod classes, ordered by rank and name. Raises ValueError if two share a name."""
    import gblint.codemods as package
    from gblint.codemod_api import Codemod

    codemods = sorted(_all(package, Codemod), key=lambda c: (c.meta.rank, c.meta.name))
    names = [c.meta.name for c in codemods]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two codemods are registered as {name}")
    return tuple(codemods)
