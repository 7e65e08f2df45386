"""A page to look at and to show: findings by root, the picture of each root, source with marks, repairs as differences.

One file that needs no other and no network; a browser that obeys its policy runs no script but its own. What it
shows is there without the script too, which only filters, moves and opens.
"""

from __future__ import annotations

import base64
import difflib
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import msgspec

from gblint.callgraph import Calls, merged, unpack
from gblint.checking import Outcome, Problem
from gblint.findings.finding import Edit, Finding, Fix
from gblint.fixing.edits import Conflict, edited
from gblint.report import flame, summary
from gblint.report.excerpt import Sources
from gblint.report.frames import Views, fates
from gblint.report.full import ROOT_KINDS, facts, heat, section
from gblint.report.order import by_worth
from gblint.report.style import Style, percent, plural, printable, short, shown
from gblint.source import SourceError

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

_CONTEXT = 2  # rows shown round a finding, and round an edit
_REASONS_MARKED = 4
_LONGEST_SPAN = 12  # rows; of longer ones the start is shown
_WIDEST = 240  # characters of a row
_MOST_ROWS = 80  # of a difference
_OFFERS = {"safe": "safe fix", "unsafe": "unsafe fix", "placeholder": "draft"}


class Verdict(msgspec.Struct, frozen=True):
    """What a run has said of a finding: one word, and facts with their labels."""

    word: str
    said: tuple[tuple[str, str], ...] = ()


class Subject(msgspec.Struct):
    """What a page is about.

    roots: those to draw with all that they call, whether something breaks there or not; without, each root that has
    findings is drawn with what leads to them. verdicts: by `id` of the finding. figures: counts for the head of the
    page, before its own. notes: lines about the run, the first of which says the most. change: a table of a program
    before and after repairs.
    """

    outcome: Outcome
    title: str = "Graph breaks"
    roots: tuple[str, ...] | None = None
    verdicts: Mapping[int, Verdict] = {}
    figures: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    change: tuple[tuple[str, str, str], ...] = ()


def render(outcome: Outcome, style: Style) -> str:
    """The page on what `check` has found."""
    return page(Subject(outcome), style)


def page(subject: Subject, style: Style) -> str:
    """The whole page."""
    outcome = subject.outcome
    groups = list(_Groups(subject).all())
    shown_findings = [item for group in groups for part in group["parts"] for item in part["findings"]]
    if shown_findings:
        shown_findings[0]["open"] = True
    headline, *lines = summary.render(outcome, Style()).splitlines()
    return _template().render(
        title=subject.title,
        project=_project(outcome),
        target=", ".join(sorted({scope.settings.target_torch for scope in outcome.scopes})),
        headline=headline,
        lines=lines if style.summary else [],
        run=subject.notes if style.summary else (),
        notes=outcome.notes,
        figures=[*subject.figures, *_figures(outcome)],
        change=subject.change,
        groups=groups,
        problems=[_problem(problem) for problem in outcome.problems],
        choices=_choices(shown_findings),
        legend=flame.LEGEND,
    )


def _project(outcome: Outcome) -> str:
    roots = list(dict.fromkeys(scope.root for scope in outcome.scopes))
    return ", ".join(root.name or str(root) for root in roots[:3]) + (" …" if len(roots) > 3 else "")


def _figures(outcome: Outcome) -> Iterator[tuple[str, str]]:
    findings = outcome.findings
    fallen = {(f.filename, f.function) for f in findings if f.consequence == "frame-falls-back"}
    offered = Counter(f.fix.applicability for f in findings if f.fix)
    yield f"{len(findings):,}", "graph break" if len(findings) == 1 else "graph breaks"
    yield f"{sum(f.hot for f in findings):,}", "on the path of every call"
    yield f"{len(fallen):,}", "frame runs eagerly" if len(fallen) == 1 else "frames run eagerly"
    yield f"{offered['safe']:,}", "with a safe repair"
    yield f"{offered['unsafe']:,}", "with an unsafe repair"


def _choices(findings: list[dict[str, Any]]) -> dict[str, list[tuple[str, int]]]:
    """What the filters offer: values with how many findings have them."""
    keys = ("rule", "file", "owner", "verdict")
    return {key: sorted(Counter(f[key] for f in findings if f[key]).items()) for key in keys}


def _problem(problem: Problem) -> dict[str, str]:
    place = f"{shown(problem.filename)}:{problem.row}:{problem.column}"
    return {"place": place, "rule": f"{problem.code} {problem.name}", "message": problem.message}


# ------------------------------------------------------------------------------------------------------------ groups


class _Groups:
    """Findings by root, the roots in the order of their worthiest findings."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._by_root: dict[str, list[Finding]] = {}
        for finding in by_worth(subject.outcome.findings):
            self._by_root.setdefault(finding.root, []).append(finding)
        wanted = self._by_root if subject.roots is None else subject.roots
        self._calls = merged(map(unpack, subject.outcome.calls)) if wanted else Calls()
        self._views = Views(self._calls, subject.outcome.findings)
        self._ids = {id(f): f"f{n}" for n, f in enumerate(f for group in self._by_root.values() for f in group)}
        self._view = _Findings(subject, self._ids)

    def all(self) -> Iterator[dict[str, Any]]:
        names = dict.fromkeys([*self._by_root, *(self._subject.roots or ())])
        for number, name in enumerate(names):
            yield self._group(name, f"r{number}", self._by_root.get(name, []))

    def _group(self, root: str, anchor: str, findings: list[Finding]) -> dict[str, Any]:
        parts: dict[str, list[dict[str, Any]]] = {}
        for finding in findings:
            parts.setdefault(section(finding), []).append(self._view.of(finding))
        path, row = self._calls.places.get(root, ("", 0))
        return {
            "id": anchor,
            "name": short(root) or "No root is known",
            "full": root,
            "place": f"{shown(path)}:{row}" if path else "",
            "kind": ROOT_KINDS.get(self._calls.roots.get(root, findings[0].root_kind if findings else ""), ""),
            "count": len(findings),
            "parts": [{"title": title, "findings": items} for title, items in parts.items()],
        } | self._picture(root, findings)

    def _picture(self, root: str, findings: list[Finding]) -> dict[str, Any]:
        if root not in self._calls.roots:
            return {"svg": "", "graphs": ""}
        graph = self._views.of(root)
        known = fates(graph, self._subject.outcome.findings)
        drawn = flame.tree(self._calls.places, graph, known, root, fold=self._subject.roots is None)
        links: dict[str, str] = {}
        for finding in findings:
            links.setdefault(finding.function, f"#{self._ids[id(finding)]}")
        title = f"What {short(root)} calls, and what becomes of it"
        graphs = f"≈ {plural(drawn.graphs, 'graph')}" + (f", {drawn.eager:,} eager" if drawn.eager else "")
        return {"svg": _markup(flame.as_text(flame.svg(drawn.root, links, title))), "graphs": graphs}


class _Findings:
    """Single findings as the template wants them."""

    def __init__(self, subject: Subject, ids: Mapping[int, str]) -> None:
        self._verdicts = subject.verdicts
        self._ids = ids
        self._sources = Sources(subject.outcome.overlay)
        self._edited = Sources(subject.outcome.overlay)

    def of(self, finding: Finding) -> dict[str, Any]:
        verdict = self._verdicts.get(id(finding), Verdict(""))
        return {
            "id": self._ids[id(finding)],
            "open": False,
            "rule": f"{finding.code} {finding.name}",
            "message": finding.message,
            "file": shown(finding.filename),
            "place": f"{shown(finding.filename)}:{finding.row}",
            "function": short(finding.function),
            "hot": heat(finding).strip("[]") if finding.hot else "",
            "reach": plural(finding.reach, "root") if finding.reach > 1 else "",
            "confidence": round(100 * finding.confidence),
            "sure": percent(finding.confidence) if verdict.word != "missed" else "",
            "consequence": finding.consequence,
            "owner": finding.owner,
            "verdict": verdict.word,
            "fix": _OFFERS.get(finding.fix.applicability, "") if finding.fix else "",
            "rows": list(_rows(self._sources.lines(finding.filename), finding)),
            "facts": [*verdict.said, *(fact for fact in facts(finding) if not fact[0].startswith(("see", "fix ")))],
            "url": finding.url if finding.url.startswith(("https://", "http://")) else "",
            "repairs": [self._repair(fix) for fix in finding.fixes],
        }

    def _repair(self, fix: Fix) -> dict[str, Any]:
        by_file: dict[str, list[Edit]] = {}
        for edit in fix.edits:
            by_file.setdefault(edit.filename, []).append(edit)
        rows = [row for name, edits in by_file.items() for row in _difference(name, self._edited.lines(name), edits)]
        if len(rows) > _MOST_ROWS:
            rows = [*rows[:_MOST_ROWS], ("hunk", f"… {plural(len(rows) - _MOST_ROWS, 'more row')}")]
        return {"message": fix.message, "codemod": fix.codemod, "how": fix.applicability, "rows": rows}


# ------------------------------------------------------------------------------------------------ source with marks


def _rows(lines: list[str], finding: Finding) -> Iterator[dict[str, Any]]:
    """The rows of a finding and some round it, and those where its reasons were established; gaps in between."""
    if not 1 <= finding.row <= len(lines):
        return
    last = min(max(finding.row, finding.end_row), finding.row + _LONGEST_SPAN, len(lines))
    reasons = _reasons(finding, len(lines))
    near = range(max(1, finding.row - _CONTEXT), min(len(lines), last + _CONTEXT) + 1)
    wanted = {*(row for row in near if lines[row - 1].strip()), *range(finding.row, last + 1), *reasons}
    before = 0
    for row in sorted(wanted):
        if before and any(line.strip() for line in lines[before : row - 1]):
            yield {"number": "", "kind": "gap", "parts": [("⋯", False)], "note": ""}
        before = row
        hit = finding.row <= row <= last
        kind = "hit" if hit else "why" if row in reasons else ""
        parts = _marked(lines[row - 1], row, finding) if hit else [(_tidy(lines[row - 1]), False)]
        yield {"number": row, "kind": kind, "parts": parts, "note": "" if hit else reasons.get(row, "")}


def _reasons(finding: Finding, most: int) -> dict[int, str]:
    """Rows of the same file where reasons were established, with the reasons."""
    found: dict[int, str] = {}
    for reason in finding.why[:_REASONS_MARKED]:
        if 1 <= reason.row <= most and reason.filename in ("", finding.filename):
            found.setdefault(reason.row, reason.text)
    return found


def _marked(line: str, row: int, finding: Finding) -> list[tuple[str, bool]]:
    """A row in parts; those with True are what breaks."""
    start = finding.column - 1 if row == finding.row else len(line) - len(line.lstrip())
    end = finding.end_column - 1 if row == finding.end_row else len(line.rstrip())
    end = max(end, start + 1)
    if end > _WIDEST and start > _WIDEST // 2:  # a very long row: the part round what breaks
        cut = start - _WIDEST // 4
        line, start, end = "…" + line[cut:], start - cut + 1, end - cut + 1
    parts = [(line[:start], False), (line[start:end], True), (line[end:], False)]
    return [(_tidy(text), mark) for text, mark in parts if text]


def _tidy(text: str) -> str:
    text = printable(text.replace("\t", "    "))
    return text if len(text) <= _WIDEST else f"{text[:_WIDEST]}…"


def _difference(filename: str, lines: list[str], edits: list[Edit]) -> Iterator[tuple[str, str]]:
    """What edits make of a file, as rows of a unified difference: (kind, text). Only what is near one is compared."""
    yield "file", shown(filename)
    for near in _clusters(edits):
        first = max(1, near[0].row - _CONTEXT)
        last = min(len(lines), max(edit.end_row for edit in near) + _CONTEXT)
        before = lines[first - 1 : last]
        moved = [msgspec.structs.replace(e, row=e.row - first + 1, end_row=e.end_row - first + 1) for e in near]
        try:
            after = edited("".join(f"{line}\n" for line in before).encode("utf-8", "replace"), moved).decode()
        except (Conflict, SourceError):
            continue
        yield "hunk", f"row {first}"
        compared = difflib.unified_diff(before, after.removesuffix("\n").split("\n"), lineterm="", n=_CONTEXT)
        kinds = {"+": "added", "-": "removed"}
        yield from ((kinds.get(row[0], ""), _tidy(row)) for row in list(compared)[2:] if not row.startswith("@@"))


def _clusters(edits: list[Edit]) -> Iterator[list[Edit]]:
    """Edits in order, those together that are near each other."""
    near: list[Edit] = []
    for edit in sorted(edits, key=lambda e: (e.row, e.column)):
        if near and edit.row > max(e.end_row for e in near) + 2 * _CONTEXT:
            yield near
            near = []
        near.append(edit)
    if near:
        yield near


# ---------------------------------------------------------------------------------------------------------- template


@cache
def _template() -> Template:
    """The page with its style sheets and its script, and a policy that allows no others. Jinja escapes every value that
    is not `Markup`; before that, what could steer a browser is taken out of it."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    data = files("gblint.report") / "data"
    css = (data / "page.css").read_text("utf-8") + flame.style()
    script = (data / "page.js").read_text("utf-8")
    environment = Environment(
        loader=PackageLoader("gblint.report", "data"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    environment.filters["prose"] = _prose
    own = f"style-src '{_hash(css)}'; script-src '{_hash(script)}'"
    policy = f"default-src 'none'; {own}; base-uri 'none'; form-action 'none'"
    environment.globals |= {"css": _markup(css), "script": _markup(script), "policy": policy}
    return environment.get_template("page.html.j2")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _markup(text: str) -> Markup:
    from markupsafe import Markup

    return Markup(text)


def _finalize(value: Any) -> Any:
    """What the template is about to write: text without what could steer a browser or no file could hold."""
    return _plain(value) if type(value) is str else value


def _plain(text: str) -> str:
    return printable(text).encode("utf-8", "backslashreplace").decode()


def _prose(text: str) -> Markup:
    """Text in which backquotes mark code, as everywhere in gblint; where they are not paired they are only signs."""
    from markupsafe import Markup, escape

    text = _plain(text)
    if text.count("`") % 2:
        return escape(text)
    parts = (
        Markup("<code>{}</code>").format(part) if i % 2 else escape(part) for i, part in enumerate(text.split("`"))
    )
    return Markup("").join(parts)
