"""Makes a program smaller for as long as something stays true of it."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator

Holds = Callable[[str], bool]


def shrunk(text: str, holds: Holds, tries: int = 400) -> str:
    """The smallest program found of which `holds` is true, as it is of `text`; it is asked `tries` times at most."""
    best, left = ast.unparse(ast.parse(text)), tries
    smaller = True
    while smaller:
        smaller = False
        index = 0
        while (candidate := variant(best, index)) is not None and left:
            if candidate == best or not candidate.strip():
                index += 1
                continue
            left -= 1
            if holds(candidate):
                best, smaller = candidate, True
            else:
                index += 1
    return best


def variant(text: str, index: int) -> str | None:
    """The program with one change that makes it simpler; None when there is no change of that number."""
    tree = ast.parse(text)
    for number, change in enumerate(changes(tree)):
        if number == index:
            change()
            return ast.unparse(ast.fix_missing_locations(tree))
    return None


def changes(tree: ast.Module) -> Iterator[Callable[[], None]]:
    """Ways to make a tree simpler, large ones first."""
    bodies = list(statement_lists(tree))
    for body in bodies:
        for size in (8, 4, 2, 1):
            for start in range(len(body) - size, -1, -size):
                yield lambda body=body, start=start, size=size: remove(body, start, size)  # type: ignore[misc]
    for body in bodies:
        for at, statement in enumerate(body):
            for inner in inner_lists(statement):
                yield lambda body=body, at=at, inner=inner: body.__setitem__(slice(at, at + 1), inner)  # type: ignore[misc]
    for node, field, value in expressions(tree):
        for part in ast.iter_child_nodes(value):
            if isinstance(part, ast.expr) and not isinstance(part, ast.Starred):
                yield lambda node=node, field=field, part=part: put(node, field, copy.deepcopy(part))  # type: ignore[misc]


def statement_lists(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            value = getattr(node, field, None)
            if isinstance(value, list) and value:
                yield value


def inner_lists(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return
    yield from (body for body in statement_lists(statement))


def remove(body: list[ast.stmt], start: int, size: int) -> None:
    del body[start : start + size]
    if not body:
        body.append(ast.Pass())


def expressions(tree: ast.AST) -> Iterator[tuple[ast.AST, tuple[str, int | None], ast.expr]]:
    """Expressions with parts, and where they hang: node, and field with index."""
    for node in ast.walk(tree):
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                yield node, (field, None), value
            elif isinstance(value, list):
                for at, item in enumerate(value):
                    if isinstance(item, ast.expr):
                        yield node, (field, at), item


def put(node: ast.AST, field: tuple[str, int | None], part: ast.expr) -> None:
    name, at = field
    if at is None:
        setattr(node, name, part)
    else:
        getattr(node, name)[at] = part
