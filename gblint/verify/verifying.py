"""One run of `verify`: predictions, then the user's program, then a verdict on each."""

from __future__ import annotations

import ast
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from gblint.analysis import Progress
from gblint.checking import Options, Outcome, Settled, check, wanted
from gblint.errors import GblintError
from gblint.findings.suppression import apply
from gblint.index.model import Suppression
from gblint.index.suppressions import find_suppressions
from gblint.verify.environment import OFF_SWITCHES
from gblint.verify.matching import CONFIRMED, MISSED, Judged, judge, real
from gblint.verify.rows import rows_of
from gblint.verify.running import EXITED, INTERRUPTED, Command, Ran, Show, Tick, problem, run
from gblint.verify.said import Said
from gblint.verify.sites import Owner, Site, sites, within


class Verified(msgspec.Struct):
    """What a verification has to report.

    judged: findings with a verdict, and the breaks that were missed. unshown: verdicts on findings below the minimum
    confidence that no break confirms. elsewhere: breaks in files of the project that were not named; foreign: those
    that no row of the project led to. silenced: missed ones that a comment or a setting silences. eager: the command
    once more, without compiling (see `run_eager`). change: a table (what, before, after) of the run and one before
    repairs, if there was one.
    """

    outcome: Outcome
    ran: Ran
    judged: list[Judged] = []
    unshown: list[Judged] = []
    elsewhere: list[Site] = []
    foreign: list[Site] = []
    silenced: int = 0
    kept: dict[Path, int] = {}
    eager: Ran | None = None
    change: tuple[tuple[str, str, str], ...] = ()

    @property
    def breaks(self) -> list[Judged]:
        """What really breaks: foretold or not."""
        return [j for j in self.judged if j.verdict in (CONFIRMED, MISSED)]


def predict(options: Options, progress: Progress | None = None) -> Outcome:
    """The findings to verify: all, whatever their confidence, which is the shipped one. Nothing is run."""
    return check(
        msgspec.structs.replace(options, min_confidence=0.0, hot_only=False, owner="all", local=False), progress
    )


def run_and_compare(
    options: Options, outcome: Outcome, command: Command, show: Show | None = None, tick: Tick | None = None
) -> Verified:
    """Run the command and give the verdicts on what `predict` has foretold.

    Raises GblintError where there is nothing to compare: no torch, nothing compiled, an interrupt.
    """
    ran = run(command, show, tick)
    if error := problem(ran, command.words):
        raise error
    return compare(options, outcome, ran)


def needs_eager(verified: Verified) -> bool:
    """Whether it is to be asked if the program fails without compiling too: it failed, and Dynamo calls what it met an
    error of the user's."""
    failed = verified.ran.code != 0 and verified.ran.ended == EXITED
    return failed and any(_is_user_error(judged) for judged in verified.breaks)


def run_eager(verified: Verified, command: Command, show: Show | None = None, tick: Tick | None = None) -> None:
    """Run the command without compiling; what it shows goes to `eager`, and to the notes of the errors of the user's.
    Raises GblintError on an interrupt."""
    env = {**(os.environ if command.env is None else command.env), **dict.fromkeys(OFF_SWITCHES, "1")}
    ran = verified.eager = run(msgspec.structs.replace(command, env=env), show, tick)
    if ran.ended == INTERRUPTED:
        raise GblintError("interrupted, nothing is reported")
    for judged in filter(_is_user_error, verified.breaks):
        note = _in_eager(ran, judged)
        judged.note = f"{judged.note}; {note}" if judged.note else note


def _is_user_error(judged: Judged) -> bool:
    return judged.site is not None and judged.site.category == "user-error"


def _in_eager(ran: Ran, judged: Judged) -> str:
    if ran.ended != EXITED:
        return "whether it fails without compiling is not known: that run had to be ended"
    if not ran.code:
        return "fails only compiled: without compiling, the command succeeds"
    site = judged.site
    here = f'File "{site.filename}", line {site.row},' if site else ""
    if any(here in line for line in ran.tail):
        return "fails in eager too: without compiling, the command ends in an error at this row"
    return "without compiling, the command fails too, but not at this row"


def compare(options: Options, outcome: Outcome, ran: Ran) -> Verified:
    """Hold what `predict` has foretold against what Dynamo said."""
    named = [Path(os.path.abspath(path)) for path in options.paths]
    folders = [scope.root for scope in outcome.scopes]
    files = {f.filename for f in outcome.findings} | {str(path) for path in named}
    found = sites(ran.said, within(files, [*folders, *named]))
    inside = within(map(str, named), named)
    verified = Verified(outcome, ran)
    verified.foreign = [s for s in found if s.owner != "yours"]
    verified.elsewhere = [s for s in found if s.owner == "yours" and not inside(s.filename)]
    mine = [s for s in found if s.owner == "yours" and inside(s.filename)]
    settings = Settled(options)
    for judged in _silenced(judge(outcome.findings, mine, ran.said.traced), options, verified):
        judged.low = (
            judged.verdict != MISSED
            and judged.finding.confidence < settings.of_file(judged.finding.filename).min_confidence
        )
        unshown = judged.low and judged.verdict != CONFIRMED
        (verified.unshown if unshown else verified.judged).append(judged)
    outcome.notes += edited(ran.said, inside)
    return verified


def _silenced(judged: Sequence[Judged], options: Options, verified: Verified) -> list[Judged]:
    """Without the missed breaks that comments or settings silence; these are counted."""
    wants = wanted(options)
    kept = []
    for item in judged:
        f = item.finding
        on = wants(f.filename, f.code, f.name, optional=False)  # what Dynamo says is said, predicted or not
        if item.verdict == MISSED and not (on and _spoken(item)):
            verified.silenced += 1
        else:
            kept.append(item)
    return kept


def _spoken(missed: Judged) -> bool:
    return bool(apply([missed.finding], {missed.finding.filename: _comments(missed.finding.filename)}).kept)


def _comments(filename: str) -> list[Suppression]:
    lines = rows_of(filename).lines
    try:
        return find_suppressions(lines, ast.parse("\n".join(lines)))
    except (SyntaxError, ValueError):
        return []


def edited(said: Said, owner: Owner) -> list[str]:
    """A note for each file in which other text stands now than when Dynamo traced it: its rows may have moved."""
    changed = set()
    for (filename, row), text in said.texts.items():
        if filename in changed or not owner(filename):
            continue
        lines = rows_of(real(filename)).lines
        now = lines[row - 1].strip()[: len(text)] if 0 < row <= len(lines) else ""
        if lines and text and now != text:
            changed.add(filename)
    return [
        f"{filename} is not what was run: it was edited, so verdicts in it may be about other rows; run it again"
        for filename in sorted(changed)
    ]
