"""Which of the repairs on offer are to be made in one go."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable

import msgspec

from gblint.config import Config
from gblint.findings.finding import Edit, Finding, Fix
from gblint.findings.selection import strength
from gblint.fixing.edits import compatible

Key = tuple[str, str, str, str, str]
_SETTING = re.compile(r"\s*(torch\.[\w.]*config\.\w+ = .*)")


class Choice(msgspec.Struct, frozen=True):
    """What the user wants repaired. rules: codes, prefixes or names of rules, empty for all; codemods: names, empty for
    all; unsafe: repairs that are right only in the usual case as well; roots: only breaks on the way from these
    functions; existing: the repaired code serves objects that exist already, so `__init__` has to stay as it is.
    banned: keys of steps not to be made; only: keys of those that may be, None for all."""

    rules: tuple[str, ...] = ()
    codemods: tuple[str, ...] = ()
    unsafe: bool = False
    roots: tuple[str, ...] = ()
    existing: bool = False
    banned: frozenset[Key] = frozenset()
    only: frozenset[Key] | None = None


class Step(msgspec.Struct, frozen=True):
    """One repair to make, for one finding."""

    finding: Finding
    fix: Fix

    @property
    def key(self) -> Key:
        """What stays the same of it while rows move: what is not to be tried again."""
        f = self.finding
        return (self.fix.codemod, f.code, f.filename, f.function, f.message)


def applicability(fix: Fix, finding: Finding, config: Config) -> str:
    """The applicability of a fix after the project's settings have promoted or demoted it."""
    for names, word, changed in (
        (config.extend_safe_fixes, "safe", "unsafe"),
        (config.extend_unsafe_fixes, "unsafe", "safe"),
    ):
        if fix.applicability == changed and (fix.codemod in names or strength(names, finding.code, finding.name)):
            return word
    return fix.applicability


def setting_of(fix: Fix) -> str:
    """The setting that a fix makes (`torch._dynamo.config.… = …`), "" if it makes none: it holds for a whole package,
    not for the place of the break alone."""
    return next((found[1] for edit in fix.edits if (found := _SETTING.match(edit.content))), "")


def wanted(finding: Finding, choice: Choice) -> bool:
    """Whether a finding is one of those to repair."""
    if choice.roots and finding.root not in choice.roots:
        return False
    return not choice.rules or strength(choice.rules, finding.code, finding.name) > 0


def steps(
    findings: Iterable[Finding],
    choice: Choice,
    config_of: Callable[[str], Config],
    allowed: Callable[[Fix], bool],
    banned: set[Key],
) -> list[Step]:
    """The first repair of each finding that may be made; those that get in the way of one before wait for the next
    pass.

    allowed: whether a fix may be made where it would be. banned: keys of steps that were tried and went wrong.
    """
    levels = ("safe", "unsafe") if choice.unsafe else ("safe",)
    chosen: list[Step] = []
    taken: dict[str, list[Edit]] = defaultdict(list)
    for finding in findings:
        if not wanted(finding, choice):
            continue
        for fix in finding.fixes:
            step = Step(finding, fix)
            if (
                applicability(fix, finding, config_of(finding.filename)) in levels
                and (not choice.codemods or fix.codemod in choice.codemods)
                and step.key not in banned
                and (choice.only is None or step.key in choice.only)
                and allowed(fix)
            ):
                if compatible(taken, fix):
                    chosen.append(step)
                    for edit in fix.edits:
                        taken[edit.filename].append(edit)
                break
    return chosen
