"""`gblint check`: predict graph breaks and report them."""

from __future__ import annotations

import gc
import time
from pathlib import Path
from typing import Any

import click
import msgspec

from gblint.checking import Options, check, failures
from gblint.cli.analysis_options import analysis_options, describe, options_of
from gblint.cli.gate import Gate, WithReason, gate_options
from gblint.cli.main import warn
from gblint.cli.options import FAIL_ON, RELEASE
from gblint.cli.outputs import Output, output_options, outputs_of, write_reports
from gblint.cli.progress import progress_bar
from gblint.cli.times import tell_times
from gblint.report import COMPARISONS, FORMATS, STATISTICS
from gblint.timing import CLOCK


@click.command("check", cls=WithReason)
@analysis_options
@output_options(FORMATS)
@gate_options
@click.option("--statistics", "as_statistics", is_flag=True, help="Counts per rule instead of findings.")
@click.option(
    "--compare-torch",
    type=RELEASE,
    metavar="X.Y",
    help="Report what changes under that release, instead of the findings.",
)
@click.option("--fix", is_flag=True, help="Repair what can be repaired safely, and report what is left.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix: repairs that are right only in the usual case as well.")
@click.option("--show-fixes", is_flag=True, help="With --fix: list the repairs made (--verify always does).")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing.")
@click.option(
    "--verify",
    "program",
    metavar="COMMAND",
    help="Run COMMAND, and hold the findings, and repairs with --fix, against what it shows.",
)
@click.option(
    "--fail-on",
    type=FAIL_ON,
    metavar="HEAT[:0..1]",
    help="Exit with 1 only for these: hot, cold, with the least confidence behind a colon; none.",
)
@click.option("-w", "--watch", is_flag=True, help="Report again whenever a file changes, until Ctrl-C.")
@click.option("-e", "--exit-zero", is_flag=True, help="Exit with 0 even if there is something to report.")
@click.option("--timing", is_flag=True, help="Say where the time went: by stage, and the slowest files.")
@click.option("-q", "--quiet", is_flag=True, help="No summary.")
@click.option("-v", "--verbose", is_flag=True, help="Say what was looked at, and where imports were looked for.")
def command(
    output_format: tuple[Output, ...],
    output_file: Path | None,
    as_statistics: bool,
    compare_torch: str | None,
    fix: bool,
    unsafe_fixes: bool,
    show_fixes: bool,
    diff: bool,
    program: str | None,
    watch: bool,
    exit_zero: bool,
    timing: bool,
    quiet: bool,
    verbose: bool,
    **given: Any,
) -> int:
    """Predict where torch.compile breaks its graph in PATHS (default: the current folder). Nothing is run or imported,
    unless --verify says what to run: see gblint verify.

    With `-` for a path, source is read from standard input.

    Exits with 0 if there is nothing to report, 1 if there is, 2 if gblint could not do its work. With --compare-torch a
    change is what there is to report.
    """
    if watch:
        return _watched(given, fix or diff or program is not None or compare_torch is not None)
    start = time.monotonic()
    CLOCK.on = timing
    CLOCK.clear()
    outputs = outputs_of(output_format, output_file)
    reports = STATISTICS if as_statistics else FORMATS
    offered = COMPARISONS if compare_torch is not None else reports
    if missing := [output.format for output in outputs if output.format not in offered]:
        option = "--compare-torch" if compare_torch is not None else "--statistics"
        raise click.UsageError(f"{option} has no format {missing[0]}")
    others = {"--verify": program is not None, "--diff": diff, "--compare-torch": compare_torch is not None}
    beside = next((option for option, is_given in others.items() if is_given), "")
    _check_beside(beside, given["fail_on"] is not None, given["strict"], timing, fix)
    gate = Gate.of(given, beside)
    if (unsafe_fixes or show_fixes) and not (fix or diff):
        raise click.UsageError("--unsafe-fixes and --show-fixes go with --fix or --diff")
    if compare_torch is not None:
        if fix or diff or as_statistics or program is not None:
            raise click.UsageError("--compare-torch excludes --fix, --diff, --statistics and --verify")
        return _compared(options_of(**given), compare_torch, outputs, exit_zero, quiet)
    if program is not None:
        if diff or as_statistics:
            raise click.UsageError(
                "--verify excludes --diff and --statistics: it runs what is in the files, its report counts by rule"
            )
        if "-" in given["paths"] or given["stdin_filename"]:
            raise click.UsageError("standard input cannot be verified: what runs is in files")
        options = options_of(**given)
        change = _prove(program, options, unsafe_fixes, quiet, verbose) if fix else ()
        return _verified(program, options, outputs, exit_zero, quiet, verbose, change)
    options = options_of(**given)
    if gate.show(options):
        return 0
    if fix or diff:
        from gblint.cli.fix import fix_and_tell
        from gblint.fixing.plan import Choice

        repaired = fix_and_tell(options, Choice(unsafe=unsafe_fixes), diff, show_fixes, quiet)
        if diff or options.stdin is not None:
            return int(bool(repaired.new) and not exit_zero)
        outcome = repaired.after
    else:
        if gate.since is None:  # the one analysis of this process, which ends sooner than all of it is collected
            gc.disable()
        with progress_bar() as progress:
            outcome = check(options, progress)
    gate.apply(outcome, options, quiet)
    if outcome.strict:
        from gblint.gaps import failing as failing_gaps

        outcome.problems += failing_gaps(outcome)
    for note in outcome.notes:
        warn(note)
    if verbose:
        for scope in outcome.scopes:
            describe(scope)
        click.echo(f"took {time.monotonic() - start:.2f} s", err=True)
    failing = failures(outcome, options)
    outcome.tolerated = len(outcome.findings) - len(failing)
    with CLOCK.stage("write the report"):
        write_reports(outputs, reports, outcome, quiet)
    if timing:
        tell_times(time.monotonic() - start, options.jobs)
    return int(bool(failing or outcome.problems) and not exit_zero)


def _check_beside(beside: str, fail_on: bool, strict: bool, timing: bool, fix: bool) -> None:
    """Raises usage errors for options that would do nothing. beside: the option that makes a check another thing."""
    if fail_on and beside:
        raise click.UsageError(f"--fail-on excludes {beside}, whose exit code says another thing")
    if strict and beside:
        raise click.UsageError(f"--strict excludes {beside}, whose exit code says another thing")
    if timing and (beside or fix):
        raise click.UsageError(f"--timing goes with a plain check, not with {beside or '--fix'}")


def _watched(given: dict[str, Any], changes: bool) -> int:
    """Run the same command line without `--watch` whenever a file changes."""
    from gblint.cli.watching import watch

    if changes or given["update"] or given["reason"] is not None:
        raise click.UsageError("--watch reports and changes nothing: it excludes --fix, --diff, --verify and the like")
    if "-" in given["paths"] or given["stdin_filename"]:
        raise click.UsageError("standard input cannot be watched")
    context = click.get_current_context()
    again = context.params | {"watch": False}
    return watch(given["paths"] or (".",), lambda: context.invoke(command, **again))


def _compared(options: Options, release: str, outputs: tuple[Output, ...], exit_zero: bool, quiet: bool) -> int:
    """Check under both releases and report what differs."""
    from gblint.comparing import compare

    with progress_bar() as progress:
        before = check(options, progress)
        after = check(msgspec.structs.replace(options, target_torch=release), progress)
    for note in dict.fromkeys([*before.notes, *after.notes]):
        warn(note)
    comparison = compare(before, after)
    write_reports(outputs, COMPARISONS, comparison, quiet)
    return int(comparison.differs and not exit_zero)


Change = tuple[tuple[str, str, str], ...]


def _prove(program: str, options: Options, unsafe: bool, quiet: bool, verbose: bool) -> Change:
    """Repair what a command given as one text approves, as `gblint fix --verify` does; a table of before and after."""
    from gblint.cli.fix import prove_and_tell
    from gblint.cli.options import words_of
    from gblint.cli.verify import show
    from gblint.fixing.plan import Choice
    from gblint.report.proof import change
    from gblint.verify.trial import Program

    judge = Program(words_of(program, "--verify"), show=show if verbose else None)
    return tuple(change(prove_and_tell(options, Choice(unsafe=unsafe), judge, quiet)))


def _verified(
    program: str,
    options: Options,
    outputs: tuple[Output, ...],
    exit_zero: bool,
    quiet: bool,
    verbose: bool,
    change: Change,
) -> int:
    """Run a command given as one text and report as `gblint verify` does."""
    from gblint.cli.options import words_of
    from gblint.cli.verify import verify_and_report
    from gblint.verify.running import Command

    command = Command(words_of(program, "--verify"), verbose=verbose)
    return verify_and_report(options, command, outputs, exit_zero, quiet, show_output=verbose, change=change)
