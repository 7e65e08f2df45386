"""One finding in its source, as a codemod sees it: the tree, what is known of the values, and the making of edits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import libcst as cst

from gblint.findings.finding import Edit, Finding
from gblint.fixing import imports
from gblint.fixing.reading import Reading, reading
from gblint.fixing.text import indent_of, reindent
from gblint.interpreter.source import Chunk
from gblint.interpreter.values import (
    Const,
    External,
    Plain,
    Tensor,
    Value,
    as_tensor,
    join_all,
    members,
)
from gblint.interpreter.walk import walk_scope

if TYPE_CHECKING:
    from gblint.fixing.outline import Outline
    from gblint.index.model import ModuleInfo
    from gblint.interpreter.machine import Machine
    from gblint.knowledge import Knowledge

N = TypeVar("N", bound=cst.CSTNode)
Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement
_PRINTER = cst.Module([])
_BLOCKS = (cst.IndentedBlock, cst.SimpleStatementSuite, cst.Module)


class Refusal(Exception):
    """A codemod declines; the message says which precondition failed."""


class Site:
    """A finding with the tree around it. Nodes are those of the function's own tree; positions are the file's.

    finding: code, slug, message and place. node: the expression or statement that breaks. event: kind of the step
    ("call", "branch", "index", "operator", …). chunk: the function's text and tree. options: `[tool.gblint.fix]`.
    """

    def __init__(
        self, machine: Machine, chunk: Chunk, node: cst.CSTNode, finding: Finding, options: dict[str, str]
    ) -> None:
        self._machine = machine
        self.chunk = chunk.written
        self.node = self.chunk.of_seen(node)
        self.finding = finding
        self.options = options
        self.outlined: Outline | str | None = None  # what `outline` has found or why not: several codemods ask

    # -- facts -----------------------------------------------------------------------------------------------------

    @property
    def machine(self) -> Machine:
        """The analysis the finding is from."""
        return self._machine

    @property
    def knowledge(self) -> Knowledge:
        """What is known of the target torch."""
        return self._machine.knowledge

    @property
    def torch(self) -> tuple[int, int]:
        """The target release as (major, minor)."""
        return self._machine.context.torch

    @property
    def module(self) -> ModuleInfo:
        """The index of the file."""
        return self.chunk.module

    def enabled(self, setting: str) -> bool:
        """True if a boolean Dynamo setting is switched on in the project ("capture_scalar_outputs")."""
        return self._machine.context.enabled(setting)

    def value(self, node: cst.CSTNode) -> Value | None:
        """What an expression was on all traced runs; None if it never ran."""
        found = self._machine.values.get(id(self.seen(node)))
        return join_all(found) if found else None

    def seen(self, node: cst.CSTNode) -> cst.CSTNode:
        """The node that the interpreter ran for one of the source."""
        return self.chunk.seen(node)

    def tensor(self, node: cst.CSTNode) -> Tensor | None:
        """The tensor an expression surely is; None if it may be anything else."""
        value = self.value(node)
        if value is None:
            return None
        parts = members(value)
        return as_tensor(value) if all(isinstance(p, Tensor) and p.c >= SURE for p in parts) else None

    def is_plain(self, node: cst.CSTNode) -> bool:
        """Whether an expression is surely a Python value without tensors in it (a number, a string, None)."""
        if isinstance(node, cst.BaseNumber | cst.BaseString):
            return True
        value = self.value(node)
        return value is not None and all(isinstance(p, Plain | Const) for p in members(value))

    def constant(self, node: cst.CSTNode) -> object:
        """The Python constant an expression surely is; raises KeyError if it is none. None itself is a constant."""
        value = self.value(node)
        if not isinstance(value, Const):
            raise KeyError(self.text(node))
        return value.value

    def dotted(self, node: cst.CSTNode) -> str:
        """The canonical name of the library function or class that an expression stands for ("torch.where"); for a
        method of a tensor "torch.Tensor.item"; "" if it is none or unknown."""
        value = self.value(node)
        if isinstance(value, External):
            return "" if self._unbound(node) else self.knowledge.canonical(value.dotted)
        if isinstance(node, cst.Call):
            return ""
        if isinstance(node, cst.Attribute) and self.value(node.value) is not None:
            if as_tensor(self.value(node.value)) is not None:
                return f"torch.Tensor.{node.attr.value}"
        text = _dotted_text(node)
        head, _, rest = text.partition(".")
        if not text or self.binds(head):
            return ""
        base = imports.meaning(self.module, head)
        return self.knowledge.canonical(f"{base}.{rest}" if rest else base) if base else ""

    def _unbound(self, node: cst.CSTNode) -> bool:
        """Whether an expression starts with a variable that is bound further on only: reading it is an error."""
        head = _dotted_text(node).partition(".")[0]
        first = next(iter(self.stores(head)), None)
        return first is not None and self.span(first) > self.span(node)

    def callee(self, node: cst.CSTNode) -> str:
        """As `dotted`, of what a call calls; "" for anything that is no call, and for a method called through the class
        (`torch.Tensor.item(x)`): what stands in front of its name is not what it works on."""
        if not isinstance(node, cst.Call):
            return ""
        name, func = self.dotted(node.func), node.func
        if name.startswith("torch.Tensor.") and isinstance(func, cst.Attribute):
            return "" if self.dotted(func.value) == "torch.Tensor" else name
        return name

    # -- tree ------------------------------------------------------------------------------------------------------

    @cached_property
    def _read(self) -> Reading:
        return reading(self.chunk.tree)

    @property
    def shared_names(self) -> frozenset[str]:
        """Names that a function here declares global or nonlocal."""
        return self._read.shared

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node directly above (whitespace and punctuation are no nodes here)."""
        return self._read.parents.get(node)

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes above, innermost first."""
        above = self._read.parents.get(node)
        while above is not None:
            yield above
            above = self._read.parents.get(above)

    def enclosing(self, node: cst.CSTNode, *kinds: type[N]) -> N | None:
        """The innermost node above that is of one of the kinds, inside the same function."""
        for above in self.ancestors(node):
            if isinstance(above, kinds):
                return above
            if isinstance(above, cst.FunctionDef | cst.Lambda | cst.ClassDef):
                return None
        return None

    @cached_property
    def function(self) -> cst.FunctionDef:
        """The innermost function (no lambda) that the node stands in; raises Refusal at module level."""
        for above in (self.node, *self.ancestors(self.node)):
            if isinstance(above, cst.FunctionDef):
                return above
        raise Refusal("the code is not part of a function")

    def statement(self, node: cst.CSTNode) -> Statement:
        """The innermost whole statement (a line or a compound statement) that holds the node or is it."""
        for above in (node, *self.ancestors(node)):
            if isinstance(above, cst.SimpleStatementLine | cst.BaseCompoundStatement):
                return above
        raise Refusal("the code is not part of a statement")

    def lone_statement(self, node: cst.CSTNode) -> cst.BaseSmallStatement:
        """The small statement that holds the node or is it; raises Refusal if it shares its line with others."""
        line = self.statement(node)
        if not isinstance(line, cst.SimpleStatementLine):
            raise Refusal("the code is part of the head of a compound statement")
        if len(line.body) != 1:
            raise Refusal("the statement shares its line with others")
        return line.body[0]

    def block(self, statement: Statement) -> list[Statement]:
        """The statements of the block that a statement stands in, itself included."""
        above = self.parent(statement)
        if isinstance(above, cst.IndentedBlock | cst.Module):
            return [s for s in above.body if isinstance(s, cst.SimpleStatementLine | cst.BaseCompoundStatement)]
        raise Refusal("the statement stands on the line of the one it belongs to")

    def following(self, statement: Statement) -> list[Statement]:
        """The statements after one in its block."""
        block = self.block(statement)
        return block[block.index(statement) + 1 :]

    def loop(self, node: cst.CSTNode) -> cst.For | cst.While | None:
        """The innermost loop round a node, inside the same function."""
        found: cst.For | cst.While | None = self.enclosing(node, cst.For, cst.While)  # type: ignore[assignment]
        return found

    def calls(self, within: Iterable[cst.CSTNode]) -> Iterator[cst.Call]:
        """The calls in some nodes, nested functions left out."""
        return (n for n in walk_scope(list(within)) if isinstance(n, cst.Call))

    # -- names -----------------------------------------------------------------------------------------------------

    @property
    def names(self) -> list[cst.Name]:
        """Every place in the outermost function where a variable stands, in the order of the text."""
        return self._read.names

    def uses(self, name: str) -> list[cst.Name]:
        """Every place in the text of the outermost function that reads or binds a variable, in order of the text."""
        return self._read.uses.get(name, [])

    def is_store(self, name: cst.Name) -> bool:
        """Whether a place of `uses` binds (or deletes) the variable; `x += 1` and `del x` count."""
        return name in self._read.stored

    def loads(self, name: str) -> list[cst.Name]:
        """The places that read a variable."""
        return [n for n in self.uses(name) if not self.is_store(n)]

    def readings(self, name: str) -> list[cst.Name]:
        """The places that need the value of a variable: those of `loads`, and `x += 1`."""
        return [n for n in self.uses(name) if not self.is_store(n) or isinstance(self.parent(n), cst.AugAssign)]

    def stores(self, name: str) -> list[cst.Name]:
        """The places that bind a variable, parameters included."""
        return [n for n in self.uses(name) if self.is_store(n)]

    def after(self, node: cst.CSTNode) -> list[cst.Name]:
        """The variables in the text behind a node (in a loop, the whole loop comes again after it)."""
        return self._read.after(node)

    def inside(self, statements: Iterable[Statement]) -> frozenset[cst.CSTNode]:
        """Some statements and all nodes in them."""
        return frozenset().union(*map(self._read.below, statements))

    def binds(self, name: str) -> bool:
        """Whether the outermost function binds a name itself (so that it does not mean the module's)."""
        return name in self._read.bound

    def imports_here(self, module: str) -> bool:
        """Whether a top-level module has been imported by its own name, inside the function, where the site is reached:
        `import torch` in a block around the site, in front of it, and nothing else binds the name."""
        row = self.span(self.node)[0]
        found = False
        for node in self._read.imported:
            if node.evaluated_alias or node.evaluated_name != module:
                continue
            line = self.statement(node)
            around = self.parent(line)
            in_front = self.span(line)[0] < row and around in set(self.ancestors(self.node))
            found = found or (in_front and isinstance(self.parent(node), cst.Import))
        return found and not self.stores(module) and module not in self._read.parameters

    def parameters(self) -> list[str]:
        """Names of the parameters of `function`, in order."""
        return [p.name.value for p in walk_parameters(self.function.params)]

    def fresh(self, name: str) -> str:
        """A name like the one given that neither the function nor the module uses."""
        candidate, count = name, 1
        while candidate in self._read.all_names or candidate in self.module.bindings:
            count += 1
            candidate = f"{name}_{count}"
        return candidate

    # -- text ------------------------------------------------------------------------------------------------------

    @cached_property
    def lines(self) -> list[str]:
        """The rows of the file, without line ends."""
        return self._machine.project.lines(self.module, 1, self.module.rows + 1).split("\n")

    def text(self, node: cst.CSTNode) -> str:
        """The source of an expression or statement as it stands (comments in front of a statement left out)."""
        return _PRINTER.code_for_node(node).strip() if isinstance(node, Statement) else _PRINTER.code_for_node(node)

    def flat(self, node: cst.CSTNode) -> str:
        """The source of an expression on one line; raises Refusal where a comment stands in it."""
        text = self.text(node)
        if "\n" not in text:
            return text
        if "#" in text or '"""' in text or "'''" in text:
            raise Refusal("the expression spans lines with comments or long strings in them")
        joined = " ".join(part.strip() for part in text.split("\n"))
        for bracket in "([{":
            joined = joined.replace(f"{bracket} ", bracket)
        for bracket in ")]}":
            joined = joined.replace(f", {bracket}", bracket).replace(f" {bracket}", bracket)
        return joined

    def indent(self, statement: cst.CSTNode) -> str:
        """The whitespace in front of a statement."""
        row = self.span(statement)[0]
        return indent_of(self.lines[row - 1])

    @cached_property
    def step(self) -> str:
        """One level of indentation, as the function around the site has it."""
        block = self.function.body
        if isinstance(block, cst.IndentedBlock) and block.body:
            inner = self.indent(block.body[0])
            row = next(r for r in range(self.span(self.function)[0], len(self.lines) + 1) if self._is_def(r))
            outer = indent_of(self.lines[row - 1])
            if inner.startswith(outer) and inner != outer:
                return inner[len(outer) :]
        return "    "

    def _is_def(self, row: int) -> bool:
        return self.lines[row - 1].lstrip().startswith(("def ", "async def "))

    def span(self, node: cst.CSTNode) -> tuple[int, int, int, int]:
        """(row, column, end row, end column) in the file, 1-based; of a line that of its statements, without a trailing
        comment."""
        if isinstance(node, cst.SimpleStatementLine):
            first, last = self.chunk.span(node.body[0]), self.chunk.span(node.body[-1])
            return (*first[:2], *last[2:])
        return self.chunk.span(node)

    def _rows(self, first: cst.CSTNode, last: cst.CSTNode) -> tuple[int, int]:
        return self.span(first)[0], self.last_row(last)

    def last_row(self, statement: cst.CSTNode) -> int:
        """The last row of a statement's own text, its blocks included."""
        deepest: cst.CSTNode = statement
        while True:
            inner = _last_block(deepest)
            if inner is None:
                return self.span(deepest)[2]
            deepest = inner

    def body_text(self, statements: list[Statement], indent: str) -> str:
        """The lines of consecutive statements, comments between them included, moved to another indentation; ends with
        a line end. Raises Refusal where a long string would change."""
        first, last = self._rows(statements[0], statements[-1])
        text = "\n".join(self.lines[first - 1 : last]) + "\n"
        moved = reindent(text, self.indent(statements[0]), indent)
        if moved is None:
            raise Refusal("a string over several lines would be moved")
        return moved

    # -- edits -----------------------------------------------------------------------------------------------------

    def replace(self, node: cst.CSTNode, text: str) -> Edit:
        """Put text in the place of an expression or a small statement. The text has to bring its own parentheses where
        they are needed (see `operand`). Raises Refusal where an f-string has no room for it."""
        self.check_room(node, text)
        return Edit(self.module.path, *self.span(node), text)

    def check_room(self, node: cst.CSTNode, text: str) -> None:
        """Raises Refusal where a text in the place of a node would end the f-string around it, or be none of its parts:
        up to Python 3.11 its own quotes, backslashes and comments have no place in there."""
        for above in self.ancestors(node):
            if isinstance(above, cst.FormattedString) and not _has_room(above.end, text):
                raise Refusal("the f-string around it has no room for the new text")

    def operand(self, node: cst.BaseExpression) -> str:
        """The source of an expression in parentheses, unless it is a name, call, subscript, literal or in some."""
        text = self.flat(node)
        closed = (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.BaseNumber, cst.BaseString, cst.List, cst.Dict)
        return text if isinstance(node, closed) or node.lpar else f"({text})"

    def replace_lines(self, first: Statement, last: Statement, text: str) -> Edit:
        """Put whole lines in the place of consecutive statements (their trailing comments go); `text` is written for
        column 0, ends with a line end or is empty, and is moved to the statements' indentation."""
        top, bottom = self._rows(first, last)
        indent = self.indent(first)
        moved = "".join(f"{indent}{line}" if line.strip() else line for line in text.splitlines(keepends=True))
        return Edit(self.module.path, top, 1, bottom + 1, 1, moved)

    def remove(self, statement: Statement) -> Edit:
        """Take a statement's lines out; where it is all its block holds, `pass` stays. Raises Refusal for a line that
        holds several statements."""
        if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) > 1:
            raise Refusal("several statements stand on one line")
        alone = len(self.block(statement)) == 1
        return self.replace_lines(statement, statement, "pass\n" if alone else "")

    def insert_before(self, statement: Statement, text: str) -> Edit:
        """Put lines (written for column 0) in front of a statement, below the comments above it."""
        row = self.span(statement)[0]
        decorators = getattr(statement, "decorators", ())
        if decorators:
            row = min(row, self.span(decorators[0])[0])
        if isinstance(self.parent(statement), cst.SimpleStatementSuite | cst.If) and _is_elif(self, statement):
            raise Refusal("an `elif` has no place for a line in front of it")
        return self._insert(row, self.indent(statement), text)

    def insert_after(self, statement: Statement, text: str) -> Edit:
        """Put lines (written for column 0) behind a statement."""
        return self._insert(self.last_row(statement) + 1, self.indent(statement), text)

    def _insert(self, row: int, indent: str, text: str) -> Edit:
        moved = "".join(f"{indent}{line}" if line.strip() else line for line in text.splitlines(keepends=True))
        return Edit(self.module.path, row, 1, row, 1, moved)

    def refer(self, dotted: str, outside: bool = False) -> tuple[str, list[Edit]]:
        """How the file writes a library name ("torch.where", "torch.nn.functional.pad", "math.prod") inside this
        function, or outside of all functions, and the edits that import what it needs. Raises Refusal where the name
        is taken."""
        return imports.refer(self, dotted, outside)

    def at_module_level(self, text: str) -> Edit:
        """Put lines behind the imports at the top of the file, set off by blank lines."""
        return imports.behind_imports(self.module, self.lines, text)

    def configure(self, text: str) -> list[Edit]:
        """As `at_module_level`, for a line that configures something: those of several repairs stand together."""
        whole = self.at_module_level(text)
        row = whole.row
        blank = Edit(whole.filename, row, 1, row, 1, whole.content.removesuffix(text))
        return [*([blank] if blank.content else []), Edit(whole.filename, row, 1, row, 1, text)]

    def before_definition(self, text: str) -> Edit:
        """Put lines at module level in front of the top-level statement (class or function) that the site is in, with
        two blank lines between."""
        row = self.span(self.node)[0]
        start = next((s for s, e, _ in self.module.statements if s <= row <= e), row)
        while start > 1 and self.lines[start - 2].startswith("#"):
            start -= 1
        return Edit(self.module.path, start, 1, start, 1, text + "\n\n")


SURE = 0.75  # how sure a codemod wants the analyzer to be that a value is a tensor


def walk_parameters(parameters: cst.Parameters) -> Iterator[cst.Param]:
    """All parameters of a function in order, starred ones included."""
    yield from (*parameters.posonly_params, *parameters.params)
    if isinstance(parameters.star_arg, cst.Param):
        yield parameters.star_arg
    yield from parameters.kwonly_params
    if parameters.star_kwarg is not None:
        yield parameters.star_kwarg


def _has_room(quotes: str, text: str) -> bool:
    """Whether a text can stand between the braces of an f-string, by its closing quotes."""
    wrong = ("\\", "#", quotes) if len(quotes) == 3 else ("\\", "#", quotes, "\n")
    return not text.startswith("{") and not any(part in text for part in wrong)


def _last_block(statement: cst.CSTNode) -> cst.CSTNode | None:
    """The last statement inside a compound one; None for a simple one."""
    tail = statement
    if isinstance(statement, cst.If):
        while isinstance(tail, cst.If) and tail.orelse is not None:
            tail = tail.orelse
    elif isinstance(statement, cst.For | cst.While):
        tail = statement.orelse or statement
    elif isinstance(statement, cst.Try | cst.TryStar):
        handlers = statement.handlers[-1] if statement.handlers else statement
        tail = statement.finalbody or statement.orelse or handlers
    elif isinstance(statement, cst.Match):
        tail = statement.cases[-1]
    body = getattr(tail, "body", None)
    if isinstance(body, cst.IndentedBlock):
        return body.body[-1]
    if isinstance(body, cst.SimpleStatementSuite):
        return body.body[-1]
    return None


def _is_elif(site: Site, statement: cst.CSTNode) -> bool:
    above = site.parent(statement)
    return isinstance(above, cst.If) and above.orelse is statement


def _dotted_text(node: cst.CSTNode) -> str:
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        base = _dotted_text(node.value)
        return f"{base}.{node.attr.value}" if base else ""
    return ""
