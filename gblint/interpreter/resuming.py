"""Whether Dynamo can resume after a break: which blocks forbid it, and the way it looks for loops.

Dynamo reads the bytecode on from the break up to the first return. A jump back to before the break means a loop, and
the
whole frame then runs eagerly. So a break in a loop body is survived if a `return` comes after it, in the order of the
text, before the body ends (measured: `if done(x): return x` as the last statement of a loop splits the graph).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from gblint.interpreter.walk import walk, walk_scope

if TYPE_CHECKING:
    from gblint.interpreter.frame import Frame

HARD_BLOCKS = frozenset({"try", "user-with", "generator", "comprehension"})


def cannot_resume(frame: Frame, node: cst.CSTNode | None) -> bool:
    """True if a break at `node` (of the frame's text) throws the frame back to eager."""
    if not frame.hard:
        return False
    if node is None or not frame.loop_nodes or any(block in HARD_BLOCKS for block in frame.blocks):
        return True
    return _jumps_back(frame.loop_nodes[-1], node)


def is_getter(call: cst.CSTNode | None) -> bool:
    """True if a call is the reading of an attribute, as that of a property is: Dynamo cannot resume after it. (It can
    after other calls that are not written as such: `x[i]`, `x + y`, `x == y`, `x.a = y`.)"""
    return isinstance(call, cst.Attribute)


def _jumps_back(loop: cst.For | cst.While, node: cst.CSTNode) -> bool:
    if isinstance(loop, cst.While) and _holds(loop.test, node):
        return False  # the test at the end of the loop jumps to the body, which comes after this one
    scan = _Scan(node)
    scan.suite(loop.body, tail=True)
    return scan.outcome is not True


def _holds(tree: cst.CSTNode, node: cst.CSTNode) -> bool:
    return any(part is node for part in walk(tree))


class _Scan:
    """Reads a loop body in order. found: the break has been passed. outcome: True at a return, False at a jump back."""

    def __init__(self, node: cst.CSTNode) -> None:
        self.node = node
        self.found = False
        self.outcome: bool | None = None

    def suite(self, body: cst.BaseSuite, tail: bool) -> None:
        """The statements of a block; tail: control goes on to the end of the loop body from its end."""
        for position, statement in enumerate(body.body):
            last = position == len(body.body) - 1
            self._statement(statement, tail and last)
            if self.outcome is not None:
                return
        if self.found and tail:
            self.outcome = False

    def _statement(self, statement: cst.CSTNode, tail: bool) -> None:
        if isinstance(statement, cst.If):
            self._if(statement, tail)
        elif isinstance(statement, cst.Try | cst.TryStar | cst.With):
            self._block(statement, tail)
        elif isinstance(statement, cst.For | cst.While):
            self._inner_loop(statement)
        else:
            self._simple(statement)

    def _simple(self, statement: cst.CSTNode) -> None:
        self.found = self.found or _holds(statement, self.node)
        if not self.found:
            return
        parts = statement.body if isinstance(statement, cst.SimpleStatementLine) else [statement]
        for part in parts:
            if isinstance(part, cst.Return | cst.Continue):
                self.outcome = isinstance(part, cst.Return)
                return

    def _if(self, statement: cst.If, tail: bool) -> None:
        self.found = self.found or _holds(statement.test, self.node)
        self.suite(statement.body, tail)
        if self.outcome is None and statement.orelse is not None:
            other = statement.orelse
            self._if(other, tail) if isinstance(other, cst.If) else self.suite(other.body, tail)

    def _block(self, statement: cst.Try | cst.TryStar | cst.With, tail: bool) -> None:
        self.found = self.found or any(_holds(item, self.node) for item in getattr(statement, "items", ()))
        blocks = [statement.body, *(h.body for h in getattr(statement, "handlers", ()))]
        for name in ("orelse", "finalbody"):
            part = getattr(statement, name, None)
            if part is not None:
                blocks.append(part.body)
        for block in blocks:
            if self.outcome is None:
                self.suite(block, tail)

    def _inner_loop(self, statement: cst.For | cst.While) -> None:
        """A loop further on jumps back to its own start only."""
        self.found = self.found or _holds(statement, self.node)
        if self.found and any(isinstance(part, cst.Return) for part in walk_scope([statement.body])):
            self.outcome = True
