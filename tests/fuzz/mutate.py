# ruff: noqa: E501 - lists of snippets
"""Mutations of files: pure functions of a generator of random numbers, so that a seed gives the same inputs again."""

from __future__ import annotations

import ast
import copy
import re
import warnings
from collections.abc import Callable, Sequence
from random import Random

Mutation = Callable[[Random, bytes, Sequence[bytes]], bytes]

_TOKEN = re.compile(r"\w+|\n[ \t]*|[ \t]+|[^\w\s]", re.UNICODE)
_ODD_BYTES = (b"\0", b"\xff", b"\xef\xbb\xbf", b"\r", b"\r\n", b"\f", b"\t", b"\x1a", b"\xed\xa0\x80", b"\\\n", b"\x85")
_ODD_TEXT = (
    "\u2028", "\u202e", "\ufeff", "\U0001d4b3", "ﬁ", "²", "·", "0x", "1e999", "1_0", "'''", '"""', "f'{x!r:{y}}'", "# noqa",
    "# gblint: ignore[", "# gblint: skip-file", "# coding: utf-16", "#!", "\\", "(", ")", "[", "]", "{", "}", ":", ":=",
    "->", "**", "//=", "@", "...", "lambda: ", "await ", "yield ", "yield from ", "async ", "global x", "nonlocal x",
    "del ", "return", "raise", "*", "import *", "from . import x", "from .... import x", "match x:", "case _:",
    "type X = int", "except* E:", "if True:", "else:", "elif x:", "try:", "finally:", "while 1:", "with x as y:",
    "class C(C):", "def f(x=f): ", "torch.compile", "x.item()", "self", "__class__", "super()", "nn.Module", "\x0c", "٣",
)  # fmt: skip
_ODD_LINES = (
    "    def forward(self, x): return self.forward(x)", "x = x", "import torch as nn", "from torch import *", "del torch",
    "class Net(Net): pass", "torch.compile = torch.compile(torch.compile)", "nn.Module = None", "global x", "return",
    "    super().__init__(*self)", "@torch.compile", "@property", "@staticmethod", "break", "continue", "yield x",
    "for x in iter(lambda: x, x): print(x)", "    self.x = self", "x: int", "x = [x for x in x if x]", "x[x] = x[x:x]",
    "(x := x)", "with torch.no_grad(): x = x.item()", "print(x)", "x = x if x else x", "while x: x = x.nonzero()",
    "def f(*args, **kwargs): return f(*args, **kwargs)", "torch._dynamo.config.x = torch", "if x.sum() > 0: x = -x",
    "try: x\nexcept x as x: pass\nfinally: del x", "async def f(): await f()", "# fmt: off", "assert x, x.item()",
)  # fmt: skip


# ------------------------------------------------------------------------------------------------------------- bytes


def change_bytes(random: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    """Flip, put in, take out or repeat a few bytes, or cut the end off."""
    for _ in range(random.choice((1, 1, 2, 5, 20))):
        at = random.randrange(len(data) + 1)
        length = random.choice((1, 1, 2, 8, 64))
        match random.randrange(6):
            case 0 if at < len(data):
                data = data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]
            case 1:
                data = data[:at] + random.choice(_ODD_BYTES) + data[at:]
            case 2:
                data = data[:at] + data[at + length :]
            case 3:
                data = data[:at] + data[at : at + length] * random.choice((2, 3, 50)) + data[at + length :]
            case 4 if random.random() < 0.2:
                data = data[:at]
            case _:
                data = data[:at] + random.randbytes(min(length, 8)) + data[at:]
    return data


# -------------------------------------------------------------------------------------------------- tokens and lines


def change_tokens(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Swap, drop, repeat or replace a few tokens, by others of the same file or of another one."""
    tokens = _tokens(data)
    pool = tokens if random.random() < 0.6 else _tokens(random.choice(others))
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        if not tokens or not pool:
            break
        at, other = random.randrange(len(tokens)), random.randrange(len(tokens))
        match random.randrange(6):
            case 0:
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 1:
                del tokens[at]
            case 2:
                tokens.insert(at, tokens[at])
            case 3:
                tokens[at] = random.choice(pool)
            case 4:
                tokens.insert(at, random.choice(_ODD_TEXT))
            case _:  # one name for another: mostly valid, and wrong in an interesting way
                names = [n for n in {*pool} if n.isidentifier()] or ["x"]
                tokens[at] = random.choice(sorted(names)) if tokens[at].isidentifier() else tokens[at]
    return "".join(tokens).encode("utf-8", "surrogatepass")


def change_lines(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Drop, repeat, move, indent or join lines, or take in lines of another file."""
    lines = data.split(b"\n")
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(len(lines))
        end = at + random.choice((1, 1, 2, 5, 20))
        part = lines[at:end]
        match random.randrange(8):
            case 0:
                lines[at:end] = []
            case 1:
                lines[at:at] = part * random.choice((1, 2, 30))
            case 2:
                lines[at:end] = []
                place = random.randrange(len(lines) + 1)
                lines[place:place] = part
            case 3:
                lines[at:end] = [b"    " + line for line in part]
            case 4:
                lines[at:end] = [line[random.choice((1, 4)) :] for line in part]
            case 5:
                lines[at:end] = [b"; ".join(part)]
            case 6:
                blank = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
                lines.insert(at, blank + random.choice(_ODD_LINES).encode())
            case _:
                other = random.choice(others).split(b"\n")
                start = random.randrange(len(other))
                lines[at:at] = other[start : start + 20]
        lines = lines or [b""]
    return b"\n".join(lines)


def nest(random: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    """Put something in that is nested or chained very deep."""
    depth = random.choice((20, 90, 150, 400, 3000))
    opened, closed = random.choice((
        ("(", ")"), ("[", "]"), ("{", "}"), ("f(", ")"), ("not ", ""), ("-", ""), ("x[", "]"), ("lambda: ", ""),
        ("x if x else ", ""), ("x + ", ""), ("x and ", ""), ("x, ", ""), ("f'{", "}'"), ("", ".x"), ("", "()"), ("", "[0]"),
        ("x = ", ""), ("x < ", ""), ("x ** ", ""), ("await ", ""), ("[x for x in ", "]"), ("x ", "x;"),
    ))  # fmt: skip
    line = opened * depth + "x" + closed * depth
    if random.random() < 0.3:
        depth = min(depth, 120)
        head = random.choice(("if x:", "for x in x:", "def f(x):", "class C:", "with x:", "try:", "while x:"))
        rows = ["\t" * n + head for n in range(depth)] + ["\t" * depth + "x.item()"]
        if head == "try:":
            rows += ["\t" * n + "finally: x" for n in reversed(range(depth))]
        line = "\n".join(rows)
    lines = data.split(b"\n")
    at = random.randrange(len(lines) + 1)
    blank = b"" if at >= len(lines) else lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    lines[at:at] = [blank + row.encode() for row in line.split("\n")]
    return b"\n".join(lines)


def _tokens(data: bytes) -> list[str]:
    return _TOKEN.findall(data.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode())


# -------------------------------------------------------------------------------------------------------------- trees


def change_tree(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Swap, replace, wrap, move or drop parts of the syntax tree; what comes out is valid Python as a rule."""
    try:
        return _with_changes(random, data, others)
    except (SyntaxError, ValueError, TypeError, AttributeError, RecursionError, MemoryError):
        return change_tokens(random, data, others)  # there is no tree, or the new one says nothing in Python


def _with_changes(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    tree = _parsed(data)
    donor = tree if random.random() < 0.5 else _parsed(random.choice(others))
    for _ in range(random.choice((1, 1, 2, 3, 6))):
        random.choice(_CHANGES)(random, tree, donor)
    return ast.unparse(ast.fix_missing_locations(tree)).encode("utf-8", "surrogatepass")


def _parsed(data: bytes) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(data)


def _expressions(tree: ast.AST) -> list[tuple[ast.AST, str, int | None, ast.expr]]:
    """Each expression that is read, with the place it has: parent, field, index in the field."""
    found = []
    for parent in ast.walk(tree):
        if isinstance(parent, (ast.JoinedStr, ast.FormattedValue, ast.pattern)):
            continue
        for field, value in ast.iter_fields(parent):
            for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(child, ast.expr) and isinstance(getattr(child, "ctx", ast.Load()), ast.Load):
                    found.append((parent, field, index, child))
    return found


def _put(parent: ast.AST, field: str, index: int | None, node: ast.AST) -> None:
    if index is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[index] = node


def _swap_expressions(random: Random, tree: ast.Module, donor: ast.Module) -> None:
    mine, theirs = _expressions(tree), _expressions(donor)
    if mine and theirs:
        parent, field, index, _ = random.choice(mine)
        _put(parent, field, index, copy.deepcopy(random.choice(theirs)[3]))


_WRAPS = (
    "F(X)", "X.x", "X[X]", "X.item()", "torch.compile(X)", "(lambda *a, **k: X)", "[X for y in X if X]", "{X: X}", "(*X,)",
    "X if X else X", "X and X", "X < X < X", "f'{X:{X}}'", "(y := X)", "X(X, *X, **X)", "X[X:X, None, ...]", "-X", "X @ X",
    "{**X}", "X()()", "type(X)(X)", "super(X, X).forward(X)", "getattr(X, 'forward')(X)", "functools.partial(X, X)",
    "X.forward", "torch.where(X, X, X)", "X is not None", "isinstance(X, X)", "next(iter(X))", "X.__class__.__name__",
    "torch.cond(X, X, X, (X,))", "sum(x for x in X)", "dict(zip(X, X))", "X.to(X.device)", "X.data_ptr()", "len(X)",
)  # fmt: skip


def _wrap_expression(random: Random, tree: ast.Module, donor: ast.Module) -> None:
    mine = _expressions(tree)
    if not mine:
        return
    parent, field, index, child = random.choice(mine)
    wrapped = ast.parse(random.choice(_WRAPS), mode="eval").body
    wrapped = _Fill(child).visit(wrapped)
    _put(parent, field, index, wrapped)


class _Fill(ast.NodeTransformer):
    def __init__(self, inside: ast.expr) -> None:
        self.inside = inside

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copy.deepcopy(self.inside) if node.id == "X" else node


def _blocks(tree: ast.AST) -> list[list[ast.stmt]]:
    fields = ("body", "orelse", "finalbody")
    return [
        block for node in ast.walk(tree) for f in fields if isinstance(block := getattr(node, f, None), list) and block
    ]


_BLOCKS = (
    "if x: B", "if x.sum() > 0: B\nelse: B", "for y in x: B\nelse: B", "while x: B", "try: B\nexcept E as e: B\nfinally: B",
    "with x as y, torch.no_grad(): B", "def f(self, x, *y, z=x, **k): B", "class C(nn.Module): B", "async def f(): B",
    "match x:\n case [1, *y] if y: B\n case {'a': y, **z}: B\n case C(a=1) | None: B\n case _: B", "@torch.compile\ndef f(x): B",
    "def f(x):\n yield x\n B", "if torch.compiler.is_compiling(): B", "@torch.no_grad()\ndef f(x): B", "while True:\n B\n break",
    "try: B\nexcept (A, E): B\nelse: B", "for y, *z in x.items():\n if y: continue\n B", "@property\ndef f(self): B",
)  # fmt: skip


def _wrap_statement(random: Random, tree: ast.Module, donor: ast.Module) -> None:
    block = random.choice(_blocks(tree) or [tree.body])
    if not block:
        return
    at = random.randrange(len(block))
    end = at + random.choice((1, 1, 2, 5))
    inside, outside = block[at:end], ast.parse(random.choice(_BLOCKS).replace("B", "BODY"))
    for found in _blocks(outside):
        for index, node in reversed(list(enumerate(found))):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Name) and node.value.id == "BODY":
                found[index : index + 1] = copy.deepcopy(inside)
    for case in [case for node in ast.walk(outside) if isinstance(node, ast.Match) for case in node.cases]:
        case.body = copy.deepcopy(inside)
    block[at:end] = outside.body


def _move_statement(random: Random, tree: ast.Module, donor: ast.Module) -> None:
    blocks = _blocks(tree)
    if not blocks:
        return
    source, target = random.choice(blocks), random.choice(blocks)
    node = random.choice(source)
    if random.random() < 0.5 and len(source) > 1:
        source.remove(node)
    target.insert(random.randrange(len(target) + 1), copy.deepcopy(node))


def _take_in(random: Random, tree: ast.Module, donor: ast.Module) -> None:
    theirs, mine = _blocks(donor), _blocks(tree)
    if theirs and mine:
        block = random.choice(mine)
        block.insert(random.randrange(len(block) + 1), copy.deepcopy(random.choice(random.choice(theirs))))


_CHANGES = (_swap_expressions, _swap_expressions, _wrap_expression, _wrap_statement, _move_statement, _take_in)

# ----------------------------------------------------------------------------------------------------------- choices

SOURCE: tuple[Mutation, ...] = (change_tree,) * 10 + (change_tokens,) * 4 + (change_lines,) * 4 + (nest, change_bytes)
TEXT: tuple[Mutation, ...] = (change_tokens, change_tokens, change_lines, change_bytes, nest)
BYTES: tuple[Mutation, ...] = (change_bytes,)


def mutated(random: Random, seeds: Sequence[bytes], mutations: Sequence[Mutation], largest: int) -> bytes:
    """One of the seeds, changed once or several times; cut to so many bytes."""
    data = random.choice(seeds)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        data = random.choice(mutations)(random, data, seeds)[:largest]
    return data
