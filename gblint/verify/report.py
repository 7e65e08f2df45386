"""The report of a verification: each finding with its verdict, rules in a table, and what the run was like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from gblint.report import FORMATS as CHECK_FORMATS
from gblint.report import Report as CheckReport
from gblint.report import html, json
from gblint.report.excerpt import Sources, excerpt
from gblint.report.full import finding_lines
from gblint.report.order import rank
from gblint.report.style import Style, percent, plural, printable, readable, shown
from gblint.verify import log_report
from gblint.verify.matching import CONFIRMED, MASKED, MISSED, REFUTED, UNREACHED, VERDICTS, Judged
from gblint.verify.running import Ran
from gblint.verify.said import RESUMES
from gblint.verify.verifying import Verified

Report = Callable[[Verified, Style], str]

_TITLES = {
    "breaks": "Breaks, in the order to fix them",
    MASKED: "Masked: Dynamo gave up before it got there",
    UNREACHED: "Not reached: Dynamo never traced these rows",
    REFUTED: "Refuted: traced, and the graph did not break",
}
_COLOURS = {CONFIRMED: "red", MISSED: "magenta", MASKED: "yellow", UNREACHED: "yellow", REFUTED: "green"}
_EASE = {"user-error": 0, "supportable": 1, "fundamental": 2, "dynamo-bug": 3}


def worth(judged: Judged) -> tuple[object, ...]:
    """Sorts breaks into the order to fix them: what an earlier break causes last, costly and frequent ones first,
    then what is easier."""
    site, finding = judged.site, judged.finding
    if site is None:
        return (False, 1, 0, 0, rank(finding))
    return (
        site.category == "cascade",
        int(site.effect == RESUMES),
        -site.count,
        _EASE.get(site.category, 1),
        rank(finding),
    )


def _sections(verified: Verified) -> Iterator[tuple[str, list[Judged]]]:
    yield _TITLES["breaks"], sorted(verified.breaks, key=worth)
    for verdict in (MASKED, UNREACHED, REFUTED):
        yield (
            _TITLES[verdict],
            sorted((j for j in verified.judged if j.verdict == verdict), key=lambda j: rank(j.finding)),
        )


def render(verified: Verified, style: Style) -> str:
    """For reading."""
    sources = Sources(verified.outcome.overlay)
    blocks: list[str] = []
    for title, judged in _sections(verified):
        if judged:
            blocks.append(style.paint(title, bold=True, underline=True))
        blocks += ["\n".join(_judged(j, sources, style)) for j in judged]
    table = _table(verified, style)
    if table:
        blocks.append("\n".join(table))
    text = "".join(f"{block}\n\n" for block in blocks)
    return text + ("".join(f"{line}\n" for line in _summary(verified, style)) if style.summary else "")


def render_concise(verified: Verified, style: Style) -> str:
    """One line for each finding."""
    lines = [_line(j, style) for _, judged in _sections(verified) for j in judged]
    lines += _summary(verified, style) if style.summary else []
    return "".join(f"{line}\n" for line in lines)


def render_json(verified: Verified, style: Style) -> str:
    """An object: findings as `check` gives them, each with a verdict; the table of rules; the run."""
    ordered = [j for _, judged in _sections(verified) for j in judged]
    return json.dump(
        {
            "findings": [judged_data(j) for j in ordered],
            "problems": [json.problem_data(p) for p in verified.outcome.problems],
            "rules": [{"rule": rule} | counts for rule, counts in rule_counts(verified).items()],
            "elsewhere": [log_report.site_data(s) for s in verified.elsewhere],
            "foreign": [log_report.site_data(s) for s in verified.foreign],
            "not_shown": {"below_min_confidence": len(verified.unshown), "silenced": verified.silenced},
            "kept": {readable(str(path)): count for path, count in verified.kept.items()},
            "notes": verified.outcome.notes,
            "run": _how(verified.ran) | log_report.run_data(verified.ran.said),
            "eager_run": _how(verified.eager) if verified.eager else None,
        }
    )


def _how(ran: Ran) -> dict[str, Any]:
    """How a run has ended."""
    return {"exit_code": ran.code, "ended": ran.ended, "seconds": round(ran.seconds, 2)}


def judged_data(judged: Judged) -> dict[str, Any]:
    """A finding with the keys of a verdict."""
    return json.finding_data(judged.finding) | {
        "verdict": judged.verdict,
        "verdict_note": judged.note or None,
        "observed": log_report.site_data(judged.site) if judged.site and judged.verdict != MASKED else None,
        "below_min_confidence": judged.low,
    }


def render_lines(verified: Verified, style: Style) -> str:
    """The findings of `render_json`, one a line, then the problems."""
    ordered = [judged_data(j) for _, judged in _sections(verified) for j in judged]
    return "".join(map(json.line, [*ordered, *map(json.problem_data, verified.outcome.problems)]))


def as_checked(report: CheckReport) -> Report:
    """A report of `check` on what the run has left standing: without what it refuted, each message with its verdict."""

    def rendered(verified: Verified, style: Style) -> str:
        left = [
            msgspec.structs.replace(j.finding, message=f"{j.finding.message} [{j.verdict}]")
            for j in verified.judged
            if j.verdict != REFUTED
        ]
        return report(msgspec.structs.replace(verified.outcome, findings=left), style)

    return rendered


def render_html(verified: Verified, style: Style) -> str:
    """The page of `check` with a verdict on each finding and what Dynamo said of it, missed breaks included."""
    judged = [j for _, group in _sections(verified) for j in group]
    counts = Counter(j.verdict for j in judged)
    subject = html.Subject(
        msgspec.structs.replace(verified.outcome, findings=[j.finding for j in judged]),
        title="Graph breaks, verified",
        verdicts={id(j.finding): html.Verdict(j.verdict, tuple(_observed(j))) for j in judged},
        figures=tuple((f"{counts[v]:,}", v.replace("-", " ")) for v in VERDICTS if counts[v]),
        notes=tuple(_summary(verified, Style())),
        change=verified.change,
    )
    return html.page(subject, style)


def _observed(judged: Judged) -> Iterator[tuple[str, str]]:
    """What the run has said of a finding, foretold or not."""
    yield "verdict", _MEANINGS[judged.verdict]
    if judged.site and judged.verdict in (CONFIRMED, MISSED):
        yield "seen", log_report.times(judged.site.count)
    yield from _said(judged)


_MEANINGS = {
    CONFIRMED: "confirmed: the graph breaks here",
    MISSED: "missed: the graph breaks here, and nothing foretold it",
    MASKED: "masked: Dynamo gave up before it got here",
    UNREACHED: "not reached: Dynamo never traced this",
    REFUTED: "refuted: Dynamo traced this, and the graph did not break",
}

FORMATS: dict[str, Report] = {name: as_checked(report) for name, report in CHECK_FORMATS.items()} | {
    "full": render,
    "concise": render_concise,
    "json": render_json,
    "json-lines": render_lines,
    "html": render_html,
}


def _judged(judged: Judged, sources: Sources, style: Style) -> Iterator[str]:
    if judged.verdict == MISSED:
        yield from _missed(judged, sources, style)
        return
    head, *rest = finding_lines(judged.finding, sources, style)
    yield f"{head} {_mark(judged, style)}"
    yield from rest
    for label, text in _said(judged):
        yield f"  {style.paint(label + ':', fg='cyan')} {printable(text)}"


def _missed(judged: Judged, sources: Sources, style: Style) -> Iterator[str]:
    f, site = judged.finding, judged.site
    place, code = (
        style.paint(f"{shown(f.filename)}:{f.row}:{f.column}", bold=True),
        style.paint(f.code, fg="red", bold=True),
    )
    yield f"{place} {code} {printable(f.name)} {_mark(judged, style)}"
    yield f"  {log_report.cut(f.message)}"
    span = (f.row, f.column, f.end_row, f.end_column)
    yield from (f"  {line}" for line in excerpt(sources.lines(f.filename), span, style))
    if site:
        for label, text in log_report.facts(site):
            yield f"  {style.paint(label + ':', fg='cyan')} {printable(text)}"
    if judged.note:
        yield f"  {style.paint('note:', fg='cyan')} {printable(judged.note)}"


def _said(judged: Judged) -> Iterator[tuple[str, str]]:
    """What Dynamo said of a finding that was foretold."""
    site = judged.site
    if judged.verdict == CONFIRMED and site:
        yield "dynamo", log_report.cut(site.reason)
        if site.effect != RESUMES or judged.finding.consequence != "splits-graph":
            yield "in fact", log_report.EFFECTS.get(site.effect, site.effect)
        if site.category == "user-error":
            yield "kind", log_report.CATEGORIES[site.category]
    if judged.note:
        yield "note", judged.note


def _mark(judged: Judged, style: Style) -> str:
    times = f" [{log_report.times(judged.site.count)}]" if judged.site and judged.verdict in (CONFIRMED, MISSED) else ""
    below = " (below the minimum confidence)" if judged.low else ""
    return style.paint(judged.verdict.upper(), fg=_COLOURS[judged.verdict], bold=True) + times + below


def _line(judged: Judged, style: Style) -> str:
    f = judged.finding
    place = style.paint(f"{shown(f.filename)}:{f.row}:{f.column}:", bold=True)
    sure = "" if judged.verdict == MISSED else f" {percent(f.confidence)}"
    note = f" ({printable(judged.note)})" if judged.note else ""
    verdict = style.paint(judged.verdict, fg=_COLOURS[judged.verdict])
    return f"{place} {style.paint(f.code, fg='red')} {f.name} {log_report.cut(f.message)} [{verdict}{sure}]{note}"


def rule_counts(verified: Verified) -> dict[str, dict[str, int]]:
    """How many findings of each rule got which verdict, rules by code."""
    counts: dict[str, Counter[str]] = {}
    for judged in verified.judged:
        counts.setdefault(judged.rule, Counter())[judged.verdict] += 1
    return {rule: {verdict: counts[rule][verdict] for verdict in VERDICTS} for rule in sorted(counts)}


def _table(verified: Verified, style: Style) -> list[str]:
    counts = rule_counts(verified)
    if not counts:
        return []
    width = max(len(rule) for rule in counts)
    head = f"{'rule':<{width}}" + "".join(f"{verdict:>13}" for verdict in VERDICTS)
    rows = [
        f"{printable(rule):<{width}}" + "".join(f"{n or '·':>13}" for n in c.values()) for rule, c in counts.items()
    ]
    return [style.paint(head, bold=True), *rows]


def _summary(verified: Verified, style: Style) -> list[str]:
    counts = Counter(j.verdict for j in verified.judged)
    parts = [f"{counts[verdict]:,} {verdict.replace('-', ' ')}" for verdict in VERDICTS if counts[verdict]]
    lines = [style.paint(f"Verified: {', '.join(parts)}." if parts else "Verified: nothing breaks.", bold=True)]
    more = [
        f"{plural(len(verified.unshown), 'prediction')} below the minimum confidence that no break confirms"
        if verified.unshown
        else "",
        f"{plural(verified.silenced, 'break')} silenced by comments or settings" if verified.silenced else "",
    ]
    if any(more):
        lines.append(f"Not shown: {', '.join(m for m in more if m)}.")
    lines += _others("in files that were not named", verified.elsewhere)
    lines += _others("in code that no row of yours led to", verified.foreign)
    lines += log_report.figures(verified.ran.said)
    lines += [
        f"Kept {plural(n, 'verdict')} in {shown(str(path))}: they move the confidence of later checks."
        for path, n in verified.kept.items()
    ]
    return lines + [f"note: {printable(note)}" for note in verified.ran.said.notes]


def _others(where: str, found: list[Any]) -> list[str]:
    if not found:
        return []
    first = ", ".join(f"{shown(s.filename)}:{s.row} {s.shown_code}" for s in found[:3])
    return [f"Besides, {plural(len(found), 'break')} {where}: {first}{', …' if len(found) > 3 else ''}."]
