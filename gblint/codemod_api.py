"""The one module a codemod imports.

A codemod is a class in its own file under `codemods/`: a docstring with fixed headings (it is the documentation), typed
metadata, examples that the tests run under Dynamo, and a method `repair` that takes a site (one finding in its source)
and returns a `Repair`, or None where the finding is none of its business. Where a precondition fails it raises
`Refusal` (most easily through `require`), and what the refusal says is shown to the user.

A repair is a list of edits made by the site (`site.replace(node, text)`, `site.insert_before(statement, text)` …). The
edits of a repair are applied together or not at all; what they do not cover stays as it is, byte for byte.
"""

from __future__ import annotations

from collections.abc import Sequence as SequenceType
from dataclasses import dataclass
from typing import ClassVar, Literal, NoReturn

from gblint.findings.finding import Edit, Finding
from gblint.fixing.arms import (
    Arm,
    Bind,
    Choice,
    always_returns,
    arm_of,
    body_of,
    calls_of,
    check_effects,
    comments,
    kind_of,
    parts_of,
    wrapped,
)
from gblint.fixing.branches import in_place_of, indented, other_arm, stays_in_lines
from gblint.fixing.conditions import Condition, condition, conjuncts, is_tensor_test, quantified, tested, unread
from gblint.fixing.empty_masks import bare, fits_mask, indexed_by
from gblint.fixing.flags import Flag, Use, flag_of, is_continue, is_nothing
from gblint.fixing.flow import decides, depends, derived, reads, tests
from gblint.fixing.forms import (
    applied,
    is_fresh,
    keeps_dtype,
    keeps_gradients,
    number_type,
    raises_no_error,
    same_form,
    without_gradients,
)
from gblint.fixing.guards import Place, everything_that_needs, guarded, is_guarded, narrowed, owner
from gblint.fixing.layout import flat_with, put, width_of
from gblint.fixing.leftovers import replaced
from gblint.fixing.lifting import lift
from gblint.fixing.listing import listed
from gblint.fixing.liveness import bound_before, is_live
from gblint.fixing.marks import definition, marked, tried, without_decorator
from gblint.fixing.masked import Selection, Sink, bound_to, mask_of, negates, selected_by
from gblint.fixing.opaque import doubt
from gblint.fixing.outline import outline
from gblint.fixing.owned import is_own, may_change, only_read, viewed
from gblint.fixing.places import (
    callers,
    calling,
    class_site,
    function_info,
    is_decorated,
    method,
    own_class,
    seen_callers,
    swallows,
)
from gblint.fixing.purity import changed_in_place, changed_names, changes_state, is_pure, raises_nothing
from gblint.fixing.reports import harmless, may_go, only_reports, reports, with_neighbours
from gblint.fixing.routing import Routing
from gblint.fixing.scalars import MATH, Readers
from gblint.fixing.selecting import (
    Selector,
    becomes_tensor,
    check_argument,
    closed,
    is_number,
    merged,
    returned,
    selecting,
)
from gblint.fixing.sinks import full_size
from gblint.fixing.site import Refusal, Site, Statement
from gblint.fixing.skipping import Always, check_sizes, facts_around, run_always, selector_of, without
from gblint.index.model import ModuleInfo
from gblint.interpreter.values import (
    Bound,
    Class,
    Const,
    DataScalar,
    External,
    Function,
    Instance,
    Mapping,
    Plain,
    Sequence,
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
from gblint.interpreter.walk import base, children, only, walk, walk_scope

__all__ = [
    "MATH", "Always", "Arm", "Bind", "Bound", "Choice", "Class", "Codemod", "CodemodMeta", "Condition", "Const",
    "DataScalar", "Declined", "Difference", "Edit", "Example", "External", "Finding", "Flag", "Function", "Instance",
    "Mapping", "ModuleInfo", "Place", "Plain", "Readers", "Refusal", "Repair", "Routing", "Selection", "Selector",
    "Sequence", "Sink", "Site", "Statement", "Stream", "Tensor", "Union", "Unknown", "Use", "Value",
    "always_returns", "applied", "arm_of", "as_tensor", "bare", "base", "becomes_tensor", "body_of", "bound_before",
    "bound_to", "callers", "calling", "calls_of", "changed_in_place", "changed_names", "changes_state",
    "check_argument", "check_effects", "check_sizes", "children", "class_site",
    "closed", "comments", "condition", "conjuncts", "decides", "definition", "depends", "derived", "doubt",
    "everything_that_needs", "facts_around", "fits_mask", "flag_of", "flat_with", "full_size", "function_info",
    "guarded", "harmless", "in_place_of", "indented", "indexed_by", "is_continue", "is_decorated", "is_fresh",
    "is_guarded",
    "is_live", "is_none", "is_nothing", "is_number", "is_own", "is_pure", "is_tensor_test", "keeps_dtype",
    "keeps_gradients", "kind_of",
    "lift", "listed", "marked", "mask_of", "may_change", "may_go", "members", "merged", "method",
    "narrowed", "negates", "number_type",
    "only", "only_read", "only_reports", "other_arm", "outline", "own_class", "owner",
    "parts_of", "put", "quantified", "raises_no_error", "raises_nothing", "reads", "refuse", "replaced",
    "reports", "require", "returned", "run_always", "same_form", "seen_callers", "selected_by", "selecting",
    "selector_of", "stays_in_lines", "swallows", "tensor_certainty", "tested", "tests", "tried", "type_name", "unread",
    "viewed", "walk", "walk_scope",
    "width_of", "with_neighbours", "without", "without_decorator", "without_gradients", "wrapped",
]  # fmt: skip

Applicability = Literal["safe", "unsafe", "placeholder", "display"]
Difference = Literal["effects", "draws", "errors"]


@dataclass(frozen=True, slots=True)
class CodemodMeta:
    """Facts about a codemod.

    name: kebab-case, says what the repair does. summary: one line.
    fixes: the rules whose findings it is asked about: codes ("GB0170"), slugs ("print-call"), or "*".
    rank: among repairs of equal applicability the one of lower rank is preferred (0..100).
    logging: the values of the setting `[tool.gblint.fix] logging` under which it is asked; empty for any.
    """

    name: str
    summary: str
    fixes: tuple[str, ...]
    rank: int = 50
    logging: tuple[str, ...] = ()
    since: str = "0.1"


@dataclass(frozen=True, slots=True)
class Repair:
    """What a codemod offers.

    applicability: "safe" only where equal values and effects are proved from the source; see `Fix`.
    message: what the edit does, imperative, no full stop; for an unsafe one also what could differ.
    differs: what the message says is no longer the same. "effects": something is not printed, logged or counted any
        more; "draws": random numbers are others, or drawn another number of times; "errors": what is taken for granted
        raises where it does not hold. Tests leave this out where they compare results, and nothing else.
    """

    applicability: Applicability
    message: str
    edits: SequenceType[Edit]
    differs: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class Example:
    """A program that breaks, and what it is after the repair.

    `before` and `after` run as they stand and print the same; `after` is exactly what the fix makes of `before`, and
    has no graph break.
    """

    before: str
    after: str
    applicability: Applicability = "safe"


@dataclass(frozen=True, slots=True)
class Declined:
    """A program that breaks and that this codemod leaves alone; `reason` is part of what its refusal says."""

    program: str
    reason: str


class Codemod:
    """Base of all codemods; see the module docstring. Codemods hold no state."""

    meta: ClassVar[CodemodMeta]
    EXAMPLES: ClassVar[tuple[Example, ...]] = ()
    DECLINES: ClassVar[tuple[Declined, ...]] = ()

    def repair(self, site: Site) -> Repair | None:
        """The repair of one finding, None if this codemod has no business with it; raises Refusal."""
        raise NotImplementedError


def refuse(reason: str) -> NoReturn:
    """Decline the finding; `reason` is a clause without capital and full stop ("`y` is read after the branch")."""
    raise Refusal(reason)


def require(condition: object, reason: str) -> None:
    """Decline the finding unless a precondition holds."""
    if not condition:
        raise Refusal(reason)
