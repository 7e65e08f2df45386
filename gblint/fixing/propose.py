"""Asking the codemods: every finding gets the repairs on offer and the reasons of those that declined."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec
from libcst import CSTValidationError

from gblint.findings.finding import OWN, STRENGTH, Finding, Fix
from gblint.fixing.site import Refusal, Site
from gblint.fixing.sound import unsound

if TYPE_CHECKING:
    from gblint.codemod_api import Codemod
    from gblint.interpreter.drafts import Draft
    from gblint.interpreter.machine import Machine

PLACEHOLDER = STRENGTH.index("placeholder")
MOST = 4  # repairs kept for one finding
LAST_RESORT = 80  # codemods from this rank on are asked only where no other has a repair to make


def with_fixes(machine: Machine, draft: Draft, finding: Finding, options: dict[str, str]) -> Finding:
    """The finding with its repairs, best first; errors inside a codemod are noted on the machine and cost its own
    answer only.

    options: `[tool.gblint.fix]`, and "depth": with "all" last resorts are asked for even where there is something
    better (which may not hold when it is tried).
    """
    site = Site(machine, draft.chunk, draft.node, finding, options)
    offers: list[tuple[int, int, Fix]] = []
    refusals: list[tuple[str, str]] = []
    for codemod in codemods_for(finding.code, finding.name):
        meta = codemod.meta
        if meta.logging and options.get("logging", "guard") not in meta.logging:
            continue
        if (
            meta.rank >= LAST_RESORT
            and options.get("depth") != "all"
            and any(strength < PLACEHOLDER for strength, _, _ in offers)
        ):
            break
        try:
            repair = codemod.repair(site)
            if repair is not None and (problem := unsound(site, repair.edits)):
                raise Refusal(problem)
        except Refusal as refusal:
            refusals.append((meta.name, str(refusal)))
            continue
        except CSTValidationError:  # `[int(s)for s in x]`, where `s` alone would touch the keyword
            refusals.append((meta.name, "there is no space between the code to be changed and a keyword beside it"))
            continue
        except Exception as error:  # a codemod at fault loses its own answer, nothing else
            machine.rule_errors.add(f"codemod {meta.name}: {type(error).__name__}: {error}")
            if machine.debug:
                raise
            continue
        if repair is not None:
            fix = Fix(meta.name, repair.applicability, repair.message, tuple(repair.edits), repair.differs)
            offers.append((STRENGTH.index(repair.applicability), meta.rank, fix))
    if not offers and not refusals:
        refusals.append((OWN, draft.rule.meta.by_hand))
    offers.sort(key=lambda offer: offer[:2])
    fixes = tuple(fix for _, _, fix in offers[:MOST])
    return msgspec.structs.replace(finding, fixes=fixes, refusals=tuple(refusals), examined=True)


@lru_cache(maxsize=512)
def codemods_for(code: str, slug: str) -> tuple[Codemod, ...]:
    """The codemods that have said they repair findings of a rule."""
    from gblint.registry import load_codemods

    return tuple(c() for c in load_codemods() if {"*", code, slug} & set(c.meta.fixes))
