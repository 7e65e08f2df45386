"""Repair small generated programs and run them before and after: no result may differ, and no break may come.

python -m gblint.devtools.generated.repairing --seeds 0:500                     # safe repairs
python -m gblint.devtools.generated.repairing --seeds 0:500 --unsafe            # the others too
python -m gblint.devtools.generated.repairing --seeds 0:500 --eager             # results without Dynamo only: quicker
python -m gblint.devtools.generated.repairing --seeds 0:9000 --log FILE         # what has run once is not run again
python -m gblint.devtools.generated.repairing --seeds 0:9000 --log FILE --renew keep-tensor  # after it has changed
python -m gblint.devtools.generated.repairing --seeds 17 --text                 # prints the program and its repair
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import click
import msgspec

# Before torch is imported: repeatable, and a process that is forked has one thread.
os.environ |= {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}

from gblint.devtools.generated.__main__ import seeds_in, share
from gblint.devtools.generated.pairs import WRONG, Judged, judged, repaired, warm_up
from gblint.devtools.generated.repairable import repairable

WARM_UP = 24  # programs that run before the processes of the others are forked


def judgements(
    seeds: Iterable[int], unsafe: bool, dynamo: bool, log: Path | None, renew: Collection[str]
) -> Iterator[Judged]:
    """What became of the programs of seeds, in any order. What is in the log has run already (what codemods in
    `renew` have repaired is repaired again, and run again where the repaired text is another); what runs is added."""
    decoder = msgspec.json.Decoder(Judged)
    rows = [decoder.decode(line) for line in log.read_bytes().splitlines()] if log and log.exists() else []
    known = {row.seed: row for row in rows if row.unsafe is unsafe}
    wanted = list(seeds)
    stale = {seed for seed, row in known.items() if set(row.codemods) & set(renew)}
    waiting = {seed for seed in wanted if seed not in known or seed in stale}
    digests = {seed: known[seed].digest for seed in stale if known[seed].verdict not in WRONG}
    programs = ((seed, repairable(seed, unsafe)) for seed in wanted if seed in waiting)
    if waiting:
        warm_up(repairable(seed, unsafe) for seed in range(min(WARM_UP, len(waiting))))
    for one in judged(programs, unsafe, dynamo, digests):
        known[one.seed] = one
        if log:
            with log.open("ab") as file:
                file.write(msgspec.json.encode(one) + b"\n")
        if one.verdict in WRONG:
            yield one
    yield from (known[seed] for seed in wanted if known[seed].verdict not in WRONG or seed not in waiting)


def table(results: list[Judged]) -> Iterator[str]:
    """The figures, in lines."""
    counts = Counter(one.verdict for one in results)
    fixed = [one for one in results if one.verdict not in ("invalid", "kept")]
    yield f"{len(results)} programs, {counts['invalid']} of them end in an error"
    yield f"{len(fixed)} repaired: {share(len(fixed), len(results))}"
    yield f"no error: {counts['no error']}, where a call raised before the repair and gives a result now"
    yield f"as said: {counts['as said']}, where no more differs than the repairs say of themselves"
    for verdict in WRONG:
        yield f"{verdict}: {counts[verdict]}, {share(counts[verdict], len(fixed))} of those repaired"
    yield f"{sum(not one.left for one in fixed)} of them have no break left"
    names = Counter(name for one in fixed for name in set(one.codemods))
    yield ", ".join(f"{name} {count}" for name, count in names.most_common())
    if fixed:
        yield f"{sum(one.seconds for one in fixed) / len(fixed):.2f} s of a processor for each"


@click.command(help=__doc__)
@click.option("--seeds", default="0:200", help="A seed, or FIRST:LAST.")
@click.option("--unsafe", is_flag=True, help="Make unsafe repairs as well.")
@click.option("--eager", is_flag=True, help="Run without Dynamo only.")
@click.option("--log", type=click.Path(dir_okay=False, path_type=Path), help="Where verdicts are kept, a line each.")
@click.option("--renew", multiple=True, help="A codemod: what it has repaired is looked at again.")
@click.option("--text", is_flag=True, help="Print the programs and their repair.")
def main(seeds: str, unsafe: bool, eager: bool, log: Path | None, renew: tuple[str, ...], text: bool) -> None:
    wanted = seeds_in(seeds)
    results: list[Judged] = []
    for one in judgements(wanted, unsafe, not eager, log, renew):
        results.append(one)
        if one.verdict in WRONG or text:
            print(f"{one.seed}: {one.verdict} {', '.join(one.codemods)}: {one.detail}", flush=True)
        if text:
            program = repairable(one.seed, unsafe)
            print(f"{program}\n# repaired:\n{repaired(program, unsafe)}")
    print("\n".join(table(results)))
    raise SystemExit(any(one.verdict in WRONG for one in results))


if __name__ == "__main__":
    main()
