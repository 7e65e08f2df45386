"""Fast traversal of libcst trees: field tables per class, whitespace and punctuation left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, overload

import libcst as cst

Node = TypeVar("Node", bound=cst.CSTNode)
Other = TypeVar("Other", bound=cst.CSTNode)

_SKIPPED = frozenset(
    "asynchronous colon comma comment conversion default_indent default_newline dot encoding end equal first_colon "
    "footer from_ has_trailing_newline header indent lbrace lbracket leading_lines leading_whitespace "
    "lines_after_decorators lpar newline operator posonly_ind rbrace rbracket relative rpar second_colon semicolon "
    "separator star start trailing_comma trailing_whitespace".split()
)
_SCOPES = frozenset((cst.FunctionDef, cst.Lambda, cst.ClassDef))
_NOT_NODES = frozenset((type(None), str, bool, cst.MaybeSentinel))
_WORDS = frozenset((cst.Name, cst.Integer, cst.Float, cst.Imaginary, cst.SimpleString, cst.FormattedStringText))
_FIELDS: dict[type, tuple[str, ...]] = {}


def _fields(cls: type) -> tuple[str, ...]:
    names = [f.name for f in fields(cls)] if is_dataclass(cls) and cls not in _WORDS else []
    found = tuple(n for n in names if n not in _SKIPPED and not n.startswith("whitespace"))
    _FIELDS[cls] = found
    return found


def children(node: cst.CSTNode, names: tuple[str, ...] | None = None) -> list[cst.CSTNode]:
    """The nodes directly below, save whitespace, punctuation and operators; names: the fields, in the order wanted."""
    if names is None:
        cls = node.__class__
        names = _FIELDS.get(cls)
        if names is None:
            names = _fields(cls)
    found: list[cst.CSTNode] = []
    for name in names:
        value = getattr(node, name)
        kind = value.__class__
        if kind is list or kind is tuple:
            found.extend(value)
        elif kind not in _NOT_NODES:
            found.append(value)
    return found


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The node and everything below, in no useful order."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(children(current))


@overload
def only(nodes: Iterable[cst.CSTNode], kind: type[Node], /) -> Iterator[Node]: ...
@overload
def only(nodes: Iterable[cst.CSTNode], kind: type[Node], other: type[Other], /) -> Iterator[Node | Other]: ...
@overload
def only(nodes: Iterable[cst.CSTNode], /, *kinds: type[cst.CSTNode]) -> Iterator[Any]: ...
def only(nodes: Iterable[cst.CSTNode], /, *kinds: type[cst.CSTNode]) -> Iterator[Any]:
    """The nodes of exactly these classes. `isinstance` asks the metaclass of libcst's nodes, at six times the cost."""
    wanted = frozenset(kinds)
    return (node for node in nodes if node.__class__ in wanted)


def walk_scope(nodes: list[cst.CSTNode]) -> Iterator[cst.CSTNode]:
    """As `walk` for several nodes, but functions, lambdas and classes are not entered."""
    stack = list(nodes)
    while stack:
        current = stack.pop()
        yield current
        if current.__class__ not in _SCOPES:
            stack.extend(children(current))


def base(node: Node) -> Node | cst.BaseExpression:
    """What an expression is an attribute or element of, at the bottom: `a` for `a.b[0].c`; itself if it is neither."""
    found: Node | cst.BaseExpression = node
    while isinstance(found, cst.Attribute | cst.Subscript):
        found = found.value
    return found
