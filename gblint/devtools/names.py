"""Dotted names in the tables of rules and codemods, held against what is installed: a misspelt one would never fire."""

from __future__ import annotations

import pkgutil
import re
import warnings
from collections.abc import Iterator
from types import ModuleType

_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+(\.\*)?")
FACTS = {"meta", "BREAKS", "CLEAN", "EXAMPLES", "DECLINES"}


def dotted_names(module: ModuleType) -> Iterator[str]:
    """The dotted names in the constants of a module and of the classes that it defines; examples are left out."""
    for name, value in vars(module).items():
        if name.startswith("__") or name in FACTS:
            continue
        if isinstance(value, type):
            if value.__module__ == module.__name__:
                for key, held in vars(value).items():
                    yield from () if key.startswith("__") or key in FACTS else _names(held)
        else:
            yield from _names(value)


def _names(value: object) -> Iterator[str]:
    if isinstance(value, str):
        if _DOTTED.fullmatch(value):
            yield value.removesuffix(".*")
    elif isinstance(value, dict):
        for key, held in value.items():
            yield from _names(key)
            yield from _names(held)
    elif isinstance(value, (tuple, list, set, frozenset)):
        for held in value:
            yield from _names(held)


def is_there(name: str) -> bool:
    """Whether a name can be found, importing what has to be. Builtins and classes of `collections` may be bare."""
    return any(_resolves(f"{place}{name}") for place in ("", "builtins:", "collections:"))


def _resolves(name: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pkgutil.resolve_name(name)
    except (ImportError, AttributeError, ValueError):
        return False
    return True
