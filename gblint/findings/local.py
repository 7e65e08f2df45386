"""What a project's own runs say about its findings: verdicts, kept in a small file, that move the confidence of rules.

The file lies in the project's folder, one JSON object a line, in a fixed order, so that it can be committed and merged:
lines of both sides may simply be kept. `gblint verify` writes it, `gblint check` reads it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from gblint.findings.confidence import LEAST
from gblint.findings.finding import Finding

FILE = ".gblint_verdicts.jsonl"
LARGEST = 16 << 20  # bytes; what is beyond is no small file any more, and not read
# The shipped table counts as much as this many verdicts: of one rule, and of the project as a whole.
WEIGHT_RULE, WEIGHT_PROJECT = 6.0, 20.0
_EDGE = 0.001


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a run said of a place. rule: "CODE slug". file: relative to the project. text: a digest of the statement.
    confidence: the shipped one. verdict: "confirmed", "refuted" or "missed". torch: the release it ran with."""

    rule: str
    file: str
    function: str
    text: str
    confidence: float
    verdict: str
    torch: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        return (self.file, self.function, self.text, self.rule)


Verdicts = dict[tuple[str, ...], Verdict]


def load(path: Path) -> Verdicts:
    """The verdicts in a file, none if there is no such file. Lines that are none are left out."""
    try:
        with path.open("rb") as stream:
            lines = stream.read(LARGEST).split(b"\n")
    except OSError:
        return {}
    found: Verdicts = {}
    for line in lines:
        if line.strip():
            try:
                merge(found, [msgspec.json.decode(line, type=Verdict)])
            except (msgspec.DecodeError, ValueError, RecursionError):  # cut off, or the marks of a merge
                continue
    return found


def merge(into: Verdicts, others: Iterable[Verdict]) -> None:
    """Add verdicts. Of two on one place under one torch, a break counts: other arguments may not lead there."""
    for verdict in others:
        known = into.get(verdict.key)
        if known and known.verdict == "confirmed" and known.torch == verdict.torch:
            continue
        into[verdict.key] = verdict


def save(path: Path, verdicts: Verdicts) -> None:
    """Write all verdicts, in order of file; raises OSError."""
    encoder = msgspec.json.Encoder()
    lines = [encoder.encode(verdicts[key]) for key in sorted(verdicts)]
    part = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        part.write_bytes(b"".join(line + b"\n" for line in lines))
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


# -------------------------------------------------------------------------------------------------------- confidence


class Shifts(msgspec.Struct, frozen=True):
    """How far to move confidences, in log odds: all of them, and those of a rule besides."""

    project: float = 0.0
    rules: dict[str, float] = {}

    def moved(self, rule: str, confidence: float) -> float:
        """A confidence after the project's verdicts."""
        shift = self.project + self.rules.get(rule, 0.0)
        return confidence if not shift else _within(_share(_odds(confidence) + shift))


def shifts(verdicts: Iterable[Verdict]) -> Shifts:
    """What verdicts say beyond the shipped confidence.

    The shipped confidences of the judged findings are taken as a Beta prior on the share that is confirmed: as if
    `WEIGHT_PROJECT` (of a rule: `WEIGHT_RULE`) findings had been seen, their mean being what the table says. A rule is
    judged after the project as a whole, so that one with few verdicts follows the others.
    """
    judged = [v for v in verdicts if v.verdict in ("confirmed", "refuted")]
    if not judged:
        return Shifts()
    project = _shift([v.confidence for v in judged], _hits(judged), WEIGHT_PROJECT)
    by_rule: dict[str, list[Verdict]] = {}
    for verdict in judged:
        by_rule.setdefault(verdict.rule, []).append(verdict)
    rules = {
        rule: _shift([_share(_odds(v.confidence) + project) for v in mine], _hits(mine), WEIGHT_RULE)
        for rule, mine in sorted(by_rule.items())
    }
    return Shifts(project, rules)


def _hits(verdicts: Sequence[Verdict]) -> int:
    return sum(v.verdict == "confirmed" for v in verdicts)


def _shift(confidences: Sequence[float], hits: int, weight: float) -> float:
    mean = sum(confidences) / len(confidences)
    posterior = (weight * mean + hits) / (weight + len(confidences))
    return _odds(posterior) - _odds(mean)


def _odds(share: float) -> float:
    kept = min(1 - _EDGE, max(_EDGE, share))
    return math.log(kept / (1 - kept))


def _share(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


def _within(confidence: float) -> float:
    return round(min(1 - LEAST, max(LEAST, confidence)), 4)


def localized(findings: Iterable[Finding], folder: Path) -> list[Finding]:
    """Findings with the confidence that the verdicts in a project's folder give them."""
    found = load(folder / FILE)
    if not found:
        return list(findings)
    by = shifts(found.values())
    return [msgspec.structs.replace(f, confidence=by.moved(f"{f.code} {f.name}", f.confidence)) for f in findings]
