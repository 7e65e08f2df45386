"""Function texts as libcst trees, parsed on demand, shared between equal texts, and positions only where asked."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

import libcst as cst
from libcst._nodes.internal import CodegenState

from gblint.index.cache import content_digest
from gblint.interpreter.trees import NotCovered, Places, pairs, read

if TYPE_CHECKING:
    from libcst.metadata import CodeRange

    from gblint.index.model import ModuleInfo
    from gblint.index.project import Project
    from gblint.interpreter.positions import Positions

WRAPPER = "if True:\n"  # what indented text is put under to be parsed


class Tree:
    """A parsed text and, once somebody asks, the positions of its nodes.

    places: what `trees.read` gave besides the module; None if libcst parsed the text. breaks: line ends in the text.
    """

    __slots__ = ("_digest", "_positions", "_written", "breaks", "module", "notes", "shift", "text")

    def __init__(self, module: cst.Module, shift: int, text: str, places: Places | None = None) -> None:
        self.module = module
        self.shift = shift
        self.text = text
        self.breaks = text.count("\n")
        self._positions: Positions | Places | None = places
        self._digest = ""
        self._written: Written | None = None
        self.notes: object = None  # what a later stage has worked out of the text, for as long as the tree is kept

    @property
    def digest(self) -> str:
        """The name of the text."""
        if not self._digest:
            self._digest = content_digest(self.text.encode("utf-8", "surrogatepass"))[:16]
        return self._digest

    def position(self, node: cst.CSTNode) -> CodeRange | None:
        """The range of a node, rows counted in the parsed text."""
        if self._positions is None:
            from gblint.interpreter.positions import Positions

            self._positions = Positions(self.module, WRAPPER * self.shift + self.text)
        return self._positions.get(node)

    @property
    def written(self) -> Tree:
        """The tree with everything that stands in the text, for who edits it."""
        if not isinstance(self._positions, Places):
            return self
        if self._written is None:
            try:
                self._written = Written(self, self._positions)
            except cst.ParserSyntaxError:
                return self
        return self._written


class Written(Tree):
    """The tree that libcst's own parser gives for a text, beside the one that was run.

    of_seen, seen: the nodes of either tree by those of the other.
    """

    __slots__ = ("_places", "of_seen", "seen")

    def __init__(self, tree: Tree, places: Places) -> None:
        with _unchecked():
            module = cst.parse_module(WRAPPER * tree.shift + tree.text)
        super().__init__(module, tree.shift, tree.text)
        self._places = places
        self.of_seen: dict[int, cst.CSTNode] = {}
        self.seen: dict[int, cst.CSTNode] = {}
        for node, ran in pairs(module, tree.module):
            self.of_seen[id(ran)] = node
            self.seen[id(node)] = ran

    def position(self, node: cst.CSTNode) -> CodeRange | None:
        """The range of a node, rows counted in the parsed text."""
        ran = self.seen.get(id(node))
        found = self._places.get(ran) if ran is not None else None
        return found or super().position(node)


class Chunk:
    """A stretch of a file (a function, a class, a statement) and its tree.

    first: the file row its text starts on.
    """

    __slots__ = ("first", "module", "tree")

    def __init__(self, module: ModuleInfo, first: int, tree: Tree) -> None:
        self.module = module
        self.first = first
        self.tree = tree

    @property
    def written(self) -> Chunk:
        """The same stretch with the tree of its text as it is written."""
        return Chunk(self.module, self.first, self.tree.written)

    def seen(self, node: cst.CSTNode) -> cst.CSTNode:
        """The node that was run for one of the written text."""
        return self.tree.seen.get(id(node), node) if isinstance(self.tree, Written) else node

    def of_seen(self, node: cst.CSTNode) -> cst.CSTNode:
        """The node of the written text for one that was run."""
        return self.tree.of_seen.get(id(node), node) if isinstance(self.tree, Written) else node

    def note(self, project: Project) -> None:
        """Record that an answer rests on this text."""
        project.note_span(self.module.path, self.first, self.first + self.tree.breaks, self.tree.digest)

    @property
    def body(self) -> list[cst.BaseStatement]:
        """The statements of the chunk, unwrapped from the indentation that was put round them."""
        statements = list(self.tree.module.body)
        if not self.tree.shift:
            return statements  # type: ignore[return-value]
        wrapper = statements[0]
        assert isinstance(wrapper, cst.If)
        assert isinstance(wrapper.body, cst.IndentedBlock)
        return list(wrapper.body.body)

    def span(self, node: cst.CSTNode) -> tuple[int, int, int, int]:
        """(row, column, end row, end column), 1-based, of a node in the file."""
        found = self.tree.position(node)
        if found is None:
            return (self.first, 1, self.first, 1)
        move = self.first - 1 - self.tree.shift
        return (found.start.line + move, found.start.column + 1, found.end.line + move, found.end.column + 1)


class Forest:
    """Parses stretches of files and keeps the most recent trees, bounded by the size of their text."""

    def __init__(self, limit: int = 2_000_000) -> None:
        self._trees: OrderedDict[str, Tree] = OrderedDict()
        self._size = 0
        self._limit = limit
        self.parsed = 0

    def chunk(self, module: ModuleInfo, first: int, text: str) -> Chunk:
        """The tree of `text`, which starts on row `first` of the module.

        Raises libcst.ParserSyntaxError if libcst cannot parse it.
        """
        tree = self._trees.get(text)
        if tree is None:
            tree = self._parse(text)
            self._keep(text, tree)
        else:
            self._trees.move_to_end(text)
        return Chunk(module, first, tree)

    def _parse(self, text: str) -> Tree:
        self.parsed += 1
        shift = 1 if text[:1] in " \t" else 0
        try:
            module, places = read(WRAPPER * shift + text)
            return Tree(module, shift, text, places)
        except (NotCovered, SyntaxError, ValueError, RecursionError):
            with _unchecked():
                return Tree(cst.parse_module(WRAPPER * shift + text), shift, text)

    def _keep(self, text: str, tree: Tree) -> None:
        self._trees[text] = tree
        self._size += len(tree.text)
        while self._size > self._limit and len(self._trees) > 1:
            _, old = self._trees.popitem(last=False)
            self._size -= len(old.text)


@contextmanager
def _unchecked() -> Iterator[None]:
    """Leave out libcst's validation of new nodes, a fifth of the time of parsing: what its parser makes is valid.

    It changes the class of all nodes, upon which Python forgets what it has learned of their attributes: for where
    much is parsed at a time.
    """
    check = cst.CSTNode.__post_init__
    cst.CSTNode.__post_init__ = _no_check  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        cst.CSTNode.__post_init__ = check  # type: ignore[method-assign]


def _no_check(node: cst.CSTNode) -> None:
    pass


_PRINTER = cst.Module([])


_NOWHERE = nullcontext()


class _Enough(Exception):
    """As much has been printed as is wanted."""


class _Printed(CodegenState):
    """Ends the printing of a node when there is no room for more: what is long may be nested thousands deep."""

    room = 0

    def record_syntactic_position(  # type: ignore[override]
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> AbstractContextManager[None]:
        """Nobody asks where a printed node lies; to be ready for it takes longer than the printing."""
        return _NOWHERE

    def add_token(self, value: str) -> None:
        self.tokens.append(value)
        self.room -= sum(map(len, value.split()))  # blanks are going to be joined
        if self.room < 0:
            raise _Enough


# What an expression starts with, and has at least a character behind.
_LEFT: dict[type[cst.CSTNode], str] = {
    cst.Call: "func", cst.Attribute: "value", cst.Subscript: "value",
    cst.BinaryOperation: "left", cst.BooleanOperation: "left", cst.Comparison: "left",
}  # fmt: skip


def _start(node: cst.CSTNode, limit: int) -> cst.CSTNode:
    """The part of a long chain (`a.b.c…`, `a + b + …`) that already has more characters than the limit: each link of
    a chain is asked for its text, and all of it each time would take as long as the square of its length."""
    chain = [node]
    while (field := _LEFT.get(type(node))) and not getattr(node, "lpar", ()):
        node = getattr(node, field)
        chain.append(node)
    return chain[max(0, len(chain) - limit - 1)]


def code(node: cst.CSTNode, limit: int = 60) -> str:
    """The source of an expression on one line, cut to `limit` characters."""
    state = _Printed(_PRINTER.default_indent, _PRINTER.default_newline)
    state.room = limit
    with suppress(_Enough):
        _start(node, limit)._codegen(state)
    text = " ".join("".join(state.tokens).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
