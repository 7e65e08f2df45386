"""The options that every command which analyses code takes, and what they come to."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from gblint.checking import Options, Scope
from gblint.cli.options import (
    CONFIDENCE,
    PATTERNS,
    PER_FILE_IGNORES,
    RELEASE,
    ROOTS,
    SELECTORS,
    complete_files,
    complete_rules,
    flat,
    read_fixed_config,
    roots_of,
)
from gblint.discovery import absolute
from gblint.errors import GblintError
from gblint.findings.selection import Layer

FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)


def _rules(name: str, about: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    return click.option(name, type=SELECTORS, multiple=True, metavar="RULES", help=about, shell_complete=complete_rules)


_OPTIONS = (
    click.argument("paths", nargs=-1, shell_complete=complete_files),
    _rules("--select", "Only these: codes, prefixes, names."),
    _rules("--ignore", "All but these."),
    _rules("--extend-select", "These as well."),
    click.option(
        "--per-file-ignores",
        type=PER_FILE_IGNORES,
        multiple=True,
        metavar="PATTERN:RULE",
        help="Ignore a rule in the files that a pattern matches.",
    ),
    click.option(
        "--exclude", type=PATTERNS, multiple=True, metavar="PATTERNS", help="Leave out, instead of the usual."
    ),
    click.option("--extend-exclude", type=PATTERNS, multiple=True, metavar="PATTERNS", help="Leave out as well."),
    click.option("--min-confidence", type=CONFIDENCE, metavar="0..1", help="The least confidence worth reporting."),
    click.option("--target-torch", type=RELEASE, metavar="X.Y", help="The torch release to predict for."),
    click.option(
        "--roots",
        type=ROOTS,
        multiple=True,
        metavar="MODE|NAME",
        help="What is compiled: auto, explicit, modules, all, or names such as pkg.model:Net.forward.",
    ),
    click.option("--hot-only", is_flag=True, help="Only what runs at every call of a compiled root."),
    click.option("-n", "--no-cache", is_flag=True, help="Neither read nor write the cache."),
    click.option("--cache-dir", type=FOLDER, help="The folder of the cache."),
    click.option("-j", "--jobs", type=click.IntRange(min=1), help="Processes to use.  [default: one per CPU]"),
    click.option("--stdin-filename", type=FILE, help="The file that standard input stands for."),
    click.option("--config", type=FILE, help="Settings file that holds for everything."),
    click.option("--isolated", is_flag=True, help="Use no settings file."),
)


def analysis_options(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command function the options; it gets them as keywords and hands them to `options_of`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


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
    """What the options of a command line come to; raises usage errors, and GblintError for a wrong settings file."""
    if config and isolated:
        raise click.UsageError("--config and --isolated exclude each other")
    stdin = "-" in paths or (stdin_filename is not None and not paths)
    if stdin and len(paths) > 1:
        raise click.UsageError("`-` stands for standard input and takes no other paths beside it")
    if stdin_filename and not stdin:
        raise click.UsageError("--stdin-filename goes with `-`, not with paths")
    return Options(
        paths=paths or (".",),
        stdin=_stdin(stdin_filename) if stdin else None,
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


def _stdin(stands_for: Path | None) -> bytes:
    """What is on standard input: of a notebook its code. Raises GblintError for what is no notebook."""
    from gblint.notebook import NotebookError, is_notebook, python_of

    data = sys.stdin.buffer.read()
    if stands_for is None or not is_notebook(str(stands_for)):
        return data
    try:
        return python_of(data)
    except NotebookError as error:
        raise GblintError(f"{stands_for}: {error.message} (row {error.row})") from error


def cpus() -> int:
    """How many processes may run at once."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def describe(scope: Scope) -> None:
    """Say on stderr what was looked at, and where imports were looked for."""
    found = scope.environment
    where = ", ".join(map(str, found.site_packages))
    lines = [
        f"project {scope.root}: {scope.checked:,} of {scope.files:,} files checked",
        f"  torch {scope.settings.target_torch}, Python {found.python}, roots {scope.settings.roots_mode}",
        f"  environment: {where} ({found.found_by})" if where else "  no Python environment: libraries are not read",
        f"  cache: {scope.cache_dir or 'none'}",
    ]
    click.echo("\n".join(lines), err=True)
