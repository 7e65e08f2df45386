"""The report for reading: each finding with its source, its reasons and what to do."""

from __future__ import annotations

from collections.abc import Iterator

from gblint.checking import Outcome, Problem
from gblint.findings.finding import OWN, Finding, Reason, Step
from gblint.report import summary
from gblint.report.excerpt import Sources, excerpt
from gblint.report.order import by_worth
from gblint.report.style import Style, percent, plural, printable, short, shown

_CONSEQUENCES = {
    "splits-graph": "the graph is split here",
    "raises": "torch.compile raises an error here, since the root is compiled with fullgraph=True",
    "frame-falls-back": "the whole frame runs eagerly, no graph is made of it",
    "recompiles": "compiled anew at each call, and left to run eagerly after 8 of them (`recompile_limit`)",
    "needless": "compiled code leaves out what it need not",
    "fails": "the call raises an error",
    "ignored": "what is asked for is not done, and only a log line says so",
}
_SILENT = {
    "recompiles": "Silent: no graph break, but torch.compile gives up",
    "fails": "Refused: torch.compile raises an error",
    "ignored": "Silent: no graph break, but torch.compile does not do what is asked for",
    "needless": "Needless: kept from Dynamo, which could trace it",
}
ROOT_KINDS = {"explicit": "compiled", "assumed": "assumed to be compiled", "guessed": "a guess: nothing calls it"}
_STEPS_SHOWN = 6
_REASONS_SHOWN = 6


def render(outcome: Outcome, style: Style) -> str:
    """The whole report, ordered by what is worth fixing first."""
    sources = Sources(outcome.overlay)
    blocks: list[str] = []
    heading = ""
    for finding in by_worth(outcome.findings):
        title = section(finding)
        if title != heading:
            heading = title
            blocks.append(style.paint(title, bold=True, underline=True))
        blocks.append("\n".join(finding_lines(finding, sources, style)))
    blocks += ["\n".join(_problem(problem, sources, style)) for problem in outcome.problems]
    text = "".join(f"{block}\n\n" for block in blocks)
    return text + (summary.render(outcome, style) if style.summary else "")


def section(finding: Finding) -> str:
    """The heading that a finding stands under."""
    if finding.consequence == "masked":
        return "Masked: these show once the break before them is gone"
    if not finding.is_break:
        return _SILENT[finding.consequence]
    if finding.hot:
        return "Hot: on the path of every call"
    return "Not on the path of every call"


def finding_lines(finding: Finding, sources: Sources, style: Style) -> Iterator[str]:
    """A finding with its source, its reasons and what to do, line by line."""
    place = f"{shown(finding.filename)}:{finding.row}:{finding.column}"
    yield " ".join(
        part
        for part in (
            style.paint(place, bold=True),
            style.paint(finding.code, fg="red", bold=True),
            finding.name,
            style.paint(heat(finding), fg="yellow") if finding.hot else "",
            percent(finding.confidence),
        )
        if part
    )
    yield f"  {printable(finding.message)}"
    span = (finding.row, finding.column, finding.end_row, finding.end_column)
    yield from (f"  {line}" for line in excerpt(sources.lines(finding.filename), span, style))
    for label, text in facts(finding):
        yield f"  {style.paint(label + ':', fg='cyan')} {printable(text)}"


def heat(finding: Finding) -> str:
    """ "[hot]", "[hot ×24]" for what runs more than once per call."""
    times = round(finding.heat)
    return f"[hot ×{times:,}]" if times > 1 else "[hot]"


def facts(finding: Finding) -> Iterator[tuple[str, str]]:
    """What there is to know of a finding besides its message: (label, text)."""
    for reason in finding.why[:_REASONS_SHOWN]:
        yield "because", _reason(reason, finding)
    yield "path", call_chain(finding)
    if finding.library:
        where = f"{shown(finding.library.filename)}:{finding.library.row}"
        yield "library", f"it happens in {short(finding.library.function)} ({where})"
    yield "cost", _cost(finding)
    if finding.reach > 1:
        yield "reach", reach(finding)
    if finding.advice:
        yield "instead", finding.advice
    yield _repair(finding)
    if finding.url:
        yield "see", finding.url


def _reason(reason: Reason, finding: Finding) -> str:
    elsewhere = reason.filename and reason.filename != finding.filename
    place = f"{shown(reason.filename)}:{reason.row}" if elsewhere else f"row {reason.row}"
    return f"{reason.text} ({place})" if reason.row else reason.text


def call_chain(finding: Finding) -> str:
    """From the compiled root to the finding: "Net.forward:20 → Block.forward (here)"."""
    path = finding.path
    if path and path[-1].function == finding.function:
        path = path[:-1]  # where the finding is, said at the end anyway
    steps = [_step(step, finding.filename) for step in path]
    if len(steps) > _STEPS_SHOWN:
        left_out = len(steps) - _STEPS_SHOWN + 1
        steps = [*steps[: _STEPS_SHOWN // 2], f"… {left_out} more …", *steps[1 - _STEPS_SHOWN // 2 :]]
    here = f"{short(finding.function)} (here)" if finding.function else "here"
    kind = ROOT_KINDS.get(finding.root_kind, finding.root_kind)
    return " → ".join([*steps, here]) + f"; the root is {kind}"


def _step(step: Step, filename: str) -> str:
    if step.filename in ("", filename):
        return f"{short(step.function)}:{step.row}"
    return f"{short(step.function)} ({shown(step.filename)}:{step.row})"


def _cost(finding: Finding) -> str:
    if finding.consequence == "masked":
        row = f"the break at row {finding.masked_by}" if finding.masked_by else "another break"
        return f"none yet: {row} already keeps Dynamo from getting here"
    text = _CONSEQUENCES.get(finding.consequence, finding.consequence)
    return f"{text}; about {round(finding.heat):,} times per call" if finding.heat >= 1.5 else text


def reach(finding: Finding) -> str:
    """ "breaks 12 roots, 3 of which would be clean without it"."""
    text = f"breaks {plural(finding.reach, 'root')}"
    if not finding.frees:
        return text
    which = "all" if finding.frees == finding.reach else f"{finding.frees:,}"
    return f"{text}, {which} of which would be clean without it"


def _repair(finding: Finding) -> tuple[str, str]:
    """The repair on offer, or why there is none."""
    if finding.fix is not None:
        return f"fix [{finding.fix.applicability}]", f"{finding.fix.message} ({finding.fix.codemod})"
    if finding.owner != "yours":
        return "no fix", "the break is in code of a library, which gblint does not edit"
    if finding.refusals:
        name, reason = finding.refusals[0]
        return "no fix", reason if name == OWN else f"{reason} ({name})"
    return "no fix", "none was looked for"


def _problem(problem: Problem, sources: Sources, style: Style) -> Iterator[str]:
    place = style.paint(f"{shown(problem.filename)}:{problem.row}:{problem.column}", bold=True)
    yield f"{place} {style.paint(problem.code, fg='magenta', bold=True)} {problem.name}"
    yield f"  {printable(problem.message)}"
    span = (problem.row, problem.column, problem.row, problem.column + 1)
    yield from (f"  {line}" for line in excerpt(sources.lines(problem.filename), span, style))
