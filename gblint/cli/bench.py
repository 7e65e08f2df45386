"""`gblint bench`: what compiling costs."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence

import click
import msgspec

from gblint.cli.main import print_out
from gblint.cli.options import words_of
from gblint.cli.verify import WithCommand
from gblint.errors import GblintError
from gblint.report import json
from gblint.report.style import printable
from gblint.verify.bench import Sample, Target, differ, interval, measure
from gblint.verify.running import Command

LABELS = {
    "graphs": "graphs",
    "frames": "frames compiled",
    "breaks": "graph breaks",
    "recompiles": "recompiles",
    "compile_seconds": "compile time, s",
    "first_seconds": "first call, s",
    "call_seconds": "one call, s",
    "peak_memory": "peak memory, MB",
    "peak_gpu_memory": "peak GPU memory, MB",
    "seconds": "whole run, s",
}
Samples = dict[str, list[Sample]]


@click.command("bench", cls=WithCommand)
@click.argument("target", required=False, metavar="[MODULE:FUNCTION]")
@click.option("--repeat", type=click.IntRange(min=1), default=3, show_default=True, help="Runs of each.")
@click.option("--against", metavar="COMMAND|TARGET", help="Another one to compare with: the repaired program, say.")
@click.option("--calls", type=click.IntRange(min=1), default=30, show_default=True, help="Of a target, in each run.")
@click.option("--backend", default="inductor", show_default=True, help="To compile a target with.")
@click.option("--python", default=sys.executable, metavar="FILE", help="To run a target with.  [default: gblint's own]")
@click.option("--cold", is_flag=True, help="Empty caches of the backend for each run.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="For each run.")
@click.option("--output-format", type=click.Choice(["full", "json"]), default="full", show_default=True)
def command(
    target: str | None,
    repeat: int,
    against: str | None,
    calls: int,
    backend: str,
    python: str,
    cold: bool,
    timeout: float | None,
    output_format: str,
) -> int:
    """Run COMMAND several times and measure what Dynamo makes of it: graphs, breaks, recompiles, compile time. Or
    measure a target by the call, with its peak memory: `pkg.mod:make` or `file.py:make`, a function that returns a
    callable, or a tuple of it and its arguments.

    With --against, both are run in turn and compared. The time of the whole run includes start-up, and what logging
    costs.
    """
    words: tuple[str, ...] = click.get_current_context().meta.get("words", ())
    if target is not None and words:
        raise click.UsageError("a target and a command exclude each other")
    if target is None and not words:
        raise GblintError("there is no command to run", "put it after two dashes: gblint bench -- python train.py")
    named: dict[str, Command | Target] = {}
    if target is not None:
        made = [("target", target)] + ([("against", against)] if against is not None else [])
        named = {name: Target(_target(text), calls, backend, python, timeout) for name, text in made}
    else:
        named = {"command": Command(words, timeout=timeout)}
        if against is not None:
            named["against"] = Command(words_of(against, "--against"), timeout=timeout)
    for name, each in named.items():
        what = each.name if isinstance(each, Target) else shlex.join(each.words)
        click.echo(f"gblint: running `{printable(what)}` ({name}) {repeat} times", err=True)
    samples = measure(named, repeat, cold=cold)
    if output_format == "json":
        print_out(json.dump({name: [_data(s) for s in runs] for name, runs in samples.items()}))
    else:
        print_out("".join(f"{line}\n" for line in table(samples)))
    return 0


def _target(text: str) -> str:
    place, _, name = text.rpartition(":")
    if not (place and name.isidentifier()):
        raise click.UsageError(f"`{text}` is no target: pkg.mod:make or file.py:make; a command comes after two dashes")
    return text


def _data(sample: Sample) -> dict[str, float]:
    return {name: value for name, value in msgspec.structs.asdict(sample).items() if value is not None}


def table(samples: Samples) -> Iterator[str]:
    """A line for each figure: mean and 95 % confidence interval, and whether two commands differ in it."""
    names = list(samples)
    yield f"{'':<20}" + "".join(f"{name:>20}" for name in names)
    for field, label in LABELS.items():
        if any(getattr(sample, field) is None for name in names for sample in samples[name]):
            continue
        columns = [[float(getattr(sample, field)) for sample in samples[name]] for name in names]
        yield f"{label:<20}" + "".join(f"{_shown(values):>20}" for values in columns) + _verdict(columns)
    runs = len(samples[names[0]])
    yield f"mean of {runs} runs ± 95 % confidence interval" if runs > 1 else "one run: how much it varies is not known"


def _shown(values: Sequence[float]) -> str:
    found = interval(values)
    whole = not found.half and all(value == int(value) for value in values)
    digits = 0 if whole else 2 if found.mean >= 0.1 else 6
    spread = f" ± {found.half:.{digits}f}" if found.half else ""
    return f"{found.mean:.{digits}f}{spread}"


def _verdict(columns: Sequence[Sequence[float]]) -> str:
    if len(columns) < 2 or columns[0] == columns[1]:
        return ""
    one, other = columns
    if not differ(one, other):
        return "   no difference shown"
    before, after = interval(one).mean, interval(other).mean
    return f"   {(after - before) / before:+.0%}" if before else f"   {after - before:+g}"
