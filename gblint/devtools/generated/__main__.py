"""Generate programs, run them under Dynamo and hold gblint's predictions against what happens.

    python -m gblint.devtools.generated --seeds 0:500                 # disagreement, by kind
    python -m gblint.devtools.generated --seeds 0:5000 --log FILE     # can be ended, and goes on where it was
    python -m gblint.devtools.generated --seeds 7 --shrink            # the smallest programs that show each kind
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
import msgspec

from gblint.devtools.dynamo import DynamoRunner
from gblint.devtools.generated.grammar import program
from gblint.devtools.generated.judging import LIMIT, Verdict, verdicts
from gblint.devtools.generated.shrinking import shrunk

BATCH = 50


def seeds_in(text: str) -> list[int]:
    """The seeds of "7" or of "0:500" (the last one not included). Raises ValueError."""
    first, colon, last = text.partition(":")
    return list(range(int(first), int(last))) if colon else [int(first)]


def judged(seeds: Iterable[int], log: Path | None, runner: DynamoRunner) -> Iterator[Verdict]:
    """A verdict for each seed; those in the log are taken from there, new ones are added to it."""
    decoder = msgspec.json.Decoder(Verdict)
    lines = log.read_bytes().splitlines() if log and log.exists() else []
    known = {one.seed: one for one in map(decoder.decode, lines)}
    waiting = [seed for seed in seeds if seed not in known]
    yield from (known[seed] for seed in seeds if seed in known)
    for start in range(0, len(waiting), BATCH):
        batch = {seed: program(seed) for seed in waiting[start : start + BATCH]}
        for one in verdicts(batch, runner):
            if log:
                with log.open("ab") as file:
                    file.write(msgspec.json.encode(one) + b"\n")
            yield one


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
        (one,) = verdicts({seed: text}, runner)
        return kind in one.kinds

    return shrunk(program(seed), holds)


@click.command(help=__doc__)
@click.option("--seeds", default="0:200", help="A seed, or FIRST:LAST.")
@click.option("--log", type=click.Path(dir_okay=False, path_type=Path), help="Where verdicts are kept, a line each.")
@click.option("--shrink", "shrinking", is_flag=True, help="Print the smallest program for each disagreement.")
@click.option("--show", is_flag=True, help="Print the disagreements of each program.")
def main(seeds: str, log: Path | None, shrinking: bool, show: bool) -> None:
    results: list[Verdict] = []
    with DynamoRunner(limit=LIMIT) as runner:
        for one in judged(seeds_in(seeds), log, runner):
            results.append(one)
            if show and (one.kinds or one.invalid):
                print(one.seed, "missed", one.missed, "false", one.false, one.invalid)
            for kind in sorted(one.kinds) if shrinking else ():
                print(f"# seed {one.seed}: {kind}\n{shrink(one.seed, kind, runner)}\n")
    print("\n".join(table(results)))


if __name__ == "__main__":
    main()
