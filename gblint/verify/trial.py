"""Whether a program is worse off after edits than before: what two runs of it are held to."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from gblint.errors import GblintError
from gblint.verify.outputs import Outputs, difference, recorded, recording
from gblint.verify.pairing import Change, Pairs
from gblint.verify.prove import Observation, observe
from gblint.verify.running import Show, Tick
from gblint.verify.sites import Site


class Program(msgspec.Struct, frozen=True):
    """The command that judges, and what breaks belong to. env: None for gblint's own. outputs: record them."""

    words: tuple[str, ...]
    folders: tuple[Path, ...] = ()
    timeout: float | None = None
    memory: float | None = None
    env: Mapping[str, str] | None = None
    outputs: bool = False
    show: Show | None = None
    tick: Tick | None = None


class Seen(msgspec.Struct):
    """One version of the program. compiled, eager: what its compiled callables gave, if that was recorded."""

    observation: Observation
    compiled: Outputs | None = None
    eager: Outputs | None = None

    @property
    def failed(self) -> bool:
        return bool(self.observation.exit_code)


def look(program: Program, scratch: Path, announce: Callable[[str], None]) -> Seen:
    """Run the program as it stands, compiled. Raises GblintError when it is interrupted or cannot be started."""
    announce("")
    return _look(program, scratch, eager=False)


def look_eager(program: Program, scratch: Path, announce: Callable[[str], None]) -> Outputs:
    """What its callables give when nothing is compiled."""
    announce(" without compiling")
    return _look(program, scratch, eager=True).compiled or Outputs()


def _look(program: Program, scratch: Path, eager: bool) -> Seen:
    env = os.environ if program.env is None else program.env
    if program.outputs:
        env = recording(env, scratch, eager)
    # A file that is edited twice in a second would be taken from its bytecode.
    env = {**env, "PYTHONDONTWRITEBYTECODE": "1"}
    seen = observe(
        program.words,
        timeout=program.timeout,
        memory=program.memory,
        env=env,
        folders=program.folders,
        show=program.show,
        tick=program.tick,
    )
    return Seen(seen, recorded(scratch) if program.outputs else None)


class Baseline(msgspec.Struct):
    """The program before any edit. steady: whether eager and compiled agree, so that each stands for the other."""

    seen: Seen
    steady: bool = True
    notes: list[str] = []


def baseline(program: Program, scratch: Path, announce: Callable[[str], None]) -> Baseline:
    """Run the program as it is. Raises GblintError when it is no good as a measure: it does not end by itself, compiles
    nothing, or, where outputs are to be compared, gives none or others each time."""
    seen = look(program, scratch, announce)
    observation = seen.observation
    if observation.cut_short:
        raise GblintError(observation.trouble, "the command has to end by itself before repairs can be judged by it")
    if not (observation.sites or observation.traced or observation.graphs):
        why = observation.trouble or "the run has to call what torch.compile returns, at least once"
        raise GblintError("nothing was compiled in the run, so nothing can be said of repairs", why)
    found = Baseline(seen)
    if seen.failed:
        found.notes.append(observation.trouble)
    if seen.compiled is None:
        return found
    if seen.compiled.full:
        found.notes.append("only the first calls of each process are compared: there are too many to record all")
    seen.eager = look_eager(program, scratch, announce)
    if not (seen.compiled.count or (seen.failed and seen.eager.count)):
        raise GblintError(
            "--check-outputs: no call of a compiled callable could be recorded",
            "the command has to reach one through torch.compile, in a Python that reads PYTHONPATH",
        )
    apart = difference(seen.compiled, seen.eager, seen.failed)
    if apart:
        _check_steady(program, scratch, announce, seen)
        found.steady = False
        found.notes.append(f"compiled and eager runs differ before any repair ({apart}): each is compared to its like")
    return found


def _check_steady(program: Program, scratch: Path, announce: Callable[[str], None], seen: Seen) -> None:
    again = look(program, scratch, announce)
    if seen.compiled and again.compiled and (text := difference(seen.compiled, again.compiled)):
        raise GblintError(
            f"--check-outputs: two runs of the unchanged program differ: {text}",
            "make it deterministic (fixed seeds and data), or leave --check-outputs out",
        )


class Judgement(msgspec.Struct):
    """What edits have done. worse: why they cannot stay as they are, empty if they can. light: breaks that were behind
    others before and are seen now."""

    seen: Seen
    pairs: Pairs
    worse: list[str] = []
    light: list[Site] = []


def judge_edits(before: Baseline, seen: Seen, change: Change) -> Judgement:
    """Hold a run after edits against the one before.

    Worse are: another exit status, unless it was an error and is none now; a new break; more recompiles; other results.
    A break is not new if it stands in a row that the edits left alone and that Dynamo never got to before: then it was
    hidden. For that to be no loss, breaks must not have become more; only where the program failed before and goes on
    now, that is the price.
    """
    old, new = before.seen.observation, seen.observation
    pairs = change.pairs(old.sites, new.sites)
    judged = Judgement(seen, pairs)
    recovered = before.seen.failed and not new.exit_code
    if new.cut_short or (new.trouble and new.exit_code != old.exit_code):
        judged.worse.append(new.trouble)
        return judged
    hidden = [site for site in pairs.fresh if change.untouched(site) and not _traced(old, site, change)]
    new_ones = [site for site in pairs.fresh if site not in hidden]
    if not recovered and len(new.sites) > len(old.sites):
        new_ones += hidden
    judged.light = [site for site in pairs.fresh if site not in new_ones]
    judged.worse += [f"a new break came up: {place(site)}" for site in new_ones]
    if new.recompile_count > old.recompile_count and not recovered:
        judged.worse.append(f"{new.recompile_count} recompiles instead of {old.recompile_count}")
    if text := _results(before, seen, recovered):
        judged.worse.append(f"the results are not the same: {text}")
    return judged


def _results(before: Baseline, seen: Seen, recovered: bool) -> str:
    """How results of compiled runs differ. Where the first one failed, what eager code gave tells how it goes on."""
    if before.seen.compiled is None or seen.compiled is None:
        return ""
    if recovered and before.steady and before.seen.eager:
        return difference(before.seen.eager, seen.compiled)
    return difference(before.seen.compiled, seen.compiled, recovered)


def judge_eager(before: Baseline, eager: Outputs) -> str:
    """Why edits cannot stay for what they do to the program where nothing is compiled, "" if they can."""
    if before.seen.eager is None:
        return ""
    text = difference(before.seen.eager, eager)
    return f"without compilation the results are not the same: {text}" if text else ""


def _traced(observation: Observation, site: Site, change: Change) -> bool:
    first, last = change.back(site)
    rows = observation.traced.get(site.filename, ())
    return any(row in rows for row in range(first, last + 1))


def place(site: Site) -> str:
    return f"{Path(site.filename).name}:{site.row} {site.shown_code} {site.name}"
