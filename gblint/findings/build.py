"""Drafts of the interpreter as findings: positions, confidence, reasons, the way from the root."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from gblint.callgraph import HOTTEST, TRIPS, CallGraph
from gblint.findings.choice import likeliest
from gblint.findings.confidence import probability
from gblint.findings.finding import OWN, Finding, Reason, Step
from gblint.interpreter import trials
from gblint.interpreter.source import code
from gblint.interpreter.values import DataScalar, Tensor, Union, as_tensor
from gblint.rule_api import url_of

if TYPE_CHECKING:
    from libcst import CSTNode

    from gblint.callgraph import Calls
    from gblint.interpreter.drafts import Draft
    from gblint.interpreter.machine import Machine
    from gblint.interpreter.source import Tree
    from gblint.interpreter.values import Origin, Value

# Characters of function text that codemods may look at for one unit, a function counting once for each break in it: a
# repair takes time in proportion to the function, so thousands of breaks in one huge function would take hours.
REPAIR_BUDGET = 2_000_000
USUAL_LENGTH = 50_000  # characters; in a longer function a repair takes longer than in proportion
USUAL_LEVELS = 25  # code nested deeper, such as a condition of a hundred terms, takes codemods longer by as much
MOST_LEVELS = 250  # a repair of code nested deeper, which no person has written, takes seconds and gigabytes
TOO_MANY = "there are too many breaks in functions this long to work out repairs for all; repair the others first"
SURE = 0.75  # from here on a finding is an error, below a warning


def findings_of(
    machine: Machine, calls: Calls, options: dict[str, str], examines: Callable[[Finding], bool]
) -> list[Finding]:
    """The findings of the unit just run, by file and row; of several that answer one event the likeliest is kept.

    calls: those of the unit, which say how often a function runs. options: how repairs are wanted; examines: for which
    findings they are.
    """
    drafts = machine.drafts.by_place.values()
    if not drafts:
        return []
    graph = CallGraph(calls)
    made = [(_told(machine, draft, _finding(machine, draft, graph)), draft) for draft in drafts]
    found = {id(finding): (finding, draft) for finding, draft in made}
    kept = likeliest((finding for finding, _ in found.values()), lambda f: (f.confidence, f.code))
    if not any(map(examines, kept)):
        return kept
    from gblint.fixing.propose import with_fixes

    levels: dict[Tree, int] = {}
    left = REPAIR_BUDGET
    repaired = []
    for finding in kept:
        if not examines(finding) or not finding.is_break:
            repaired.append(finding)
            continue
        draft = found[id(finding)][1]
        tree = draft.chunk.tree
        if tree not in levels:
            levels[tree] = _levels(tree.module)
        length = len(tree.text)
        left -= length * (1 + length // USUAL_LENGTH) * (1 + levels[tree] // USUAL_LEVELS)
        if levels[tree] > MOST_LEVELS:
            repaired.append(_unrepaired(finding, "the function is nested too deeply to work out a repair; split it up"))
        elif left <= 0:
            repaired.append(_unrepaired(finding, TOO_MANY))
        else:
            repaired.append(with_fixes(machine, draft, finding, options))
    return repaired


def _levels(node: CSTNode) -> int:
    """How deep the code in a node is nested."""
    from gblint.interpreter.walk import children

    level, count = [node], 0
    while level:
        level = [below for each in level for below in children(each)]
        count += 1
    return count


def _unrepaired(finding: Finding, reason: str) -> Finding:
    return msgspec.structs.replace(finding, refusals=((OWN, reason),), examined=True)


def _finding(machine: Machine, draft: Draft, graph: CallGraph) -> Finding:
    meta = draft.rule.meta
    row, column, end_row, end_column = draft.chunk.span(draft.node)
    if draft.event == "branch" and row > draft.chunk.first:
        row, column = _jump(machine, draft, row, column)
    confidence = probability(
        f"{meta.code} {meta.slug}", meta.confidence, draft.certainty, draft.guards, draft.root.kind,
        masked=draft.consequence == "masked", inline=draft.inline,
    )  # fmt: skip
    masked = draft.masked_by.chunk.span(draft.masked_by.node)[0] if draft.masked_by is not None else 0
    root = draft.root.name or (draft.path[0][0] if draft.path else "")
    found_under = draft.answer.code or meta.code_in(machine.context.torch)
    return Finding(
        code=found_under,
        name=meta.slug,
        message=draft.answer.message,
        filename=draft.chunk.module.path,
        row=row,
        column=column,
        end_row=end_row,
        end_column=end_column,
        confidence=confidence,
        certainty=round(draft.certainty, 4),
        guards=draft.guards,
        inline=draft.inline,
        severity=_severity(draft, confidence),
        consequence=draft.consequence,
        masked_by=masked,
        hot=draft.guards == 0 and bool(draft.path),
        heat=_heat(draft, root, graph),
        category=meta.category,
        function=draft.function,
        root=root,
        root_kind=draft.root.kind,
        path=_steps(draft),
        why=_reasons(draft),
        advice=draft.answer.advice or meta.advice,
        url=meta.page or url_of(found_under),
        noqa_row=end_row,
        event=draft.event,
        optional=meta.optional,
        roots=tuple(sorted(draft.roots)),
    )


def _jump(machine: Machine, draft: Draft, row: int, column: int) -> tuple[int, int]:
    """Where Dynamo says that it breaks on a test that starts here: a test written over several rows may count for the
    row of its statement."""
    from gblint.findings.jumps import jump_place
    from gblint.fixing.reading import reading

    chunk = draft.chunk
    place = chunk.span(jump_place(draft.node, reading(chunk.tree).parents, machine.context.python))[:2]
    return place if place[0] < row else (row, column)


def _told(machine: Machine, draft: Draft, finding: Finding) -> Finding:
    """The finding with what is known of a function that was kept out of graphs: whether it still has to be."""
    tried = trials.trial(machine, draft.node) if draft.event == "call" else None
    if tried is None or not (tried.clean or tried.breaks):
        return finding
    name, release = machine.marked[draft.node].name, ".".join(map(str, machine.context.torch))
    if tried.breaks is None:
        advice = f"Trace `{name}`: nothing in it breaks the graph under torch {release}, so it need not be disabled."
        return msgspec.structs.replace(finding, advice=advice)
    inner = tried.breaks
    under = inner.answer.code or inner.rule.meta.code_in(machine.context.torch)
    text = f"`{name}` would break the graph itself, with {under}: {inner.answer.message}"
    reason = Reason(inner.chunk.span(inner.node)[0], text, inner.chunk.module.path)
    advice = f"Repair what breaks in `{name}` and trace it, or move the call out of the compiled function."
    return msgspec.structs.replace(finding, why=[*finding.why, reason], advice=advice)


def _heat(draft: Draft, root: str, graph: CallGraph) -> float:
    """How often the place runs per call of the root. A way that the graph lacks still has the loops seen on it."""
    way = graph.heat(root, draft.function) * TRIPS**draft.inner
    return min(way or TRIPS**draft.loops, HOTTEST)


def _severity(draft: Draft, confidence: float) -> str:
    if draft.consequence in ("masked", "needless"):
        return "info"
    if draft.consequence in ("recompiles", "ignored"):
        return "warning"
    return "error" if confidence >= SURE else "warning"


def _steps(draft: Draft) -> list[Step]:
    """The call chain; each step's row is that of the call that leaves the function, the finding's own row for the
    last."""
    steps: list[Step] = []
    for name, chunk, leaving in draft.path:
        row = chunk.span(leaving if leaving is not None else draft.node)[0]
        steps.append(Step(name, chunk.module.path, row))
    return steps


def _reasons(draft: Draft) -> list[Reason]:
    origin = _origin(draft.answer.about)
    if origin is None:
        return []
    text = code(origin.node) if origin.node is not None else ""
    what = _kind_words(draft.answer.about)
    sentence = (
        f"`{text}` is {what}"
        if text and origin.label != "parameter"
        else f"parameter `{text}` is taken to be {what}"
        if text
        else f"it is {what}"
    )
    if origin.node is None or origin.chunk is None:
        return [Reason(draft.chunk.span(draft.node)[0], sentence, draft.chunk.module.path)]
    return [Reason(origin.chunk.span(origin.node)[0], sentence, origin.chunk.module.path)]


def _origin(value: Value | None) -> Origin | None:
    if isinstance(value, Tensor | DataScalar):
        return value.origin
    if isinstance(value, Union):
        return _origin(as_tensor(value))
    return None


def _kind_words(value: Value | None) -> str:
    tensor = as_tensor(value)
    if tensor is None:
        return "a number read from a tensor"
    kind = {"bool": "boolean ", "int": "integer ", "float": "", "complex": "complex "}.get(tensor.dtype, "")
    article = "an" if kind.startswith("i") else "a"
    return f"{article} {kind}tensor" + (" (0-d)" if tensor.rank == 0 else "")
