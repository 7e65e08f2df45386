"""libcst trees made from what `ast` parses, many times faster than libcst's own parser.

A tree has the nodes that libcst would give, without what is blank between them: all fields that hold whitespace and
punctuation are shared defaults. Parentheses are there where the meaning needs them. Statements that share a line get
lines of their own. Where a node lies is not written down: `Places` reads the text once more for who asks.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, fields
from typing import Any

import libcst as cst
from libcst.metadata import CodePosition, CodeRange

from gblint.interpreter.walk import children


class NotCovered(Exception):
    """The text has syntax that is left to libcst's parser (`match`, `type`)."""


def read(text: str) -> tuple[cst.Module, Places]:
    """The tree of a text, and where its expressions and statements lie.

    Raises NotCovered, SyntaxError, ValueError or RecursionError if libcst has to be asked instead.
    """
    reader = _Reader(text)
    return reader.module, Places(text, reader.nodes, reader.places)


def pairs(written: cst.CSTNode, made: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """The nodes of libcst's own tree of a text, each with the one `read` makes of the same text."""
    stack = [(written, made)]
    while stack:
        one, other = stack.pop()
        if one.__class__ is not other.__class__ and one.__class__ not in _MADE_OTHERWISE:
            continue
        yield one, other
        stack.extend(zip(below(one), below(other), strict=False))


_MADE_OTHERWISE = (cst.SimpleStatementSuite, cst.ConcatenatedString)


def below(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The nodes under one: statements without their lines, of text only what is computed."""
    if type(node) is cst.IndentedBlock or type(node) is cst.Module or type(node) is cst.SimpleStatementSuite:
        return [part for s in node.body for part in (s.body if isinstance(s, cst.SimpleStatementLine) else [s])]
    if type(node) is cst.ConcatenatedString:
        return [*below(node.left), *below(node.right)]
    if type(node) is cst.FormattedString or type(node) is cst.FormattedStringExpression:
        return [part for part in children(node) if type(part) is not cst.FormattedStringText]
    return children(node)


class Places:
    """Where the nodes of a tree lie; rows and columns as libcst counts them (rows from 1, columns from 0).

    nodes: those made, in order; places: row, column, end row and end column of each, as `ast` counts them.
    """

    __slots__ = ("_lines", "_nodes", "_numbers", "_places", "_text")

    def __init__(self, text: str, nodes: list[cst.CSTNode], places: array[int]) -> None:
        self._text = text
        self._nodes = nodes
        self._places = places
        self._lines: list[str] = []
        self._numbers: dict[int, int] = {}

    def get(self, node: cst.CSTNode) -> CodeRange | None:
        """The range of a node; None if it is no expression or statement of the text."""
        if not self._numbers:
            self._lines = self._text.split("\n")
            self._numbers = {id(known): number for number, known in enumerate(self._nodes)}
        number = self._numbers.get(id(node))
        if number is None:
            return None
        row, offset, end_row, end_offset = self._places[4 * number : 4 * number + 4]
        if offset < 0:
            return self._name(row)
        start = CodePosition(row, self._column(row, offset))
        end = CodePosition(end_row, self._column(end_row, end_offset))
        if node.__class__ is cst.GeneratorExp or (isinstance(node, cst.Tuple) and node.lpar):
            return self._inside(start, end)
        return CodeRange(start, end)

    def _name(self, row: int) -> CodeRange | None:
        """Where the definition on a row writes its name."""
        match = _DEFINED.search(self._lines[row - 1])
        if match is None:
            return None
        return CodeRange(CodePosition(row, match.start(1)), CodePosition(row, match.end(1)))

    def _column(self, row: int, offset: int) -> int:
        line = self._lines[row - 1]
        return offset if line.isascii() else len(line.encode()[:offset].decode(errors="ignore"))

    def _inside(self, start: CodePosition, end: CodePosition) -> CodeRange:
        """To `ast` what has to stand in parentheses begins with them, to libcst after them."""
        lines = self._lines[start.line - 1 : end.line]
        lines[-1] = lines[-1][: end.column]
        lines[0] = lines[0][start.column :]
        tokens = tokenize.generate_tokens(io.StringIO("\n".join(lines)).readline)
        _, *inside, closing = [token for token in tokens if token.type not in _NO_CODE]

        def moved(place: tuple[int, int]) -> CodePosition:
            row, column = place
            return CodePosition(start.line + row - 1, column + start.column if row == 1 else column)

        first, last = (inside[0].start, inside[-1].end) if inside else (closing.start, closing.start)
        return CodeRange(moved(first), moved(last))


_NO_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
_TRIPLE = ('"""', "'''")
_DEFINED = re.compile(r"\b(?:def|class)\s+(\w+)")


# -- making nodes -------------------------------------------------------------------------------------------------


def _maker(kind: Any, *given: str) -> Callable[..., Any]:
    """Makes nodes of a class from the fields given, all others set to one shared default each.

    A third of the time that calling the class takes: its `__init__` sets the fields of what is frozen one by one by
    their names, and has them checked. The function is written out as that `__init__` is.
    """
    known: dict[str, Any] = {"make": object.__new__, "kind": kind}
    steps = []
    for field in fields(kind):
        name = field.name
        known[f"set_{name}"] = getattr(kind, name).__set__
        if name not in given:
            default: Any = field.default_factory
            known[f"some_{name}"] = default() if field.default is MISSING else field.default
        steps.append(f"set_{name}(node, {name if name in given else f'some_{name}'})")
    lines = [f"def {kind.__name__}({', '.join(given)}):", "node = make(kind)", *steps, "return node"]
    exec("\n    ".join(lines), known)
    made: Callable[..., Any] = known[kind.__name__]
    return made


_Arg = _maker(cst.Arg, "value", "keyword", "equal", "comma", "star")
_AsName = _maker(cst.AsName, "name")
_Assert = _maker(cst.Assert, "test", "msg")
_Assign = _maker(cst.Assign, "targets", "value")
_AssignTarget = _maker(cst.AssignTarget, "target")
_Attribute = _maker(cst.Attribute, "value", "attr")
_BinaryOperation = _maker(cst.BinaryOperation, "left", "operator", "right")
_BooleanOperation = _maker(cst.BooleanOperation, "left", "operator", "right")
_Call = _maker(cst.Call, "func", "args")
_Comparison = _maker(cst.Comparison, "left", "comparisons")
_ComparisonTarget = _maker(cst.ComparisonTarget, "operator", "comparator")
_Element = _maker(cst.Element, "value")
_Expr = _maker(cst.Expr, "value")
_If = _maker(cst.If, "test", "body", "orelse")
_Index = _maker(cst.Index, "value")
_IndentedBlock = _maker(cst.IndentedBlock, "body")
_Name = _maker(cst.Name, "value")
_Param = _maker(cst.Param, "name", "annotation", "equal", "default", "comma", "star")
_Return = _maker(cst.Return, "value")
_SimpleStatementLine = _maker(cst.SimpleStatementLine, "body")
_StarredElement = _maker(cst.StarredElement, "value")
_Subscript = _maker(cst.Subscript, "value", "slice")
_SubscriptElement = _maker(cst.SubscriptElement, "slice")
_Tuple = _maker(cst.Tuple, "elements", "lpar", "rpar")

_LPAR, _RPAR = (cst.LeftParen(),), (cst.RightParen(),)
_ASYNC = cst.Asynchronous()
_LEFT_OUT = cst.MaybeSentinel.DEFAULT
_EQUAL = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
_BINARY = {
    ast.Add: cst.Add(), ast.Sub: cst.Subtract(), ast.Mult: cst.Multiply(), ast.Div: cst.Divide(),
    ast.FloorDiv: cst.FloorDivide(), ast.Mod: cst.Modulo(), ast.Pow: cst.Power(), ast.MatMult: cst.MatrixMultiply(),
    ast.BitAnd: cst.BitAnd(), ast.BitOr: cst.BitOr(), ast.BitXor: cst.BitXor(), ast.LShift: cst.LeftShift(),
    ast.RShift: cst.RightShift(),
}  # fmt: skip
_INPLACE = {
    ast.Add: cst.AddAssign(), ast.Sub: cst.SubtractAssign(), ast.Mult: cst.MultiplyAssign(),
    ast.Div: cst.DivideAssign(), ast.FloorDiv: cst.FloorDivideAssign(), ast.Mod: cst.ModuloAssign(),
    ast.Pow: cst.PowerAssign(), ast.MatMult: cst.MatrixMultiplyAssign(), ast.BitAnd: cst.BitAndAssign(),
    ast.BitOr: cst.BitOrAssign(), ast.BitXor: cst.BitXorAssign(), ast.LShift: cst.LeftShiftAssign(),
    ast.RShift: cst.RightShiftAssign(),
}  # fmt: skip
_UNARY = {ast.Not: cst.Not(), ast.USub: cst.Minus(), ast.UAdd: cst.Plus(), ast.Invert: cst.BitInvert()}
_BOOLEAN = {ast.And: cst.And(), ast.Or: cst.Or()}
_COMPARE = {
    ast.Eq: cst.Equal(), ast.NotEq: cst.NotEqual(), ast.Lt: cst.LessThan(), ast.LtE: cst.LessThanEqual(),
    ast.Gt: cst.GreaterThan(), ast.GtE: cst.GreaterThanEqual(), ast.Is: cst.Is(), ast.IsNot: cst.IsNot(),
    ast.In: cst.In(), ast.NotIn: cst.NotIn(),
}  # fmt: skip
_CONVERSIONS = {-1: None, 114: "r", 115: "s", 97: "a"}
_TIGHTNESS: dict[type, int] = {  # of operators, for the parentheses that the meaning needs
    ast.NamedExpr: 0, ast.Yield: 0, ast.YieldFrom: 0, ast.Lambda: 1, ast.IfExp: 1, ast.Or: 2, ast.And: 3, ast.Not: 4,
    ast.Compare: 5, ast.BitOr: 6, ast.BitXor: 7, ast.BitAnd: 8, ast.LShift: 9, ast.RShift: 9, ast.Add: 10, ast.Sub: 10,
    ast.Mult: 11, ast.Div: 11, ast.FloorDiv: 11, ast.Mod: 11, ast.MatMult: 11, ast.USub: 12, ast.UAdd: 12,
    ast.Invert: 12, ast.Pow: 13, ast.Await: 14,
}  # fmt: skip
_PRIMARY = 15


class _Reader:
    """Makes the tree of one text.

    nodes, places: each expression and statement made, and where it lies.
    """

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.nodes: list[cst.CSTNode] = []
        self.places = array("i")
        self.module = cst.Module(self.statements(ast.parse(text).body))

    def expr(self, source: Any) -> Any:
        """The node of an expression."""
        kind = source.__class__
        if kind is ast.Name:
            node = _Name(source.id)
        else:
            make = _EXPRESSIONS.get(kind)
            if make is None:
                raise NotCovered
            node = make(self, source)
        self.nodes.append(node)
        self.places.extend((source.lineno, source.col_offset, source.end_lineno, source.end_col_offset))
        return node

    def optional(self, source: ast.expr | None) -> Any:
        """The node of an expression that may be missing."""
        return None if source is None else self.expr(source)

    def operand(self, source: ast.expr, tightness: int) -> Any:
        """The node of an expression that stands beside an operator which binds so tightly."""
        node = self.expr(source)
        own = getattr(source, "op", source).__class__
        if _TIGHTNESS.get(own, _PRIMARY) < tightness:
            object.__setattr__(node, "lpar", _LPAR)
            object.__setattr__(node, "rpar", _RPAR)
        return node

    def statements(self, sources: list[ast.stmt]) -> list[Any]:
        """The nodes of a list of statements."""
        return [self.statement(source) for source in sources]

    def statement(self, source: Any) -> Any:
        """The node of a statement; a simple one on a line of its own."""
        simple = _SIMPLE.get(source.__class__)
        make = simple or _COMPOUND.get(source.__class__)
        if make is None:
            raise NotCovered
        node = make(self, source)
        self.nodes.append(node)
        self.places.extend((source.lineno, source.col_offset, source.end_lineno, source.end_col_offset))
        return _SimpleStatementLine((node,)) if simple is not None else node

    def block(self, sources: list[ast.stmt]) -> Any:
        """An indented block."""
        return _IndentedBlock(self.statements(sources))

    def text_of(self, source: ast.expr) -> str:
        """The text of an expression."""
        first, last = source.lineno - 1, source.end_lineno - 1  # type: ignore[operator]
        start, end = source.col_offset, source.end_col_offset
        line = self.lines[first]
        if first == last:
            return line[start:end] if line.isascii() else line.encode()[start:end].decode()
        parts = [line.encode()[start:].decode(), *self.lines[first + 1 : last]]
        return "\n".join([*parts, self.lines[last].encode()[:end].decode()])

    def in_parentheses(self, source: ast.Tuple) -> bool:
        """Whether a tuple has parentheses of its own."""
        if not source.elts:
            return True
        first = source.elts[0]
        if _place(source) == _place(first):
            return False
        text = self.text_of(source)
        own = self.text_of(first)
        before, _, after = text.partition(own)
        return before.count("(") > after.partition(",")[0].count(")")  # `(a), b` has none

    def name_of(self, source: Any) -> Any:
        """The name node of a definition."""
        node = _Name(source.name)
        self.nodes.append(node)
        self.places.extend((source.lineno, -1, source.lineno, -1))
        return node

    # -- expressions -----------------------------------------------------------------------------------------------

    def constant(self, source: ast.Constant) -> Any:
        value = source.value
        if value is None or value is True or value is False:
            return _Name(str(value))
        if value is ...:
            return _Ellipsis()
        text = self.text_of(source)
        if isinstance(value, str | bytes):
            return _SimpleString(text if _is_one(text) else repr(value))
        kind = _Integer if isinstance(value, int) else _Float if isinstance(value, float) else _Imaginary
        return kind(text)

    def attribute(self, source: ast.Attribute) -> Any:
        return _Attribute(self.operand(source.value, _PRIMARY), _Name(source.attr))

    def call(self, source: ast.Call) -> Any:
        if len(source.args) == 1 and not source.keywords:
            source.args[0].alone = True  # type: ignore[attr-defined]
        return _Call(self.operand(source.func, _PRIMARY), self.arguments(source.args, source.keywords))

    def arguments(self, args: list[ast.expr], keywords: list[ast.keyword]) -> list[Any]:
        """Arguments in the order of the text."""
        made = [
            _Arg(self.expr(a.value if isinstance(a, ast.Starred) else a), None, _LEFT_OUT, _LEFT_OUT, _star(a))
            for a in args
        ]
        named = [
            _Arg(self.expr(k.value), _Name(k.arg), _EQUAL, _LEFT_OUT, "")
            if k.arg is not None
            else _Arg(self.expr(k.value), None, _LEFT_OUT, _LEFT_OUT, "**")
            for k in keywords
        ]
        if made and named and _place(args[-1]) > _place(keywords[0]):
            places = [*map(_place, args), *map(_place, keywords)]
            order = sorted(zip(places, [*made, *named], strict=True), key=lambda pair: pair[0])
            return [arg for _, arg in order]
        return made + named

    def subscript(self, source: ast.Subscript) -> Any:
        index = source.slice
        several = isinstance(index, ast.Tuple) and index.elts and not self.in_parentheses(index)
        parts: list[ast.expr] = index.elts if several else [index]  # type: ignore[attr-defined]
        return _Subscript(
            self.operand(source.value, _PRIMARY), [_SubscriptElement(self.index_part(part)) for part in parts]
        )

    def index_part(self, source: ast.expr) -> Any:
        """One part of a subscript."""
        if isinstance(source, ast.Slice):
            return _slice(self.optional(source.lower), self.optional(source.upper), self.optional(source.step))
        if isinstance(source, ast.Starred):
            raise NotCovered
        return _Index(self.expr(source))

    def binary(self, source: ast.BinOp) -> Any:
        tightness = _TIGHTNESS[source.op.__class__]
        power = source.op.__class__ is ast.Pow
        left = self.operand(source.left, tightness + power)
        right = self.operand(source.right, 12 if power else tightness + 1)
        return _BinaryOperation(left, _BINARY[source.op.__class__], right)

    def unary(self, source: ast.UnaryOp) -> Any:
        kind = source.op.__class__
        return _UnaryOperation(_UNARY[kind], self.operand(source.operand, _TIGHTNESS[kind]))

    def boolean(self, source: ast.BoolOp) -> Any:
        kind = source.op.__class__
        tightness = _TIGHTNESS[kind] + 1
        left = self.operand(source.values[0], tightness)
        for number, value in enumerate(source.values[1:]):
            if number:
                first, last = source.values[0], source.values[number]  # all up to here
                self.nodes.append(left)
                self.places.extend((*_place(first), last.end_lineno or 0, last.end_col_offset or 0))
            left = _BooleanOperation(left, _BOOLEAN[kind], self.operand(value, tightness))
        return left

    def compare(self, source: ast.Compare) -> Any:
        left = self.operand(source.left, 6)
        targets = [
            _ComparisonTarget(_COMPARE[op.__class__], self.operand(value, 6))
            for op, value in zip(source.ops, source.comparators, strict=True)
        ]
        return _Comparison(left, targets)

    def if_else(self, source: ast.IfExp) -> Any:
        return _IfExp(self.operand(source.test, 2), self.operand(source.body, 2), self.expr(source.orelse))

    def named(self, source: ast.NamedExpr) -> Any:
        return _NamedExpr(self.expr(source.target), self.expr(source.value))

    def function(self, source: ast.Lambda) -> Any:
        return _Lambda(self.parameters(source.args), self.expr(source.body))

    def elements(self, sources: list[ast.expr]) -> list[Any]:
        """The elements of a list, tuple or set."""
        return [
            self.expr(e) if e.__class__ is ast.Starred else _Element(self.expr(e))
            for e in sources
        ]  # fmt: skip

    def starred(self, source: ast.Starred) -> Any:
        return _StarredElement(self.expr(source.value))

    def tuple_display(self, source: ast.Tuple) -> Any:
        inside = self.in_parentheses(source)
        return _Tuple(self.elements(source.elts), _LPAR if inside else (), _RPAR if inside else ())

    def list_display(self, source: ast.List) -> Any:
        return _List(self.elements(source.elts))

    def set_display(self, source: ast.Set) -> Any:
        return _Set(self.elements(source.elts))

    def dict_display(self, source: ast.Dict) -> Any:
        return _Dict(
            [
                _StarredDictElement(self.expr(value)) if key is None else _DictElement(self.expr(key), self.expr(value))
                for key, value in zip(source.keys, source.values, strict=True)
            ]
        )

    def list_comp(self, source: ast.ListComp) -> Any:
        return _ListComp(self.expr(source.elt), self.loops(source.generators))

    def set_comp(self, source: ast.SetComp) -> Any:
        return _SetComp(self.expr(source.elt), self.loops(source.generators))

    def dict_comp(self, source: ast.DictComp) -> Any:
        return _DictComp(self.expr(source.key), self.expr(source.value), self.loops(source.generators))

    def generator(self, source: ast.GeneratorExp) -> Any:
        alone = hasattr(source, "alone")
        element, loops = self.expr(source.elt), self.loops(source.generators)
        return _GeneratorExp(element, loops, () if alone else _LPAR, () if alone else _RPAR)

    def loops(self, sources: list[ast.comprehension]) -> Any:
        """The `for` clauses of a comprehension, each within the one before."""
        inner = None
        for clause in reversed(sources):
            target, iterated = self.expr(clause.target), self.operand(clause.iter, 2)
            tests = [_CompIf(self.expr(test)) for test in clause.ifs]
            inner = _CompFor(target, iterated, tests, inner, _ASYNC if clause.is_async else None)
        return inner

    def awaited(self, source: ast.Await) -> Any:
        return _Await(self.operand(source.value, _PRIMARY))

    def yielded(self, source: ast.Yield) -> Any:
        return _Yield(self.optional(source.value))

    def yielded_from(self, source: ast.YieldFrom) -> Any:
        return _Yield(_From(self.expr(source.value)))

    def formatted(self, source: ast.JoinedStr) -> Any:
        return _FormattedString([self.part(part) for part in source.values])

    def part(self, source: ast.expr) -> Any:
        """A part of a formatted string."""
        if isinstance(source, ast.Constant):
            return _FormattedStringText(str(source.value).replace("{", "{{").replace("}", "}}"))
        assert isinstance(source, ast.FormattedValue)
        spec = source.format_spec
        parts = [self.part(part) for part in spec.values] if isinstance(spec, ast.JoinedStr) else None
        return _FormattedStringExpression(self.expr(source.value), _CONVERSIONS[source.conversion], parts)

    # -- simple statements -----------------------------------------------------------------------------------------

    def expression(self, source: ast.Expr) -> Any:
        return _Expr(self.expr(source.value))

    def assign(self, source: ast.Assign) -> Any:
        targets = [_AssignTarget(self.expr(target)) for target in source.targets]
        return _Assign(targets, self.expr(source.value))

    def ann_assign(self, source: ast.AnnAssign) -> Any:
        target, annotation = self.expr(source.target), _Annotation(self.expr(source.annotation))
        return _AnnAssign(target, annotation, self.optional(source.value))

    def aug_assign(self, source: ast.AugAssign) -> Any:
        return _AugAssign(self.expr(source.target), _INPLACE[source.op.__class__], self.expr(source.value))

    def returned(self, source: ast.Return) -> Any:
        return _Return(self.optional(source.value))

    def raised(self, source: ast.Raise) -> Any:
        cause = None if source.cause is None else _From(self.expr(source.cause))
        return _Raise(self.optional(source.exc), cause)

    def asserted(self, source: ast.Assert) -> Any:
        return _Assert(self.expr(source.test), self.optional(source.msg))

    def deleted(self, source: ast.Delete) -> Any:
        if len(source.targets) == 1:
            return _Del(self.expr(source.targets[0]))
        return _Del(_Tuple(self.elements(source.targets), (), ()))

    def imported(self, source: ast.Import) -> Any:
        return _Import([_alias(alias) for alias in source.names])

    def imported_from(self, source: ast.ImportFrom) -> Any:
        star = source.names[0].name == "*"
        module = _dotted(source.module) if source.module else None
        names: Any = cst.ImportStar() if star else [_alias(alias) for alias in source.names]
        return _ImportFrom(module, names, [_DOT] * source.level)

    def global_names(self, source: ast.Global) -> Any:
        return _Global([_NameItem(_Name(name)) for name in source.names])

    def nonlocal_names(self, source: ast.Nonlocal) -> Any:
        return _Nonlocal([_NameItem(_Name(name)) for name in source.names])

    def passed(self, source: ast.Pass) -> Any:
        return cst.Pass()

    def broken(self, source: ast.Break) -> Any:
        return cst.Break()

    def continued(self, source: ast.Continue) -> Any:
        return cst.Continue()

    # -- compound statements ---------------------------------------------------------------------------------------

    def if_statement(self, source: ast.If) -> Any:
        test, body = self.expr(source.test), self.block(source.body)
        return _If(test, body, self.else_of(source.orelse))

    def else_of(self, sources: list[ast.stmt]) -> Any:
        """`elif` or `else`, or nothing."""
        if not sources:
            return None
        first = sources[0]
        if len(sources) == 1 and isinstance(first, ast.If) and self.lines[first.lineno - 1].startswith(
            "elif", len(self.lines[first.lineno - 1].encode()[: first.col_offset].decode())
        ):  # fmt: skip
            return self.statement(first)
        return _Else(self.block(sources))

    def for_loop(self, source: ast.For | ast.AsyncFor) -> Any:
        target, iterated, body = self.expr(source.target), self.expr(source.iter), self.block(source.body)
        orelse = _Else(self.block(source.orelse)) if source.orelse else None
        return _For(target, iterated, body, orelse, _ASYNC if isinstance(source, ast.AsyncFor) else None)

    def while_loop(self, source: ast.While) -> Any:
        test, body = self.expr(source.test), self.block(source.body)
        return _While(test, body, _Else(self.block(source.orelse)) if source.orelse else None)

    def guarded(self, source: ast.Try) -> Any:
        handler, kind = (_ExceptHandler, _Try) if isinstance(source, ast.Try) else (_ExceptStarHandler, _TryStar)
        body = self.block(source.body)
        handlers = []
        for one in source.handlers:
            caught = self.optional(one.type)
            name = None if one.name is None else _AsName(_Name(one.name))
            handlers.append(handler(self.block(one.body), caught, name))
        orelse = _Else(self.block(source.orelse)) if source.orelse else None
        return kind(body, handlers, orelse, _Finally(self.block(source.finalbody)) if source.finalbody else None)

    def with_block(self, source: ast.With | ast.AsyncWith) -> Any:
        items = [
            _WithItem(
                self.expr(item.context_expr),
                None if item.optional_vars is None else _AsName(self.expr(item.optional_vars)),
            )
            for item in source.items
        ]
        return _With(items, self.block(source.body), _ASYNC if isinstance(source, ast.AsyncWith) else None)

    def function_def(self, source: ast.FunctionDef | ast.AsyncFunctionDef) -> Any:
        if getattr(source, "type_params", None):
            raise NotCovered
        decorators = [_Decorator(self.expr(decorator)) for decorator in source.decorator_list]
        name, parameters = self.name_of(source), self.parameters(source.args)
        returns = None if source.returns is None else _Annotation(self.expr(source.returns))
        coroutine = _ASYNC if isinstance(source, ast.AsyncFunctionDef) else None
        return _FunctionDef(name, parameters, self.block(source.body), decorators, returns, coroutine)

    def class_def(self, source: ast.ClassDef) -> Any:
        if getattr(source, "type_params", None):
            raise NotCovered
        decorators = [_Decorator(self.expr(decorator)) for decorator in source.decorator_list]
        if len(source.bases) == 1 and not source.keywords:
            source.bases[0].alone = True  # type: ignore[attr-defined]
        name = self.name_of(source)
        bases, keywords = self.arguments(source.bases, []), self.arguments([], source.keywords)
        return _ClassDef(name, self.block(source.body), bases, keywords, decorators)

    def parameters(self, source: ast.arguments) -> Any:
        """The parameters of a function or lambda."""
        plain = [*source.posonlyargs, *source.args]
        blank: Sequence[ast.expr | None] = [None] * (len(plain) - len(source.defaults))
        made = [self.parameter(a, d) for a, d in zip(plain, [*blank, *source.defaults], strict=True)]
        named = [self.parameter(a, d) for a, d in zip(source.kwonlyargs, source.kw_defaults, strict=True)]
        star: Any = _LEFT_OUT
        if source.vararg is not None:
            star = self.parameter(source.vararg, None, "*")
        elif named:
            star = _PARAM_STAR
        star_star = None if source.kwarg is None else self.parameter(source.kwarg, None, "**")
        first = len(source.posonlyargs)
        return _Parameters(made[first:], star, named, star_star, made[:first])

    def parameter(self, source: ast.arg, default: ast.expr | None, star: str = "") -> Any:
        """One parameter."""
        annotation = None if source.annotation is None else _Annotation(self.expr(source.annotation))
        equal = _LEFT_OUT if default is None else _EQUAL
        return _Param(_Name(source.arg), annotation, equal, self.optional(default), _LEFT_OUT, star)


def _is_one(text: str) -> bool:
    """Whether a text is one literal, and not several in a row."""
    quotes = text[-3:] if text[-3:] in _TRIPLE else text[-1]
    return text.count(quotes) == 2 and text.lstrip("rRbBuU").startswith(quotes)


def _star(source: ast.expr) -> str:
    return "*" if source.__class__ is ast.Starred else ""


def _place(source: ast.expr | ast.keyword) -> tuple[int, int]:
    return source.lineno, source.col_offset


def _slice(lower: Any, upper: Any, step: Any) -> Any:
    return _Slice(lower, upper, step, _COLON if step is not None else _LEFT_OUT)


def _dotted(name: str) -> Any:
    first, *rest = name.split(".")
    node = _Name(first)
    for part in rest:
        node = _Attribute(node, _Name(part))
    return node


def _alias(source: ast.alias) -> Any:
    return _ImportAlias(_dotted(source.name), None if source.asname is None else _AsName(_Name(source.asname)))


_AnnAssign = _maker(cst.AnnAssign, "target", "annotation", "value")
_Annotation = _maker(cst.Annotation, "annotation")
_AugAssign = _maker(cst.AugAssign, "target", "operator", "value")
_Await = _maker(cst.Await, "expression")
_ClassDef = _maker(cst.ClassDef, "name", "body", "bases", "keywords", "decorators")
_COLON = cst.Colon()
_CompFor = _maker(cst.CompFor, "target", "iter", "ifs", "inner_for_in", "asynchronous")
_CompIf = _maker(cst.CompIf, "test")
_Decorator = _maker(cst.Decorator, "decorator")
_Del = _maker(cst.Del, "target")
_Dict = _maker(cst.Dict, "elements")
_DictComp = _maker(cst.DictComp, "key", "value", "for_in")
_DictElement = _maker(cst.DictElement, "key", "value")
_DOT = cst.Dot()
_Ellipsis = _maker(cst.Ellipsis)
_Else = _maker(cst.Else, "body")
_ExceptHandler = _maker(cst.ExceptHandler, "body", "type", "name")
_ExceptStarHandler = _maker(cst.ExceptStarHandler, "body", "type", "name")
_Finally = _maker(cst.Finally, "body")
_Float = _maker(cst.Float, "value")
_For = _maker(cst.For, "target", "iter", "body", "orelse", "asynchronous")
_FormattedString = _maker(cst.FormattedString, "parts")
_FormattedStringText = _maker(cst.FormattedStringText, "value")
_FormattedStringExpression = _maker(cst.FormattedStringExpression, "expression", "conversion", "format_spec")
_From = _maker(cst.From, "item")
_FunctionDef = _maker(cst.FunctionDef, "name", "params", "body", "decorators", "returns", "asynchronous")
_GeneratorExp = _maker(cst.GeneratorExp, "elt", "for_in", "lpar", "rpar")
_Global = _maker(cst.Global, "names")
_IfExp = _maker(cst.IfExp, "test", "body", "orelse")
_Imaginary = _maker(cst.Imaginary, "value")
_Import = _maker(cst.Import, "names")
_ImportAlias = _maker(cst.ImportAlias, "name", "asname")
_ImportFrom = _maker(cst.ImportFrom, "module", "names", "relative")
_Integer = _maker(cst.Integer, "value")
_Lambda = _maker(cst.Lambda, "params", "body")
_List = _maker(cst.List, "elements")
_ListComp = _maker(cst.ListComp, "elt", "for_in")
_NamedExpr = _maker(cst.NamedExpr, "target", "value")
_NameItem = _maker(cst.NameItem, "name")
_Nonlocal = _maker(cst.Nonlocal, "names")
_PARAM_STAR = cst.ParamStar()
_Parameters = _maker(cst.Parameters, "params", "star_arg", "kwonly_params", "star_kwarg", "posonly_params")
_Raise = _maker(cst.Raise, "exc", "cause")
_Set = _maker(cst.Set, "elements")
_SetComp = _maker(cst.SetComp, "elt", "for_in")
_SimpleString = _maker(cst.SimpleString, "value")
_Slice = _maker(cst.Slice, "lower", "upper", "step", "second_colon")
_StarredDictElement = _maker(cst.StarredDictElement, "value")
_Try = _maker(cst.Try, "body", "handlers", "orelse", "finalbody")
_TryStar = _maker(cst.TryStar, "body", "handlers", "orelse", "finalbody")
_UnaryOperation = _maker(cst.UnaryOperation, "operator", "expression")
_While = _maker(cst.While, "test", "body", "orelse")
_With = _maker(cst.With, "items", "body", "asynchronous")
_WithItem = _maker(cst.WithItem, "item", "asname")
_Yield = _maker(cst.Yield, "value")

_EXPRESSIONS: dict[type, Callable[[_Reader, Any], Any]] = {
    ast.Attribute: _Reader.attribute, ast.Await: _Reader.awaited, ast.BinOp: _Reader.binary,
    ast.BoolOp: _Reader.boolean, ast.Call: _Reader.call, ast.Compare: _Reader.compare, ast.Constant: _Reader.constant,
    ast.Dict: _Reader.dict_display, ast.DictComp: _Reader.dict_comp, ast.GeneratorExp: _Reader.generator,
    ast.IfExp: _Reader.if_else, ast.JoinedStr: _Reader.formatted, ast.Lambda: _Reader.function,
    ast.List: _Reader.list_display, ast.ListComp: _Reader.list_comp, ast.NamedExpr: _Reader.named,
    ast.Set: _Reader.set_display,
    ast.SetComp: _Reader.set_comp, ast.Starred: _Reader.starred, ast.Subscript: _Reader.subscript,
    ast.Tuple: _Reader.tuple_display, ast.UnaryOp: _Reader.unary, ast.Yield: _Reader.yielded,
    ast.YieldFrom: _Reader.yielded_from,
}  # fmt: skip
_SIMPLE: dict[type, Callable[[_Reader, Any], Any]] = {
    ast.AnnAssign: _Reader.ann_assign, ast.Assert: _Reader.asserted, ast.Assign: _Reader.assign,
    ast.AugAssign: _Reader.aug_assign, ast.Break: _Reader.broken, ast.Continue: _Reader.continued,
    ast.Delete: _Reader.deleted, ast.Expr: _Reader.expression, ast.Global: _Reader.global_names,
    ast.Import: _Reader.imported, ast.ImportFrom: _Reader.imported_from, ast.Nonlocal: _Reader.nonlocal_names,
    ast.Pass: _Reader.passed, ast.Raise: _Reader.raised, ast.Return: _Reader.returned,
}  # fmt: skip
_COMPOUND: dict[type, Callable[[_Reader, Any], Any]] = {
    ast.AsyncFor: _Reader.for_loop, ast.AsyncFunctionDef: _Reader.function_def, ast.AsyncWith: _Reader.with_block,
    ast.ClassDef: _Reader.class_def, ast.For: _Reader.for_loop, ast.FunctionDef: _Reader.function_def,
    ast.If: _Reader.if_statement, ast.Try: _Reader.guarded, ast.While: _Reader.while_loop,
    ast.With: _Reader.with_block,
}  # fmt: skip
if hasattr(ast, "TryStar"):
    _COMPOUND[ast.TryStar] = _Reader.guarded
