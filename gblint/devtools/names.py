"""Names in the tables of rules and codemods, held against what is installed: a misspelt one would never fire."""

from __future__ import annotations

import functools
import keyword
import pkgutil
import re
import warnings
from collections.abc import Iterator
from types import ModuleType

_NAME = re.compile(r"[A-Za-z_][\w.*]*")
FACTS = {"meta", "BREAKS", "CLEAN", "EXAMPLES", "DECLINES"}
# What a word is looked up in: it is the name of a method or attribute, or of a function whose module is left out.
OWNERS = ("builtins", "collections", "object", "Exception", "str", "list", "dict", "set", "bytes", "types", "torch",
          "torch.Tensor", "torch.Generator", "torch.nn", "torch.nn.Module", "torch.nn.functional", "numpy",
          "numpy.ndarray", "numpy.random", "math", "random", "itertools", "io.TextIOWrapper", "threading.Condition",
          "threading.Thread", "threading.Event", "concurrent.futures.Future", "torch.autograd.Function")  # fmt: skip


def names(module: ModuleType) -> Iterator[str]:
    """The names in the constants of a module and of the classes that it defines: dotted ones, starts of dotted ones
    ("time."), words. Examples are left out."""
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
        if _NAME.fullmatch(value):
            yield value.removesuffix("*")
    elif isinstance(value, dict):
        for key, held in value.items():
            yield from _names(key)
            yield from _names(held)
    elif isinstance(value, (tuple, list, set, frozenset)):
        for held in value:
            yield from _names(held)


@functools.cache
def is_there(name: str) -> bool:
    """Whether a name can be found, importing what has to be. Builtins and classes of `collections` may be bare; a word
    is one of Python's, or that of an attribute of one of the OWNERS."""
    if "." not in name:
        return keyword.iskeyword(name) or any(_resolves(f"{owner}.{name}") for owner in OWNERS)
    return _resolves(name.removesuffix("."))


@functools.cache
def _resolves(name: str) -> bool:
    return any(_imports(f"{place}{name}") for place in ("", "builtins:", "collections:"))


def _imports(name: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pkgutil.resolve_name(name)
    except (ImportError, AttributeError, ValueError):
        return False
    return True
