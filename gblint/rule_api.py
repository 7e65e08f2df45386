"""The one module a rule imports.

A rule is a class in its own file under `rules/`: a docstring with fixed headings (it is the documentation), typed
metadata, examples that the tests run under Dynamo, and handlers for the events it listens to. A handler gets an event
and the context and returns a `Break`, or None. Handlers:

`on_call` (for the callees in `calls`; a trailing `.*` matches any name below, and `measured = True` adds every callee
whose measured verdict in the knowledge is this rule's code), `on_branch`, `on_compare`, `on_operator`, `on_index`,
`on_format`, `on_enter`, `on_iterate`, `on_setattr`, `on_getattr`, `on_construct`, `on_compile`, `on_entry`,
`on_guard`, `on_import`, `on_classdef`, `on_raise`, `on_delete`, `on_globals`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from gblint.interpreter.events import (
    Branch,
    Break,
    Call,
    ClassDef,
    Compare,
    Compile,
    Construct,
    Delete,
    Enter,
    Entry,
    Event,
    Format,
    GetAttr,
    Globals,
    Guard,
    Import,
    Index,
    Iterate,
    Operator,
    Raise,
    SetAttr,
)
from gblint.interpreter.values import (
    NONE,
    Bound,
    Class,
    Compiled,
    Const,
    DataScalar,
    External,
    Function,
    Instance,
    Mapping,
    Partial,
    Plain,
    Sequence,
    Slice,
    Stream,
    Tensor,
    Union,
    Unknown,
    Value,
    as_tensor,
    is_none,
    members,
    tensor_certainty,
    type_name,
)
from gblint.knowledge.declared import Declarations
from gblint.knowledge.packages import SKIPPED_PACKAGES
from gblint.ranges import applies

if TYPE_CHECKING:
    import libcst as cst

    from gblint.knowledge import Knowledge

__all__ = [
    "NONE", "SKIPPED_PACKAGES", "Bound", "Branch", "Break", "Call", "Class", "ClassDef", "Compare", "Compile",
    "Compiled", "Const", "Construct",
    "Context", "DataScalar", "Delete", "Enter", "Entry", "Event", "External", "Format", "Function", "GetAttr",
    "Globals", "Guard", "Import", "Index", "Instance", "Iterate", "Mapping", "Operator", "Partial", "Plain", "Raise",
    "Rule",
    "RuleMeta", "Sequence", "SetAttr", "Slice", "Stream", "Tensor", "Union", "Unknown", "Value", "as_tensor",
    "is_none", "members", "tensor_certainty", "type_name",
]  # fmt: skip

NOTHING_DECLARED = Declarations(())
Category = Literal["fundamental", "supportable", "user-error", "dynamo-bug", "recompile", "needless"]


@dataclass(frozen=True, slots=True)
class RuleMeta:
    """Facts about a rule.

    code: PyTorch's graph-break id. slug: names the bad pattern, kebab-case. summary: one line.
    category: Dynamo's hint class; "recompile" and "needless" for what breaks nothing.
    since: gblint release that added it.
    torch: the releases that report it under `code`, as a PEP 440 specifier (">=2.8", ">=2.8,<2.15").
    renamed: other releases that break alike, and the id they report it under: (specifier, id), the first that holds
        counts. An empty id: that release gives none, and `code` stands for it.
    advice: what to write instead, one sentence (shown in the report).
    confidence: prior probability that a fully certain finding is right, used until the fitted table knows the rule.
    page: the address of a page about the rule; for an id of PyTorch's it need not be given.
    optional: the rule is off until it is selected.
    by_hand: why no machine makes the repair, a clause; shown where no codemod has anything to say.
    """

    code: str
    slug: str
    summary: str
    category: Category
    advice: str
    torch: str = ">=2.8"
    renamed: tuple[tuple[str, str], ...] = ()
    since: str = "0.1"
    confidence: float = 0.9
    page: str = ""
    optional: bool = False
    by_hand: str = "what it should become depends on what the code is for"

    @property
    def url(self) -> str:
        """The page about the rule, PyTorch's own for an id of PyTorch's; "" for none."""
        return self.page or url_of(self.code)

    @property
    def codes(self) -> frozenset[str]:
        """The ids it has in any release."""
        return frozenset({self.code, *(code for _, code in self.renamed if code)})

    @property
    def releases(self) -> str:
        """The releases in words: "torch >=2.13; >=2.10,<2.13 as GB0007"."""
        others = (f"; {where} {f'as {code}' if code else 'without an id'}" for where, code in self.renamed)
        return f"torch {self.torch}{''.join(others)}"

    def code_in(self, release: tuple[int, int]) -> str:
        """The id that a release reports the break under; "" where it does not break."""
        if applies(self.torch, release):
            return self.code
        return next((code or self.code for where, code in self.renamed if applies(where, release)), "")


def url_of(code: str) -> str:
    """PyTorch's own page about a graph break, "" for what is not an id of PyTorch's."""
    if not _ID.fullmatch(code):
        return ""
    return f"https://meta-pytorch.org/compile-graph-break-site/gb/{code.lower()}.html"


_ID = re.compile(r"GB\d{4}")
_WITH_FULLGRAPH = frozenset({"capture_scalar_outputs", "capture_dynamic_output_shape_ops"})


class Context:
    """What a rule may ask besides the event.

    knowledge: what is known of the target torch. torch: target release as (major, minor).
    settings: torch config values found in the project, by dotted name ("torch._dynamo.config.capture_scalar_outputs").
    fullgraph: the root being run was compiled with `fullgraph=True`. declared: what is said of single functions.
    python: minor version of Python that the code runs on, as (major, minor). handling: how many `except` blocks are
    around what is run.
    """

    def __init__(
        self,
        knowledge: Knowledge,
        torch: tuple[int, int],
        settings: dict[str, str],
        declared: Declarations = NOTHING_DECLARED,
        python: tuple[int, int] = (3, 11),
    ) -> None:
        self.knowledge = knowledge
        self.torch = torch
        self.settings = settings
        self.fullgraph = False
        self.declared = declared
        self.python = python
        self.handling = 0

    def enabled(self, setting: str) -> bool:
        """True if a boolean torch setting is switched on in the project ("capture_scalar_outputs"), or comes with
        `fullgraph=True`: that captures scalars and shapes that depend on data (torch/_dynamo/output_graph.py hands
        `one_graph` to the ShapeEnv for both)."""
        if self.fullgraph and setting in _WITH_FULLGRAPH:
            return True
        return self.settings.get(f"torch._dynamo.config.{setting}") == "True"

    def text(self, node: cst.CSTNode) -> str:
        """The source of an expression on one line, shortened, for messages."""
        from gblint.interpreter.source import code

        return code(node)


class Rule:
    """Base of all rules; see the module docstring. Rules hold no state: one instance serves a whole run.

    BREAKS: programs that break, each line that does marked by a trailing comment with the id (`# GB0059`).
    CLEAN: programs that do not break, near misses above all.
    """

    meta: ClassVar[RuleMeta]
    calls: ClassVar[tuple[str, ...]] = ()
    measured: ClassVar[bool] = False
    BREAKS: ClassVar[tuple[str, ...]] = ()
    CLEAN: ClassVar[tuple[str, ...]] = ()
