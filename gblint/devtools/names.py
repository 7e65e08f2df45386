"""Names in the tables and in the code of rules and codemods, held against what is installed and what the engine says: a
misspelt one would never fire."""

from __future__ import annotations

import ast
import functools
import inspect
import keyword
import pkgutil
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from gblint.registry import load_rules

NONE = object()  # stands for a thing that is None
_NAME = re.compile(r"[A-Za-z_][\w.*]*")
_WORD = re.compile(r"[A-Za-z_][\w.*-]*")
FACTS = {"meta", "BREAKS", "CLEAN", "EXAMPLES", "DECLINES"}
# What a word is looked up in: it is the name of a method or attribute, or of a function whose module is left out.
OWNERS = ("builtins", "collections", "object", "Exception", "str", "list", "dict", "set", "bytes", "types", "torch",
          "torch.Tensor", "torch.Generator", "torch.nn", "torch.nn.Module", "torch.nn.functional", "numpy",
          "numpy.ndarray", "numpy.random", "math", "random", "itertools", "io.TextIOWrapper", "threading.Condition",
          "threading.Thread", "threading.Event", "concurrent.futures.Future", "torch.autograd.Function", "torch.optim",
          "torch._dynamo.config", "contextlib", "logging.Logger")  # fmt: skip


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


def words(module: ModuleType) -> Iterator[str]:
    """The names and slugs in the code of a module's functions and methods; those in formatted texts are left out."""
    waiting: list[ast.AST] = [
        node for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.FunctionDef)
    ]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _WORD.fullmatch(node.value):
            yield node.value.removesuffix("*")
        waiting += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.JoinedStr)]


@functools.cache
def is_known(word: str) -> bool:
    """Whether a name in code is there, or is that of a parameter, or a word that the engine uses."""
    return is_there(word) or word in parameters() or word in engine_words() or word in slugs()


@functools.cache
def slugs() -> frozenset[str]:
    """The names of all rules."""
    return frozenset(rule.meta.slug for rule in load_rules())


@functools.cache
def parameters() -> frozenset[str]:
    """The names of parameters of functions of torch, numpy and Python."""
    import torch

    found = {argument.name for schema in torch._C._jit_get_all_schemas() for argument in schema.arguments}
    for owner in OWNERS:
        if (holder := _found(owner)) is not None:
            for function in vars(holder).values():
                try:
                    found |= set(inspect.signature(function).parameters) if callable(function) else set()
                except (TypeError, ValueError):  # some that are written in C say nothing of their parameters
                    continue
    return frozenset(found)


@functools.cache
def engine_words() -> frozenset[str]:
    """The words that stand as strings in the engine (kinds of values and events, settings), and the names of fields and
    parameters there."""
    files = [file for file in Path(__file__).parents[1].rglob("*.py") if file.parent.name != "devtools"]
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text(encoding="utf8")))]
    found = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    found |= {node.target.id for node in nodes if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    found |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    return frozenset(word for word in found if _WORD.fullmatch(word))


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
    return _found(name) is not None


def _found(name: str) -> object:
    """What a dotted name is the name of, None if it is that of nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found: object = pkgutil.resolve_name(name)
    except (ImportError, AttributeError, ValueError):
        return None
    return NONE if found is None else found
