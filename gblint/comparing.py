"""The findings of one project under two torch releases, held against each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from gblint.checking import Outcome
from gblint.findings.finding import Finding

Key = Callable[[Finding], tuple[object, ...]]


class Changed(msgspec.Struct, frozen=True):
    """A break that both releases have, under another id or at another cost."""

    before: Finding
    after: Finding


class Comparison(msgspec.Struct, frozen=True):
    """What changes for the reader's own findings from one release to another.

    before, after: the releases. gone, new: findings of one of them only. same: how many stay as they are.
    """

    before: str
    after: str
    gone: list[Finding]
    new: list[Finding]
    changed: list[Changed]
    same: int

    @property
    def differs(self) -> bool:
        return bool(self.gone or self.new or self.changed)


def compare(before: Outcome, after: Outcome) -> Comparison:
    """Hold the findings of two runs over the same files against each other.

    A break counts as the same when it stands at the same place: that of one rule first, then that of any.
    """
    left, right = list(before.findings), list(after.findings)
    pairs = _paired(left, right, lambda f: (*_place(f), f.name)) + _paired(left, right, _place)
    changed = [Changed(a, b) for a, b in pairs if _says(a) != _says(b)]
    changed.sort(key=lambda change: _place(change.before))
    return Comparison(_release(before), _release(after), left, right, changed, len(pairs) - len(changed))


def _paired(left: list[Finding], right: list[Finding], key: Key) -> list[tuple[Finding, Finding]]:
    """Take what has the same key in both lists out of them, in pairs."""
    waiting: dict[tuple[object, ...], list[Finding]] = {}
    for finding in right:
        waiting.setdefault(key(finding), []).append(finding)
    pairs = [(f, waiting[key(f)].pop(0)) for f in left if waiting.get(key(f))]
    _remove(left, (a for a, _ in pairs))
    _remove(right, (b for _, b in pairs))
    return pairs


def _remove(findings: list[Finding], taken: Iterable[Finding]) -> None:
    ids = {id(finding) for finding in taken}
    findings[:] = [finding for finding in findings if id(finding) not in ids]


def _place(finding: Finding) -> tuple[object, ...]:
    return finding.filename, finding.row, finding.column


def _says(finding: Finding) -> tuple[str, str]:
    return finding.code, finding.consequence


def _release(outcome: Outcome) -> str:
    """The release of a run; projects of one run may each have their own."""
    return ", ".join(sorted({scope.settings.target_torch for scope in outcome.scopes}))
