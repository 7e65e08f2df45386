"""Fast traversal of `ast` trees: explicit stacks and per-class field tables instead of `ast.walk`."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from typing import Any

_SCOPES = frozenset((ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef))
_LEAVES = (ast.Constant, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.MatchSingleton)
_PLAIN_FIELDS = frozenset(  # hold no expressions or statements
    "arg attr conversion ctx id is_async kind kwd_attrs name op ops rest simple str tag type_comment".split()
)
_BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")


def _fields(cls: type[ast.AST]) -> tuple[str, ...]:
    if issubclass(cls, _LEAVES):
        return ()
    return tuple(field for field in cls._fields if field not in _PLAIN_FIELDS)


_CHILDREN: dict[type, tuple[str, ...]] = {
    cls: _fields(cls) for cls in vars(ast).values() if isinstance(cls, type) and issubclass(cls, ast.AST)
}
_CHILDREN[type(None)] = ()  # stands in lists for what a dict display or a keyword-only default leaves out


def walk(nodes: Iterable[ast.AST], closed: Collection[ast.AST] = ()) -> Iterator[ast.AST]:
    """Every node below and including `nodes`, in no useful order, without operators and contexts.

    closed: nodes that are yielded but not entered.
    """
    stack: list[Any] = list(nodes)
    while stack:
        node = stack.pop()
        if node is None:
            continue
        yield node
        if node not in closed:
            _push_children(stack, node)


def walk_scope(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """As `walk`, but functions, classes and lambdas are not entered."""
    stack: list[Any] = list(nodes)
    while stack:
        node = stack.pop()
        if node is None:
            continue
        yield node
        if node.__class__ not in _SCOPES:
            _push_children(stack, node)


def _push_children(stack: list[Any], node: Any) -> None:
    for field in _CHILDREN[node.__class__]:
        child = getattr(node, field)
        if child.__class__ is list:
            stack.extend(child)
        else:
            stack.append(child)


def statements(body: Iterable[ast.AST]) -> Iterator[ast.stmt]:
    """Every statement of a block and of the blocks in it, expressions left aside."""
    stack: list[Any] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.stmt):
            yield node
        for block in _BLOCKS:
            inner = getattr(node, block, None)
            if inner.__class__ is list:
                stack.extend(inner)


def called_names(body: list[ast.stmt]) -> set[str]:
    """Last components of all called names below `body` ("relu" for F.relu(x)).

    This visits every node, so it is written for speed.
    """
    names: set[str] = set()
    stack: list[Any] = list(body)
    pop, push, extend = stack.pop, stack.append, stack.extend
    name_class, constant_class, call_class, attribute_class = ast.Name, ast.Constant, ast.Call, ast.Attribute
    children = _CHILDREN
    while stack:
        node = pop()
        cls = node.__class__
        if cls is name_class or cls is constant_class:
            continue
        if cls is call_class:
            function = node.func
            if function.__class__ is name_class:
                names.add(function.id)
            elif function.__class__ is attribute_class:
                names.add(function.attr)
                push(function.value)
            else:
                push(function)
            extend(node.args)
            extend(node.keywords)
            continue
        for field in children[cls]:
            child = getattr(node, field)
            if child.__class__ is list:
                extend(child)
            else:
                push(child)
    return names


def dotted(node: Any) -> str | None:
    """ "a.b.c" for a plain chain of names, None for anything else."""
    text = ""
    while node.__class__ is ast.Attribute:
        text = f".{node.attr}{text}"
        node = node.value
    return node.id + text if node.__class__ is ast.Name else None


def literal(node: ast.AST | None) -> object:
    """The value of a literal expression, None when it is not one."""
    if node is None:
        return None
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
