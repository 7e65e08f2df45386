"""Generate programs, run them under Dynamo and hold gblint's predictions against what happens.

python -m gblint.devtools.generated --seeds 0:500                 # disagreement, by kind
python -m gblint.devtools.generated --seeds 0:5000 --log FILE     # what has run once is not run again
python -m gblint.devtools.generated --seeds 7 --shrink            # the smallest programs that show each kind
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import msgspec

from gblint.devtools.dynamo import DynamoRunner
from gblint.devtools.generated.grammar import program
from gblint.devtools.generated.judging import LIMIT, Verdict, observations, verdicts
from gblint.devtools.generated.mending import Mended, mended, table_of
from gblint.devtools.generated.shrinking import shrunk
from gblint.devtools.observed import Observed

BATCH = 50
WARM_UP = 8  # programs that run before the processes of the others are forked


def seeds_in(text: str) -> list[int]:
    """The seeds of "7" or of "0:500" (the last one not included). Raises ValueError."""
    first, colon, last = text.partition(":")
    return list(range(int(first), int(last))) if colon else [int(first)]


class Logged(msgspec.Struct):
    """A line of the log."""

    seed: int
    observed: Observed


def observed_in(seeds: Sequence[int], log: Path | None, runner: DynamoRunner) -> Iterator[dict[int, Observed]]:
    """What the programs of the seeds did, in batches. What is in the log has run already; what runs is added to it."""
    decoder = msgspec.json.Decoder(Logged)
    lines = log.read_bytes().splitlines() if log and log.exists() else []
    known = {one.seed: one.observed for one in map(decoder.decode, lines)}
    for start in range(0, len(seeds), BATCH):
        batch = seeds[start : start + BATCH]
        for seed, observed in observations({s: program(s) for s in batch if s not in known}, runner):
            known[seed] = observed
            if log:
                with log.open("ab") as file:
                    file.write(msgspec.json.encode(Logged(seed, observed)) + b"\n")
        yield {seed: known[seed] for seed in batch}


def table(results: list[Verdict]) -> Iterator[str]:
    """The figures, in lines."""
    valid = [one for one in results if not one.invalid]
    breaks, findings = sum(len(v.breaks) for v in valid), sum(len(v.findings) for v in valid)
    missed, false = sum(len(v.missed) for v in valid), sum(len(v.false) for v in valid)
    agreeing = sum(not v.kinds for v in valid)
    aside = sum(v.aside for v in valid)
    yield f"{len(results)} programs, {len(results) - len(valid)} of them end in an error and do not count"
    yield f"{breaks} breaks, {missed} missed: {share(missed, breaks)}"
    yield f"{findings} findings, {false} false: {share(false, findings)}; {aside} more on rows that never ran"
    yield f"{agreeing} programs without any disagreement: {share(agreeing, len(valid))}"
    kinds: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    for one in valid:
        for word, wrong, everything in (("missed", one.missed, one.breaks), ("false", one.false, one.findings)):
            kinds.update(f"{word} {text.partition(' ')[0]}" for text in wrong)
            totals.update(f"{word} {text.partition(' ')[0]}" for text in everything)
    for kind, count in kinds.most_common():
        yield f"{kind:14} {count:5} of {totals[kind]}"


def share(part: int, whole: int) -> str:
    return f"{part / whole:.2%}" if whole else "-"


def shrink(seed: int, kind: str, runner: DynamoRunner) -> str:
    """The smallest program made from that of a seed that shows the kind of disagreement."""

    def holds(text: str) -> bool:
        programs = {seed: text}
        (one,) = verdicts(programs, dict(observations(programs, runner)))
        return kind in one.kinds

    return shrunk(program(seed), holds)


@click.command(help=__doc__)
@click.option("--seeds", default="0:200", help="A seed, or FIRST:LAST.")
@click.option(
    "--log", type=click.Path(dir_okay=False, path_type=Path), help="Where what the programs did is kept, a line each."
)
@click.option("--repair", type=click.Choice(["safe", "unsafe"]), help="Repair the programs and run them again.")
@click.option("--shrink", "shrinking", is_flag=True, help="Print the smallest program for each disagreement.")
@click.option("--show", is_flag=True, help="Print the disagreements of each program.")
def main(seeds: str, log: Path | None, repair: str | None, shrinking: bool, show: bool) -> None:
    results: list[Verdict] = []
    repaired: list[Mended] = []
    with DynamoRunner(limit=LIMIT, warm_up=map(program, range(WARM_UP))) as runner:
        for observed in observed_in(seeds_in(seeds), log, runner):
            programs = {seed: program(seed) for seed in observed}
            if repair:
                repaired += mended(programs, observed, repair == "unsafe", runner)
                continue
            for one in verdicts(programs, observed):
                results.append(one)
                if show and (one.kinds or one.invalid):
                    print(one.seed, "missed", one.missed, "false", one.false, one.invalid)
                for kind in sorted(one.kinds) if shrinking else ():
                    print(f"# seed {one.seed}: {kind}\n{shrink(one.seed, kind, runner)}\n")
    print("\n".join(table_of(repaired) if repair else table(results)))


if __name__ == "__main__":
    main()
