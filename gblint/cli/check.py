"""`gblint check`: predict graph breaks and report them."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import click

from gblint.checking import Options, Scope, check
from gblint.cli.main import colour_of, print_out, warn
from gblint.cli.options import (
    CONFIDENCE,
    PATTERNS,
    PER_FILE_IGNORES,
    RELEASE,
    ROOTS,
    SELECTORS,
    flat,
    read_fixed_config,
    roots_of,
)
from gblint.cli.progress import progress_bar
from gblint.discovery import absolute
from gblint.findings.selection import Layer
from gblint.report import FORMATS, STATISTICS, Style

FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command("check")
@click.argument("paths", nargs=-1)
@click.option("--select", type=SELECTORS, multiple=True, metavar="RULES", help="Only these: codes, prefixes, names.")
@click.option("--ignore", type=SELECTORS, multiple=True, metavar="RULES", help="All but these.")
@click.option("--extend-select", type=SELECTORS, multiple=True, metavar="RULES", help="These as well.")
@click.option(
    "--per-file-ignores",
    type=PER_FILE_IGNORES,
    multiple=True,
    metavar="PATTERN:RULE",
    help="Ignore a rule in the files that a pattern matches.",
)
@click.option("--exclude", type=PATTERNS, multiple=True, metavar="PATTERNS", help="Leave out, instead of the usual.")
@click.option("--extend-exclude", type=PATTERNS, multiple=True, metavar="PATTERNS", help="Leave out as well.")
@click.option("--output-format", type=click.Choice(list(FORMATS)), default="full", show_default=True)
@click.option("-o", "--output-file", type=FILE, help="Write the report to a file.")
@click.option("--min-confidence", type=CONFIDENCE, metavar="0..1", help="The least confidence worth reporting.")
@click.option("--target-torch", type=RELEASE, metavar="X.Y", help="The torch release to predict for.")
@click.option(
    "--roots",
    type=ROOTS,
    multiple=True,
    metavar="MODE|NAME",
    help="What is compiled: auto, explicit, modules, all, or names such as pkg.model:Net.forward.",
)
@click.option("--hot-only", is_flag=True, help="Only what runs at every call of a compiled root.")
@click.option("--statistics", "as_statistics", is_flag=True, help="Counts per rule instead of findings.")
@click.option("-e", "--exit-zero", is_flag=True, help="Exit with 0 even if there is something to report.")
@click.option("-n", "--no-cache", is_flag=True, help="Neither read nor write the cache.")
@click.option("--cache-dir", type=FOLDER, help="The folder of the cache.")
@click.option("-j", "--jobs", type=click.IntRange(min=1), help="Processes to use.  [default: one per CPU]")
@click.option("--stdin-filename", type=FILE, help="The file that standard input stands for.")
@click.option("--config", type=FILE, help="Settings file that holds for everything.")
@click.option("--isolated", is_flag=True, help="Use no settings file.")
@click.option(
    "--verify", "program", metavar="COMMAND", help="Run COMMAND, and hold the findings against what it shows."
)
@click.option("-q", "--quiet", is_flag=True, help="No summary.")
@click.option("-v", "--verbose", is_flag=True, help="Say what was looked at, and where imports were looked for.")
def command(
    output_format: str,
    output_file: Path | None,
    as_statistics: bool,
    exit_zero: bool,
    quiet: bool,
    verbose: bool,
    program: str | None,
    **given: Any,
) -> int:
    """Predict where torch.compile breaks its graph in PATHS (default: the current folder). Nothing is run or imported,
    unless --verify says what to run: see gblint verify.

    With `-` for a path, source is read from standard input.

    Exits with 0 if there is nothing to report, 1 if there is, 2 if gblint could not do its work.
    """
    start = time.monotonic()
    if output_file and not output_file.absolute().parent.is_dir():
        raise click.BadParameter(f"the folder of {output_file} does not exist", param_hint="'--output-file'")
    if program is not None:
        return _verified(
            program, options_of(**given), output_format, output_file, as_statistics, exit_zero, quiet, verbose
        )
    with progress_bar() as progress:
        outcome = check(options_of(**given), progress)
    for note in outcome.notes:
        warn(note)
    if verbose:
        for scope in outcome.scopes:
            _describe(scope)
        click.echo(f"took {time.monotonic() - start:.2f} s", err=True)
    render = (STATISTICS if as_statistics else FORMATS)[output_format]
    if output_file:
        output_file.write_text(render(outcome, Style(summary=not quiet)), "utf-8", "backslashreplace")
    else:
        print_out(render(outcome, Style(colour_of(sys.stdout), not quiet)))
    return int(bool(outcome.findings or outcome.problems) and not exit_zero)


def _verified(
    program: str,
    options: Options,
    output_format: str,
    output_file: Path | None,
    as_statistics: bool,
    exit_zero: bool,
    quiet: bool,
    verbose: bool,
) -> int:
    """Run a command given as one text and report as `gblint verify` does."""
    import shlex

    from gblint.cli.verify import verify_and_report
    from gblint.verify.running import Command

    if as_statistics:
        raise click.UsageError("--statistics and --verify exclude each other: the report of --verify counts by rule")
    try:
        words = shlex.split(program)
    except ValueError as error:
        raise click.BadParameter(f"{error} in `{program}`", param_hint="'--verify'") from error
    command = Command(tuple(words), verbose=verbose)
    return verify_and_report(options, command, output_format, output_file, exit_zero, quiet, show_output=verbose)


def options_of(
    paths: tuple[str, ...],
    select: tuple[tuple[str, ...], ...],
    ignore: tuple[tuple[str, ...], ...],
    extend_select: tuple[tuple[str, ...], ...],
    per_file_ignores: tuple[tuple[tuple[str, tuple[str, ...]], ...], ...],
    exclude: tuple[tuple[str, ...], ...],
    extend_exclude: tuple[tuple[str, ...], ...],
    roots: tuple[list[str], ...],
    stdin_filename: Path | None,
    config: Path | None,
    isolated: bool,
    cache_dir: Path | None,
    jobs: int | None,
    **rest: Any,
) -> Options:
    """What the command line says; raises a usage error where it contradicts itself."""
    if config and isolated:
        raise click.UsageError("--config and --isolated exclude each other")
    stdin = "-" in paths or (stdin_filename is not None and not paths)
    if stdin and len(paths) > 1:
        raise click.UsageError("`-` stands for standard input and takes no other paths beside it")
    if stdin_filename and not stdin:
        raise click.UsageError("--stdin-filename goes with `-`, not with paths")
    return Options(
        paths=paths or (".",),
        stdin=sys.stdin.buffer.read() if stdin else None,
        stdin_path=absolute(stdin_filename) if stdin_filename else None,
        config=read_fixed_config(config),
        isolated=isolated,
        layer=Layer(flat(select) if select else None, flat(ignore), flat(extend_select)),
        per_file_ignores=flat(per_file_ignores) if per_file_ignores else None,
        exclude=flat(exclude) if exclude else None,
        extend_exclude=flat(extend_exclude),
        roots=roots_of(roots),
        cache_dir=absolute(cache_dir) if cache_dir else None,
        jobs=jobs or cpus(),
        **rest,
    )


def cpus() -> int:
    """How many processes may run at once."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _describe(scope: Scope) -> None:
    found = scope.environment
    where = ", ".join(map(str, found.site_packages))
    lines = [
        f"project {scope.root}: {scope.checked:,} of {scope.files:,} files checked",
        f"  torch {scope.settings.target_torch}, Python {found.python}, roots {scope.settings.roots_mode}",
        f"  environment: {where} ({found.found_by})" if where else "  no Python environment: libraries are not read",
        f"  cache: {scope.cache_dir or 'none'}",
    ]
    click.echo("\n".join(lines), err=True)
