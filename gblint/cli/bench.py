"""`gblint bench`: what compiling costs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

import click
import msgspec

from gblint.cli.main import print_out
from gblint.cli.options import words_of
from gblint.cli.verify import WithCommand
from gblint.errors import GblintError
from gblint.report import json
from gblint.report.style import printable
from gblint.verify.bench import Sample, differ, interval, measure
from gblint.verify.running import Command

LABELS = {
    "graphs": "graphs",
    "frames": "frames compiled",
    "breaks": "graph breaks",
    "recompiles": "recompiles",
    "compile_seconds": "compile time, s",
    "seconds": "whole run, s",
}
Samples = dict[str, list[Sample]]


@click.command("bench", cls=WithCommand)
@click.option("--repeat", type=click.IntRange(min=1), default=3, show_default=True, help="Runs of each command.")
@click.option("--against", metavar="COMMAND", help="Another command to compare with: the repaired program, say.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="For each run.")
@click.option("--output-format", type=click.Choice(["full", "json"]), default="full", show_default=True)
def command(repeat: int, against: str | None, timeout: float | None, output_format: str) -> int:
    """Run COMMAND several times and measure what Dynamo makes of it: graphs, breaks, recompiles, compile time.

    With --against, both commands are run in turn and compared. The time of the whole run includes start-up, and what
    logging costs; what runs inside a graph is not measured on its own.
    """
    words: tuple[str, ...] = click.get_current_context().meta.get("words", ())
    if not words:
        raise GblintError("there is no command to run", "put it after two dashes: gblint bench -- python train.py")
    commands = {"command": Command(words, timeout=timeout)}
    if against is not None:
        commands["against"] = Command(words_of(against, "--against"), timeout=timeout)
    for name, each in commands.items():
        click.echo(f"gblint: running `{printable(shlex.join(each.words))}` ({name}) {repeat} times", err=True)
    samples = measure(commands, repeat)
    if output_format == "json":
        print_out(json.dump({name: [msgspec.to_builtins(s) for s in runs] for name, runs in samples.items()}))
    else:
        print_out("".join(f"{line}\n" for line in table(samples)))
    return 0


def table(samples: Samples) -> Iterator[str]:
    """A line for each figure: mean and 95 % confidence interval, and whether two commands differ in it."""
    names = list(samples)
    yield f"{'':<18}" + "".join(f"{name:>20}" for name in names)
    for field, label in LABELS.items():
        columns = [[float(getattr(sample, field)) for sample in samples[name]] for name in names]
        yield f"{label:<18}" + "".join(f"{_shown(values):>20}" for values in columns) + _verdict(columns)
    runs = len(samples[names[0]])
    yield f"mean of {runs} runs ± 95 % confidence interval" if runs > 1 else "one run: how much it varies is not known"


def _shown(values: Sequence[float]) -> str:
    found = interval(values)
    digits = 0 if all(value == int(value) for value in values) else 2
    spread = f" ± {found.half:.2f}" if found.half else ""
    return f"{found.mean:.{2 if spread else digits}f}{spread}"


def _verdict(columns: Sequence[Sequence[float]]) -> str:
    if len(columns) < 2 or columns[0] == columns[1]:
        return ""
    one, other = columns
    if not differ(one, other):
        return "   no difference shown"
    before, after = interval(one).mean, interval(other).mean
    return f"   {(after - before) / before:+.0%}" if before else f"   {after - before:+g}"
