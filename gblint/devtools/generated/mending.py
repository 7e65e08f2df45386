"""Generated programs repaired: do they compute what they did, and has no break come?"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from gblint.devtools.dynamo import DynamoRunner
from gblint.devtools.observed import Observed
from gblint.devtools.repairs import AGAIN, Trial, fixed
from gblint.fixing.plan import Choice


class Mended(msgspec.Struct):
    """A program after its repair. verdict: as in `gblint.devtools.repairs`, or "invalid" when the program itself ends
    in an error; codemods: what was applied, by name; unsafe: with unsafe repairs too."""

    seed: int
    unsafe: bool
    verdict: str
    codemods: list[str] = []
    before: int = 0
    after: int = 0
    error: str = ""


def mended(
    programs: Mapping[int, str], observed: Mapping[int, Observed], unsafe: bool, runner: DynamoRunner
) -> Iterator[Mended]:
    """Repair programs, given by seed with what they did as they are; run what was repaired, with Dynamo and without."""
    with tempfile.TemporaryDirectory(prefix="gblint-generated-") as folder:
        for seed, text in programs.items():
            before = observed[seed]
            if before.error:
                yield Mended(seed, unsafe, "invalid")
                continue
            path = Path(folder).resolve() / f"program_{seed}.py"
            path.write_text(text, encoding="utf8")
            yield judged(seed, path, unsafe, before, runner)
            path.unlink()


def judged(seed: int, path: Path, unsafe: bool, before: Observed, runner: DynamoRunner) -> Mended:
    repaired = fixed(path, Choice(unsafe=unsafe))
    if not repaired.new:
        return Mended(seed, unsafe, "kept")
    (data,) = repaired.new.values()
    new = data.decode("utf8")
    (after,) = runner.observe_all([new], jobs=1)
    (eager,) = runner.observe_all([new], jobs=1, eager=True)
    trial = Trial(path, repaired, before, after, eager)
    if trial.verdict == "WRONG":
        trial.again = list(runner.observe_all([path] * AGAIN, jobs=1))
    names = [step.fix.codemod for step in repaired.made]
    return Mended(seed, unsafe, trial.verdict, names, len(before.breaks), len(after.breaks), after.error or eager.error)


def table_of(results: Iterable[Mended]) -> Iterator[str]:
    """Counts of verdicts, and the programs that are worse off."""
    everything = list(results)
    for unsafe in (False, True):
        mine = [one for one in everything if one.unsafe is unsafe]
        changed = [one for one in mine if one.verdict not in ("kept", "invalid")]
        if not mine:
            continue
        counts = Counter(one.verdict for one in changed)
        yield f"{'with unsafe' if unsafe else 'safe'} repairs: {len(changed)} programs changed, {dict(counts)}"
        yield "  " + ", ".join(f"{n} {c}" for n, c in Counter(n for one in changed for n in one.codemods).most_common())
        for one in changed:
            if one.verdict in ("WRONG", "worse"):
                yield f"  {one.seed}: {one.verdict} by {', '.join(one.codemods)} {one.error}"
