"""Repairs for breaks that many roots have in common.

A unit asks the codemods about the breaks in its own file. A break elsewhere, in a helper that hundreds of models call,
would be asked about hundreds of times; instead the first unit that has found it runs again, for its repairs alone.
`gblint fix` does not go by this: before anything is edited, every unit is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gblint.findings.finding import Finding, Spot
from gblint.units import Plan

if TYPE_CHECKING:
    from gblint.index.project import Project
    from gblint.units import UnitResult


def plans_for(findings: list[Finding], results: list[UnitResult], project: Project) -> list[Plan]:
    """The units to run again, with the findings to ask about in each: those in the project that were not examined."""
    wanted = {f.spot for f in findings if not f.examined and project.owns(f.filename)}
    spots: dict[tuple[str, str], set[Spot]] = {}
    for result in results:
        here = wanted.intersection(f.spot for f in result.findings) if wanted else set()
        if here:
            spots[result.path, result.mode] = here
            wanted -= here
    return [Plan(project.info(path), mode, frozenset(found)) for (path, mode), found in spots.items()]


def completed(findings: list[Finding], results: list[UnitResult]) -> list[Finding]:
    """The findings, with the repairs that units which ran again have found."""
    offers = {f.spot: f for result in results for f in result.findings if f.examined}
    return [_completed(finding, offers.get(finding.spot)) for finding in findings]


def _completed(finding: Finding, offer: Finding | None) -> Finding:
    if offer is None or finding.examined:
        return finding
    return msgspec.structs.replace(finding, fixes=offer.fixes, refusals=offer.refusals, examined=True)
