"""Putting the units' results together: one finding a place, demoted where better knowledge exists, with its owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gblint.analysis import Analysis, Stats
from gblint.findings.choice import likeliest
from gblint.findings.finding import STRENGTH, Finding, Spot

if TYPE_CHECKING:
    from gblint.index.project import Project
    from gblint.units import UnitResult

# A forward that others call was judged there with its real arguments; what only its guessed run shows is doubtful.
DEMOTED = 0.5


def merge(results: list[UnitResult], wanted: set[str], project: Project) -> Analysis:
    """All findings in the wanted files. Breaks inside libraries are moved to the call in the project that leads
    there."""
    own = set(project.files)
    reached = {(path, name) for r in results for path, name in r.reached}
    names = {f"{project.info(path).name}.{name}" for path, name in reached}
    placed = (_place(_demote(finding, result, names), own) for result in results for finding in result.findings)
    seen = [f for f in placed if f is not None and f.filename in wanted]
    findings = _agreed(likeliest(seen, _rank), seen)
    return Analysis(findings, [], _stats(results), [r.calls for r in results])


def _agreed(findings: list[Finding], seen: list[Finding]) -> list[Finding]:
    """Findings with the repairs that hold in every context they were found in, at the weakest applicability."""
    contexts: dict[Spot, list[Finding]] = {}
    for finding in seen:
        if finding.examined:
            contexts.setdefault(finding.spot, []).append(finding)
    return [_agree(finding, contexts.get(finding.spot, [])) for finding in findings]


def _agree(finding: Finding, others: list[Finding]) -> Finding:
    if not others or (len(others) == 1 and finding.examined):
        return finding
    offers = [{(fix.codemod, fix.edits): fix for fix in other.fixes} for other in others]
    kept = []
    for fix in others[0].fixes:
        same = [offer.get((fix.codemod, fix.edits)) for offer in offers]
        if None not in same:
            kept.append(max((f for f in same if f is not None), key=lambda f: STRENGTH.index(f.applicability)))
    kept.sort(key=lambda fix: STRENGTH.index(fix.applicability))
    refusals = tuple(dict.fromkeys(refusal for other in others for refusal in other.refusals))
    return msgspec.structs.replace(finding, fixes=tuple(kept), refusals=refusals, examined=True)


def _rank(finding: Finding) -> tuple[float, bool, str]:
    return (finding.confidence, finding.consequence != "masked", finding.code)


def _demote(finding: Finding, result: UnitResult, reached: set[str]) -> Finding:
    if finding.root_kind != "assumed" or finding.root not in reached or finding.function != finding.root:
        return finding
    return msgspec.structs.replace(finding, confidence=round(finding.confidence * DEMOTED, 4))


def _place(finding: Finding, own: set[str]) -> Finding | None:
    """A finding where its reader can act: in the project, or at the project's call into the library."""
    if finding.filename in own:
        return finding
    outside = finding.path[-1] if finding.path else None
    for step in reversed(finding.path):
        if step.filename in own:
            return msgspec.structs.replace(
                finding, filename=step.filename, row=step.row, column=1, end_row=step.row, end_column=1,
                function=step.function,
                owner="library", library=outside, noqa_row=step.row,
            )  # fmt: skip
    return None


def _stats(results: list[UnitResult]) -> Stats:
    stats = Stats()
    unresolved: set[str] = set()
    for result in results:
        stats.functions += result.functions
        stats.explicit_roots += result.roots.get("explicit", 0)
        stats.assumed_roots += result.roots.get("assumed", 0) + result.roots.get("guessed", 0)
        stats.cut += result.cut
        stats.internal += result.internal
        unresolved.update(result.unresolved)
    stats.roots = stats.explicit_roots + stats.assumed_roots
    stats.unresolved = len(unresolved)
    return stats
