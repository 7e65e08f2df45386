"""Finds the rules: every module of the `gblint.rules` package, and entry points of the group "gblint.rules"."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import lru_cache
from importlib.metadata import entry_points

from gblint.rule_api import Rule


def _classes(module_name: str) -> list[type[Rule]]:
    module = importlib.import_module(module_name)
    found = [c for c in vars(module).values() if isinstance(c, type) and issubclass(c, Rule) and c is not Rule]
    return [c for c in found if c.__module__ == module_name]


def documentation(rule: type[Rule]) -> str:
    """What a rule's author wrote about it: the docstring of its module, with the fixed headings."""
    return inspect.cleandoc(importlib.import_module(rule.__module__).__doc__ or rule.__doc__ or rule.meta.summary)


@lru_cache(maxsize=1)
def load_rules() -> tuple[type[Rule], ...]:
    """All rule classes, ordered by code. Raises ValueError if two rules share a code and a slug."""
    import gblint.rules as package

    rules: list[type[Rule]] = []
    for entry in pkgutil.iter_modules(package.__path__):
        rules += _classes(f"gblint.rules.{entry.name}")
    for point in entry_points(group="gblint.rules"):
        rules.append(point.load())
    seen: set[tuple[str, str]] = set()
    for rule in rules:
        key = (rule.meta.code, rule.meta.slug)
        if key in seen:
            raise ValueError(f"two rules are registered as {rule.meta.code} {rule.meta.slug}")
        seen.add(key)
    return tuple(sorted(rules, key=lambda r: (r.meta.code, r.meta.slug)))
