"""What a command shows, in one call: for holding a program before an edit against the same program after it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from gblint.verify.running import TIMED_OUT, TOO_LARGE, Command, Show, Tick, ending, problem, run
from gblint.verify.said import Recompile
from gblint.verify.sites import Owner, Site, is_yours, sites, within


class Observation(msgspec.Struct):
    """One run of a command.

    sites: breaks by place. recompiles: with how often. traced: rows by file. exit_code: negative for a signal.
    trouble: why the run does not count as a good one ("" if it does): it failed, or was ended (cut_short). tail: its
    last lines.
    """

    sites: list[Site]
    recompiles: dict[Recompile, int]
    traced: dict[str, set[int]]
    graphs: int
    compile_seconds: float
    exit_code: int
    trouble: str
    seconds: float
    tail: list[str]
    cut_short: bool = False

    @property
    def recompile_count(self) -> int:
        return sum(self.recompiles.values())


def observe(
    words: Sequence[str],
    *,
    timeout: float | None = None,
    memory: float | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    folders: Iterable[Path] = (),
    show: Show | None = None,
    tick: Tick | None = None,
) -> Observation:
    """Run a command and say what Dynamo did.

    folders: whose rows breaks belong to; without any, all files that are no library's. show, tick: see `run`. Raises
    GblintError when there is nothing to learn: no such command, no torch, an interrupt. That nothing was compiled is no
    error here.
    """
    ran = run(Command(tuple(words), timeout=timeout, cwd=cwd, env=env, memory=memory), show, tick)
    error = problem(ran, words)
    if error and (not ran.with_torch or not ran.said.empty or ran.ended == "interrupted"):
        raise error
    places = list(folders)
    owner: Owner = within((), places) if places else is_yours
    return Observation(
        sites(ran.said, owner),
        ran.said.recompiles,
        ran.said.traced,
        ran.said.graphs,
        ran.said.seconds,
        ran.code,
        ending(ran, timeout),
        ran.seconds,
        ran.tail,
        ran.ended in (TIMED_OUT, TOO_LARGE),
    )
