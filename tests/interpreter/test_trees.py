"""Trees made from `ast` hold what libcst's own parser gives, at the same places."""

import ast
from collections.abc import Iterator
from pathlib import Path

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

import gblint
from gblint.interpreter import trees
from gblint.interpreter.source import code
from gblint.interpreter.walk import children

EVERYTHING = '''\
import a.b as c, d
from . import e
from ..f.g import h as i, (j)
from k import *

@l.m(1, n=2)
@o
class P(Q, metaclass=R, **kw):
    """Text."""

    x: int = 1
    y: str

    async def f(self, a, /, b: int = 1, *args: int, c, d=(2), **kw) -> "T":
        global g1, g2
        async with a as b, (c): pass
        async for x, *y in z:
            await (x + y)[0]
        else:
            del a, b[0]
        return (yield)

    def g(this, *, only):
        nonlocal_ = lambda u, *v, w=1, **k: (u, v)
        for i in range(3): continue
        while True:
            if a: break
            elif not b: pass
            else: assert x, "text"
        else:
            raise A from b
        try:
            x += 1; y @= 2; z = w = 3
        except (A, B) as error:
            raise
        except C:
            ...
        else:
            pass
        finally:
            x[1:2, ::3, ..., None] = [*a, -1, ~b, +c, 1.5, 2j, b"bytes", r"raw"]
        x[(1, 2)], x[(1), (2)], x[a, b] = y[:], y[1:], y[::2]
        return not a or b and c or (d and e) and f, a < b <= c, a is not b, a not in b, x if y else z

def h():
    yield from (x for x in y)
    print(any(x for x in y if x if z for w in x), *a, b=1, *c, **d)
    a = {**b, 1: 2, "c": {1, *d}, "e": [x async for x in y], "f": {x: y for x in z}, "g": {x for x in y}}
    if (n := len(a)) > 2 ** -1 * (3 + 4) - (5 - 6) << 1 >> 2 & 3 | 4 ^ 5 // 6 % 7 / 8: pass
    b = f"{a!r:>{b}} {{text}} {c.d}"
    é = "ü", ( "ö" , (a, b), (c), ), (), (
        1,
    )
    return (
        a
        .b(c, # comment
           d)
    )
'''


def flat(node: cst.CSTNode) -> list[cst.CSTNode]:
    """What lies below a node: statements without their lines, of text only what is computed."""
    below = children(node)
    if isinstance(node, cst.IndentedBlock | cst.Module | cst.SimpleStatementSuite):
        return [part for s in below for part in (s.body if isinstance(s, cst.SimpleStatementLine) else [s])]
    return [part for part in below if not isinstance(part, cst.FormattedStringText)]


def pairs(one: cst.CSTNode, other: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    if isinstance(one, cst.ConcatenatedString):  # `ast` has put its parts together
        assert isinstance(other, cst.SimpleString | cst.FormattedString)
        return
    if not isinstance(one, cst.SimpleStatementSuite):
        assert type(one) is type(other)
    yield one, other
    below, beside = flat(one), flat(other)
    assert len(below) == len(beside), code(one)
    for a, b in zip(below, beside, strict=True):
        yield from pairs(a, b)


def compare(text: str) -> int:
    """Compare both trees of a text; give the number of places compared."""
    theirs = cst.parse_module(text)
    ours, places = trees.read(text)
    expected = MetadataWrapper(theirs, unsafe_skip_copy=True).resolve(PositionProvider)
    compared = 0
    for a, b in pairs(theirs, ours):
        for name in ("star", "conversion", "operator", "value"):
            mine, its = getattr(b, name, None), getattr(a, name, None)
            assert mine == its if isinstance(its, str) else type(mine) is type(its) or name == "value"
        assert bool(getattr(a, "asynchronous", None)) == bool(getattr(b, "asynchronous", None))
        place = places.get(b)
        if place is not None and not isinstance(b, cst.BaseCompoundStatement):
            assert place.start == expected[a].start, code(a)
            # where `a or (b)` ends within `a or (b) or c` is not written down
            assert place.end == expected[a].end or isinstance(a, cst.BooleanOperation), code(a)
            compared += 1
    return compared


def test_every_kind_of_syntax() -> None:
    text = EVERYTHING.replace("import h as i, (j)", "import (h as i, j)")
    assert compare(text) > 200


@pytest.mark.parametrize(
    "text",
    [
        "(  # c\n a,\n b,\n)", "(a,  # c\n b,  # d\n)", "(\n # c\n a,\n b\n # e\n)", "(a, '#',  # '\n)", "()", "( )",
        "(\n # c\n)", "(  # c\n a for a in b  # d\n)", "(('é', (1,)), )",
    ],
)  # fmt: skip
def test_what_stands_in_parentheses(text: str) -> None:
    assert compare(f"x = {text}\n")


def test_parts_of_text_that_stand_side_by_side() -> None:
    compare("""x = "a" 'b'\ny = f"{a}" "b"\n""")
    module, _ = trees.read("""x = ("a"\n 'b')\n""")
    (line,) = module.body
    assert isinstance(line, cst.SimpleStatementLine)
    assign = line.body[0]
    assert isinstance(assign, cst.Assign)
    assert isinstance(assign.value, cst.SimpleString)
    assert assign.value.evaluated_value == "ab"


@pytest.mark.parametrize(
    "path", sorted(Path(gblint.__file__).parent.glob("interpreter/[c-f]*.py")), ids=lambda p: p.name
)
def test_sources(path: Path) -> None:
    text = path.read_text(encoding="utf8")
    assert compare(text) > 100


@pytest.mark.parametrize(
    "text",
    [
        "(a + b) * c", "a + b * c", "a - (b - c)", "(-a) ** -b", "(a if b else c).d", "(lambda: a)()", "not (a and b)",
        "(a or b) and c", "(a < b) < c", "(await a).b", "f(x for x in y)", "(x for x in y).z", "f(a=1, *b, **c)",
        "a[1:2, ::3]", "a[(b)]", "(a, b)[0]", "(a := b) + c", "f(a)(b)", "{a: b, **c}", "(yield a) + b",
    ],
)  # fmt: skip
def test_text_means_the_same(text: str) -> None:
    module, _ = trees.read(text)
    assert ast.dump(ast.parse(module.code)) == ast.dump(ast.parse(text))


def test_match_is_left_to_libcst() -> None:
    with pytest.raises(trees.NotCovered):
        trees.read("match a:\n    case 1: pass\n")
