"""Putting the units' results together: one finding a place, with its owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gblint.analysis import Analysis, Stats
from gblint.findings.choice import likeliest
from gblint.findings.finding import STRENGTH, Finding, Fix, Spot
from gblint.reach import causes_of

if TYPE_CHECKING:
    from gblint.index.project import Project
    from gblint.units import UnitResult

PARTIAL = "no edit serves all callers: what the code is given differs between them"
OTHERWISE = "written for one of the callers, others would have it written in another way"


def merge(results: list[UnitResult], wanted: set[str], project: Project) -> Analysis:
    """All findings in the wanted files. Breaks inside libraries are moved to the call in the project that leads
    there."""
    own = set(project.files)
    placed = [[f for f in (_place(finding, own) for finding in r.findings) if f is not None] for r in results]
    seen = [f for unit in placed for f in unit if f.filename in wanted]
    findings = _agreed(likeliest(seen, _rank), seen)
    return Analysis(findings, [], _stats(results), [r.calls for r in results], causes=causes_of(placed))


def _agreed(findings: list[Finding], seen: list[Finding]) -> list[Finding]:
    """Findings with the repairs that are on offer in every context they were examined in."""
    contexts: dict[Spot, list[Finding]] = {}
    for finding in seen:
        if finding.examined:
            contexts.setdefault(finding.spot, []).append(finding)
    return [_agree(finding, contexts.get(finding.spot, [])) for finding in findings]


def _agree(finding: Finding, others: list[Finding]) -> Finding:
    """A finding with what was offered and declined in all its contexts. A repair holds at its weakest applicability;
    one that every context would write in another way is taken as it is here, as unsafe; the rest is declined."""
    if not others:
        return finding
    if not finding.examined:
        finding = msgspec.structs.replace(finding, fixes=others[0].fixes, examined=True)
    refusals = dict.fromkeys(refusal for other in others for refusal in other.refusals)
    refused = {codemod for codemod, _ in refusals}
    kept = []
    for fix in finding.fixes:
        own = [[f for f in other.fixes if f.codemod == fix.codemod] for other in others]
        same = [f for offers in own for f in offers if f.edits == fix.edits]
        if len(same) == len(others):
            kept.append(max(same, key=_weakness))
        elif all(own):
            kept.append(_as_here(max((f for offers in own for f in offers), key=_weakness), fix))
    offered = dict.fromkeys(fix.codemod for other in others for fix in other.fixes)
    refusals |= dict.fromkeys((name, PARTIAL) for name in offered if name not in {f.codemod for f in kept} | refused)
    kept.sort(key=_weakness)
    return msgspec.structs.replace(finding, fixes=tuple(kept), refusals=tuple(refusals))


def _weakness(fix: Fix) -> int:
    return STRENGTH.index(fix.applicability)


def _as_here(weakest: Fix, fix: Fix) -> Fix:
    applicability = max("unsafe", weakest.applicability, key=STRENGTH.index)
    return msgspec.structs.replace(fix, applicability=applicability, message=f"{fix.message}; {OTHERWISE}")


def _rank(finding: Finding) -> tuple[float, bool, str]:
    return (finding.confidence, finding.consequence != "masked", finding.code)


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
