"""One predicted graph break, as plain data that can be cached, sorted and printed."""

from __future__ import annotations

import msgspec

OWN = "gblint"  # stands in for a codemod where it is gblint itself that says why there is no repair
SILENT = ("recompiles", "needless", "fails", "ignored")  # consequences of what breaks no graph
STRENGTH = ("safe", "unsafe", "placeholder", "display")  # applicability of a fix, most to least


class Step(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """One call on the way from a compiled root to the finding: `function` is entered; the next call leaves it at
    `row`."""

    function: str
    filename: str
    row: int


class Reason(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Why gblint believes it: a fact about a value and the row where the fact was established."""

    row: int
    text: str
    filename: str = ""


class Edit(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Text that takes the place of a range of a file; rows and columns 1-based, end column exclusive. An empty range
    inserts. Lines in `content` end with "\\n", whatever the file's own line ends are."""

    filename: str
    row: int
    column: int
    end_row: int
    end_column: int
    content: str


class Fix(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A repair that a codemod offers.

    applicability: "safe" (same values, same effects, proved from the source), "unsafe" (right in the usual case),
    "placeholder" (a person has to finish it) or "display" (shown, never applied). message: what the edit does and,
    unless it is safe, what could differ. All edits belong together. differs: what tests leave out, see `Repair`.
    """

    codemod: str
    applicability: str
    message: str
    edits: tuple[Edit, ...]
    differs: tuple[str, ...] = ()


Spot = tuple[str, int, int, int, int, str]  # file, row, column, end row, end column, code


class Finding(msgspec.Struct, gc=False):
    """A predicted graph break.

    row, column: 1-based start of the expression or statement Dynamo would report; end_row, end_column likewise (end
        column exclusive).
    certainty: 0..1, how sure the interpreter is of the values involved (a tensor, a boolean mask, …).
    guards: unresolved conditions between the root and this place; inline: those of them within the statement itself,
        so that its row may run without a break.
    confidence: probability that Dynamo breaks here when the line is traced (calibrated).
    consequence: "splits-graph", "frame-falls-back", "raises" (the root is compiled with `fullgraph=True`)
        or "masked"; masked_by is the row of the finding that masks it. What is no graph break (SILENT) is "recompiles",
        "needless", "fails" or "ignored".
    heat: how often the place runs per call of the root, loops counted by an assumed trip count; hot: it stands on a
        forward path that runs at every call.
    owner: "yours", "library" or "torch"; root_kind: "explicit", "assumed" or "guessed".
    library: for a break inside third-party code, where in the library it happens.
    severity: "error", "warning" or "info". event: kind of the step that breaks ("call", "branch", …).
    fixes: the repairs on offer, best first; refusals: (codemod, the precondition that failed) of those that declined.
    examined: the codemods have been asked. optional: its rule is off until it is selected.
    roots: numbers of the roots that lead to it, within its unit; empty once they are counted. reach: how many roots its
        root cause breaks; frees: those of them in which nothing else breaks (see `gblint.reach`).
    """

    code: str
    name: str
    message: str
    filename: str
    row: int
    column: int
    end_row: int
    end_column: int
    confidence: float = 1.0
    certainty: float = 1.0
    guards: int = 0
    inline: int = 0
    severity: str = "error"
    consequence: str = "splits-graph"
    masked_by: int = 0
    hot: bool = False
    heat: float = 1.0
    owner: str = "yours"
    category: str = "fundamental"
    function: str = ""
    root: str = ""
    root_kind: str = "explicit"
    path: list[Step] = []
    why: list[Reason] = []
    library: Step | None = None
    advice: str = ""
    url: str = ""
    noqa_row: int = 0
    event: str = ""
    fixes: tuple[Fix, ...] = ()
    refusals: tuple[tuple[str, str], ...] = ()
    examined: bool = False
    optional: bool = False
    roots: tuple[int, ...] = ()
    reach: int = 0
    frees: int = 0

    @property
    def is_break(self) -> bool:
        """Whether it is a graph break."""
        return self.consequence not in SILENT

    @property
    def spot(self) -> Spot:
        """What it has in common with the same break found on the way from other roots."""
        return (self.filename, self.row, self.column, self.end_row, self.end_column, self.code)

    @property
    def fix(self) -> Fix | None:
        """The best repair on offer."""
        return self.fixes[0] if self.fixes else None
