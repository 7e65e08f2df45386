"""Repairs that a run of the user's program has to approve: made on disk, run, and kept only if nothing got worse."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from gblint.analysis import Progress
from gblint.checking import Options
from gblint.fixing.placed import Placed
from gblint.fixing.plan import Choice, Key, Step
from gblint.fixing.session import Repaired, repair
from gblint.verify.matching import REFUTED, judge, real
from gblint.verify.pairing import Change
from gblint.verify.sites import Site
from gblint.verify.trial import (
    Baseline,
    Judgement,
    Program,
    Seen,
    baseline,
    judge_eager,
    judge_edits,
    look,
    look_eager,
    place,
)

GONE, UNREACHED = "gone", "not reached"
Announce = Callable[[str], None]


class Rejected(msgspec.Struct, frozen=True):
    """A repair that was taken back because of what the run showed, or not made because of it; reason is a clause."""

    step: Step
    reason: str


class Proved(msgspec.Struct):
    """What came of it. repaired: the session whose contents stand on disk now; steps: what became of the break of each
    of its repairs; rejected: in the order of their trials; after: None if no repair is left. runs: of the program."""

    repaired: Repaired
    before: Baseline
    after: Judgement | None = None
    steps: list[str] = []
    rejected: list[Rejected] = []
    runs: int = 0


class _Trial(msgspec.Struct):
    """A set of repairs that was tried. still: those whose break is still there."""

    repaired: Repaired
    judged: Judgement | None
    outcomes: list[str]
    still: dict[Key, str]
    worse: list[str]

    @property
    def good(self) -> bool:
        return not (self.worse or self.still)


def prove(
    options: Options, choice: Choice, program: Program, announce: Announce, progress: Progress | None = None
) -> Proved:
    """Make the wanted repairs and keep those after which the program is not worse off (see `judge_edits`).

    All are tried together; if that goes wrong, halves of them, down to single ones, so that the files always hold a set
    of repairs that was run as a whole. In the place of a repair that is given up comes the next on offer. announce:
    called before each run with what it is about. The files are restored on every error, which is raised: GblintError
    as by `check` and `baseline`, KeyboardInterrupt.
    """
    with tempfile.TemporaryDirectory(prefix="gblint-prove-") as scratch:
        if options.no_cache:
            options = msgspec.structs.replace(options, no_cache=False, cache_dir=Path(scratch, "cache"))
        with Placed() as placed:
            proved = _Proof(options, choice, program, announce, progress, placed, Path(scratch, "run")).run()
            placed.keep()
        return proved


class _Proof:
    def __init__(
        self,
        options: Options,
        choice: Choice,
        program: Program,
        announce: Announce,
        progress: Progress | None,
        placed: Placed,
        scratch: Path,
    ) -> None:
        self._options = options
        self._choice = choice
        self._program = program
        self._announce = announce
        self._progress = progress
        self._placed = placed
        self._scratch = scratch
        self._rejected: list[Rejected] = []
        self._banned = set(choice.banned)
        self._tried: dict[frozenset[tuple[str, bytes]], tuple[Judgement | None, list[str]]] = {}
        self._runs = 0

    def run(self) -> Proved:
        first = self._offers()  # what cannot be analysed is to fail before anything runs
        if not self._program.folders:
            folders = tuple(scope.root for scope in first.before.scopes)
            self._program = msgspec.structs.replace(self._program, folders=folders)
        self._before = baseline(self._program, self._scratch, self._told("the source as it is"))
        self._reject_refuted(first)
        kept: frozenset[Key] = frozenset()
        best = self._trial(kept)
        while True:
            offered = [step for step in self._offers().made if step.key not in kept]
            if not offered:
                break
            kept, best = self._search(kept, best, list(dict.fromkeys(step.key for step in offered)))
        self._placed.put(best.repaired.old, best.repaired.new)
        judged = best.judged if best.repaired.new else None
        return Proved(best.repaired, self._before, judged, best.outcomes, self._rejected, self._runs)

    def _offers(self) -> Repaired:
        """All repairs that go together and were not rejected; those that the session itself takes back are."""
        offered = self._session(None)
        self._banned.update(dropped.step.key for dropped in offered.dropped)
        self._rejected += [Rejected(dropped.step, dropped.reason) for dropped in offered.dropped]
        return offered

    def _session(self, only: frozenset[Key] | None) -> Repaired:
        """Repairs in memory: those named, else all that may be made. The files are read as they were."""
        choice = msgspec.structs.replace(self._choice, banned=frozenset(self._banned), only=only)
        self._placed.put({}, {})
        return repair(self._options, choice, self._progress)

    def _search(self, kept: frozenset[Key], best: _Trial, candidates: list[Key]) -> tuple[frozenset[Key], _Trial]:
        """Add as many of the candidates to those kept as the program allows; the rest is rejected."""
        while candidates:
            trial = self._trial(kept | set(candidates))
            if trial.good:
                return kept | set(candidates), trial
            made = {step.key for step in trial.repaired.made}
            present = [key for key in candidates if key in made]
            if not trial.worse and (still := [key for key in candidates if key in trial.still]):
                self._reject(trial, {key: trial.still[key] for key in still})
                candidates = [key for key in candidates if key not in still]
                continue
            if len(present) <= 1:
                reasons = trial.worse or list(trial.still.values())
                self._reject(trial, dict.fromkeys(present or candidates, "; ".join(reasons[:3])))
                candidates = [key for key in candidates if key not in (present or candidates)]
                continue
            half = present[: len(present) // 2]
            kept, best = self._search(kept, best, half)
            candidates = [key for key in candidates if key not in half]
        return kept, best

    def _reject(self, trial: _Trial, reasons: dict[Key, str]) -> None:
        self._banned.update(reasons)
        by_key = {step.key: step for step in trial.repaired.made}
        self._rejected += [Rejected(by_key[key], reason) for key, reason in reasons.items() if key in by_key]

    def _reject_refuted(self, session: Repaired) -> None:
        """Leave alone what does not break: Dynamo traced it before any edit, and said nothing."""
        observation = self._before.seen.observation
        for step in session.made:
            if step.finding not in session.before.findings:
                continue  # one that earlier repairs bring to light
            (judged, *_) = judge([step.finding], observation.sites, observation.traced)
            if judged.verdict == REFUTED:
                self._banned.add(step.key)
                self._rejected.append(Rejected(step, "nothing is to be repaired: Dynamo traced it without a break"))

    def _trial(self, keys: frozenset[Key]) -> _Trial:
        """Put a set of repairs on disk, run the program, and say what came of it."""
        repaired = self._session(keys)
        judged, worse = self._judged(repaired)
        outcomes, still = self._outcomes(repaired, judged)
        return _Trial(repaired, judged, outcomes, still, worse)

    def _judged(self, repaired: Repaired) -> tuple[Judgement | None, list[str]]:
        contents = frozenset(repaired.new.items())
        if not contents:
            return None, []
        if contents not in self._tried:
            self._placed.put(repaired.old, repaired.new)
            self._tried[contents] = self._run(repaired)
        return self._tried[contents]

    def _run(self, repaired: Repaired) -> tuple[Judgement, list[str]]:
        count = len(repaired.made)
        told = self._told("1 repair" if count == 1 else f"{count} repairs")
        seen: Seen = look(self._program, self._scratch, told)
        judged = judge_edits(self._before, seen, Change(repaired.old, repaired.new))
        if not judged.worse and self._program.outputs:
            seen.eager = look_eager(self._program, self._scratch, told)
            if text := judge_eager(self._before, seen.eager):
                judged.worse.append(text)
        return judged, judged.worse

    def _told(self, what: str) -> Announce:
        def tell(how: str) -> None:
            self._runs += 1
            self._announce(f"run {self._runs}, {what}{how}")

        return tell

    def _outcomes(self, repaired: Repaired, judged: Judgement | None) -> tuple[list[str], dict[Key, str]]:
        """What became of the break of each repair, and those whose break is still there."""
        outcomes: list[str] = []
        still: dict[Key, str] = {}
        before = self._before.seen.observation.sites
        same = judged.pairs.same if judged else []
        for step, rows in zip(repaired.made, repaired.origins, strict=True):
            targets = _targets(step, rows, before)
            left = [now for old, now in same if any(old is target for target in targets)]
            if left:
                still[step.key] = f"its break is still there: {place(left[0])}"
            outcomes.append(GONE if targets else UNREACHED)
        return outcomes, still


def _targets(step: Step, rows: tuple[int, int], before: list[Site]) -> list[Site]:
    """The breaks before the edits that a repair is for: those in its rows that have its id, else any."""
    finding = step.finding
    own = [s for s in before if real(s.filename) == real(finding.filename) and rows[0] <= s.row <= rows[1]]
    return [s for s in own if finding.code == s.code or finding.code in s.wraps] or own
