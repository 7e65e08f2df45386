"""`gblint verify`: run the user's program and hold every prediction against what Dynamo says."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from gblint.checking import Options, Outcome
from gblint.cli.analysis_options import analysis_options, options_of
from gblint.cli.main import warn
from gblint.cli.outputs import Output, output_options, outputs_of, write_reports
from gblint.cli.progress import progress_bar
from gblint.errors import GblintError
from gblint.report.style import plural, printable
from gblint.verify.keeping import keep
from gblint.verify.report import FORMATS
from gblint.verify.running import Command, Tick, ending
from gblint.verify.verifying import Verified, needs_eager, predict, run_and_compare, run_eager


class WithCommand(click.Command):
    """A command whose line ends in `-- COMMAND…`, which is left as it is."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            args, ctx.meta["words"] = args[:at], tuple(args[at + 1 :])
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "-- COMMAND..."]


@click.command("verify", cls=WithCommand)
@analysis_options
@output_options(FORMATS)
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="End the command then.")
@click.option("--memory", type=click.FloatRange(min=0, min_open=True), metavar="MB", help="End it if it takes more.")
@click.option("--show-output", is_flag=True, help="Let the command's output through, on standard error.")
@click.option("--no-store", is_flag=True, help="Do not keep the verdicts for later checks of the project.")
@click.option("-e", "--exit-zero", is_flag=True, help="Exit with 0 even if there is something to report.")
@click.option("-q", "--quiet", is_flag=True, help="No summary.")
@click.option("-v", "--verbose", is_flag=True, help="Let Dynamo say more (TORCHDYNAMO_VERBOSE=1), and show the output.")
def command(
    timeout: float | None,
    memory: float | None,
    show_output: bool,
    no_store: bool,
    verbose: bool,
    output_format: tuple[Output, ...],
    output_file: Path | None,
    exit_zero: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Predict where the graph breaks in PATHS, run COMMAND, and compare with what Dynamo says meanwhile.

    COMMAND is run as it is, in the current folder: a script, `python -m …`, pytest or torchrun. Each prediction turns
    out confirmed, refuted (Dynamo traced the row and the graph did not break), masked (Dynamo gave the function up
    before) or not reached; a break that nothing foretold is missed.

    Exits with 0 if nothing breaks and no prediction is left open, 1 otherwise, 2 if gblint could not do its work.
    """
    outputs = outputs_of(output_format, output_file)
    words: tuple[str, ...] = click.get_current_context().meta.get("words", ())
    if "-" in given["paths"] or given["stdin_filename"]:
        raise click.UsageError("standard input cannot be verified: what runs is in files")
    options = options_of(**given)
    program = Command(words, timeout=timeout, verbose=verbose, memory=memory)
    show = show_output or verbose
    return verify_and_report(options, program, outputs, exit_zero, quiet, show, not no_store)


def verify_and_report(
    options: Options,
    program: Command,
    outputs: tuple[Output, ...],
    exit_zero: bool,
    quiet: bool,
    show_output: bool,
    store: bool = True,
    change: tuple[tuple[str, str, str], ...] = (),
) -> int:
    """Verify, print the report, and give the exit code. store: keep the verdicts (without settings they never are).
    change: what repairs before it have changed, for the report."""
    if not program.words:
        raise GblintError("there is no command to run", "put it after two dashes: gblint verify src -- python train.py")
    if options.stdin is not None:
        raise click.UsageError("standard input cannot be verified: what runs is in files")
    with progress_bar() as progress:
        outcome = predict(options, progress)
    _announce(program, outcome)
    with ticker(show_output) as tick:
        verified = run_and_compare(options, outcome, program, show if show_output else None, tick)
    verified.change = change
    _warn(verified, program)
    if needs_eager(verified):
        click.echo(
            "gblint: running it again without compiling, since what it failed in may be an error of its own", err=True
        )
        with ticker(show_output) as tick:
            run_eager(verified, program, show if show_output else None, tick)
    if store and not options.isolated:
        everything = [*verified.judged, *verified.unshown]
        verified.kept = keep(everything, [scope.root for scope in outcome.scopes], verified.ran.said.torch)
    write_reports(outputs, FORMATS, verified, quiet)
    return int(
        bool([j for j in verified.judged if j.verdict != "refuted"] or verified.outcome.problems) and not exit_zero
    )


def _announce(program: Command, outcome: Outcome) -> None:
    what = plural(len(outcome.findings), "prediction")
    click.echo(f"gblint: running `{printable(shlex.join(program.words))}` to verify {what}", err=True)


def _warn(verified: Verified, program: Command) -> None:
    for note in verified.outcome.notes:
        warn(printable(note))
    if text := ending(verified.ran, program.timeout):
        warn(printable(text))


def show(line: bytes) -> None:
    """Pass a line of the command's output on."""
    sys.stderr.buffer.write(line)
    sys.stderr.buffer.flush()


@contextmanager
def ticker(show_output: bool) -> Iterator[Tick | None]:
    """Where somebody watches, a line with the seconds passed and the last that the program said."""
    if show_output or not sys.stderr or not sys.stderr.isatty():
        yield None
        return

    def tick(seconds: float, last: str) -> None:
        click.echo(f"\r\x1b[K{seconds:5.0f} s  {printable(last)[:60]}", nl=False, err=True)

    try:
        yield tick
    finally:
        click.echo("\r\x1b[K", nl=False, err=True)
