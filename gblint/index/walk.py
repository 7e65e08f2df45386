"""Fast traversal of `ast` trees: explicit stacks and per-class field tables instead of `ast.walk`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

Definition = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_LEAVES = (ast.Name, ast.Constant, ast.Pass, ast.Break, ast.Continue, ast.Import, ast.ImportFrom, ast.Global)
_SKIPPED = frozenset(
    "ctx op ops type_comment kind names id attr arg name level module is_async simple conversion rest".split()
)


def _fields(cls: type[ast.AST]) -> tuple[str, ...]:
    """Fields of a node class that can hold expressions or statements."""
    if issubclass(cls, _LEAVES):
        return ()
    return tuple(field for field in cls._fields if field not in _SKIPPED)


_CHILDREN: dict[type, tuple[str, ...]] = {
    cls: _fields(cls) for cls in vars(ast).values() if isinstance(cls, type) and issubclass(cls, ast.AST)
}
_CHILDREN[type(None)] = ()  # stands in lists for what a dict display or a keyword-only default leaves out


def walk(nodes: Iterable[ast.AST], into_definitions: bool = True) -> Iterator[ast.AST]:
    """Every node below and including `nodes`, in no useful order, without operators and contexts.

    into_definitions: False leaves out what stands below a function or lambda (the node itself is yielded).
    """
    stack = list(nodes)
    while stack:
        node = stack.pop()
        yield node
        if not into_definitions and isinstance(node, Definition):
            continue
        for field in _CHILDREN[node.__class__]:
            child = getattr(node, field)
            if child.__class__ is list:
                stack.extend(item for item in child if item is not None)
            elif child is not None:
                stack.append(child)


def called_names(body: list[ast.stmt]) -> tuple[set[str], set[str]]:
    """Last components of all called names below `body`, and dotted texts of calls on `self`.

    This visits every node of every function, so it is written for speed.
    """
    names: set[str] = set()
    on_self: set[str] = set()
    stack: list[ast.AST] = list(body)
    pop, push, extend = stack.pop, stack.append, stack.extend
    name_class, constant_class, call_class, attribute_class = ast.Name, ast.Constant, ast.Call, ast.Attribute
    children = _CHILDREN
    while stack:
        node = pop()
        cls = node.__class__
        if cls is name_class or cls is constant_class:
            continue
        if cls is call_class:
            function = node.func  # type: ignore[attr-defined]
            if function.__class__ is name_class:
                names.add(function.id)
            elif function.__class__ is attribute_class:
                names.add(function.attr)
                text = dotted(function)
                if text is None:
                    push(function.value)
                elif text.startswith("self."):
                    on_self.add(text)
            else:
                push(function)
            extend(node.args)  # type: ignore[attr-defined]
            extend(node.keywords)  # type: ignore[attr-defined]
            continue
        for field in children[cls]:
            child = getattr(node, field)
            if child.__class__ is list:
                extend(child)
            elif child is not None:
                push(child)
    return names, on_self


def dotted(node: ast.AST | None) -> str | None:
    """"a.b.c" for a plain chain of names, None for anything else."""
    if node.__class__ is ast.Name:
        return node.id  # type: ignore[union-attr]
    parts = []
    while node.__class__ is ast.Attribute:
        parts.append(node.attr)  # type: ignore[union-attr]
        node = node.value  # type: ignore[union-attr]
    if node.__class__ is not ast.Name:
        return None
    parts.append(node.id)  # type: ignore[union-attr]
    return ".".join(reversed(parts))


def literal(node: ast.AST | None) -> object:
    """The value of a literal expression, None when it is not one."""
    if node is None:
        return None
    try:
        return ast.literal_eval(node)  # type: ignore[arg-type]
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
