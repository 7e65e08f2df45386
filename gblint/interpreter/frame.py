"""One activation of a function: its variables, the blocks around the current statement, and what happened in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gblint.interpreter.values import Environment, Function, Value

if TYPE_CHECKING:
    import libcst as cst

    from gblint.index.model import ModuleInfo
    from gblint.interpreter.source import Chunk

# Blocks Dynamo cannot resume in: a break inside drops the whole frame to eager (measured, see docs).
HARD_BLOCKS = frozenset({"loop", "try", "user-with", "generator", "comprehension"})


class Frame:
    """An activation record.

    traced: Dynamo symbolically executes it; otherwise the code runs eagerly and nothing is reported.
    starts: Dynamo starts a frame here (a root, or a function called from a frame that runs eagerly).
    fallen: the draft of the break that threw this frame back to eager, if any.
    eager: frames of code Dynamo never sees on the stack up to here; helpers: those since the last constructor of a
    module.
    pure: 1 while it calls the body of a checkpoint or another operator of higher order, where side effects are refused;
        2 in all that runs there. given: parameters of such a body that still hold what was passed.
    guards: unresolved conditions between the root and the current statement; inline: those of them within the current
        statement (`a and b`, `b if a else c`), so that the line may run without what is evaluated now; unlikely: those
        of the inline ones that are false by default, here or where the function is called from. optional: how many
        `if`s around it, those of the callers included, are false by default.
    changed_dict: whether code compiled with this frame has changed a dict from outside (`outside` of the dict).
    unfilled: variables that may still be None, since their default is filled in by code that is not compiled only.
    finals: `finally` blocks around the current statement. rescued: how many `try` statements around it survive an
        error, by a handler that does not raise one itself.
    splits: how often a likely break has split it so far.
    loops: nested loops around the current statement, those of the callers included.
    """

    __slots__ = (
        "blocks", "call_node", "caller", "changed_dict", "chunk", "depth", "eager", "env", "facts", "fallen", "finals",
        "function", "given", "global_names",
        "guards", "hard", "helpers", "inline", "iterated", "loop_exits", "loop_nodes", "loops", "module",
        "nonlocal_names", "optional", "pure", "rescued", "returns", "splits", "starts", "traced", "unfilled",
        "unlikely", "yields",
    )  # fmt: skip

    def __init__(
        self,
        module: ModuleInfo,
        chunk: Chunk,
        env: Environment,
        function: Function | None = None,
        caller: Frame | None = None,
        call_node: cst.CSTNode | None = None,
        traced: bool = False,
        starts: bool = False,
    ) -> None:
        self.module = module
        self.chunk = chunk
        self.env = env
        self.function = function
        self.caller = caller
        self.call_node = call_node
        self.traced = traced
        self.starts = starts
        self.depth: int = caller.depth + 1 if caller is not None else 0
        self.eager: int = 0 if traced or caller is None else caller.eager + 1
        self.helpers: int = 0 if traced or caller is None else caller.helpers + 1
        self.guards: int = caller.guards if caller is not None else 0
        self.inline: int = 0
        self.unlikely: int = caller.unlikely if caller is not None else 0
        self.optional: int = caller.optional if caller is not None else 0
        self.loops: int = caller.loops if caller is not None else 0
        self.pure: int = 2 if caller is not None and caller.pure else 0
        self.changed_dict = ""
        self.unfilled: dict[str, Value] = {}
        self.finals: list[cst.BaseSuite] = []
        self.rescued = 0
        self.given: set[str] = set()
        self.blocks: list[str] = []
        self.hard = 0
        self.facts: dict[str, Value] = {}
        self.fallen: object | None = None
        self.returns: list[Value] = []
        self.splits = 0
        self.yields: list[Value] = []
        self.loop_exits: list[list[dict[str, Value]]] = []
        self.loop_nodes: list[cst.For | cst.While] = []
        self.iterated: list[Value | None] = []
        self.global_names: set[str] = set()
        self.nonlocal_names: set[str] = set()

    def push(self, block: str, loop: cst.For | cst.While | None = None, source: Value | None = None) -> None:
        """Enter a block; loop: its statement; source: what it iterates.

        Blocks are "loop", "try", "user-with", "with", "lost-with", "generator", "comprehension" and "function" (a
        comprehension that is called).
        """
        if loop is not None:
            self.loop_nodes.append(loop)
            self.iterated.append(source)
        self.blocks.append(block)
        self.hard += block in HARD_BLOCKS
        self.loops += block == "loop"

    def pop(self) -> None:
        """Leave the innermost block."""
        block = self.blocks.pop()
        if block == "loop":
            self.loop_nodes.pop()
            self.iterated.pop()
        self.hard -= block in HARD_BLOCKS
        self.loops -= block == "loop"

    def snapshot(self) -> tuple[dict[str, Value], dict[str, Value], object | None]:
        """The state a fork must restore: variables, facts and whether the frame fell."""
        return dict(self.env.names), dict(self.facts), self.fallen

    def restore(self, state: tuple[dict[str, Value], dict[str, Value], object | None]) -> None:
        """Go back to a snapshot (which may be restored once only: its dicts are taken over)."""
        self.env.names, self.facts, self.fallen = state
