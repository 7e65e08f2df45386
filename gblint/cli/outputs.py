"""`--output-format` and `--output-file`: which reports a run writes, and where to."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

import click

from gblint.cli.analysis_options import FILE
from gblint.cli.main import colour_of, print_out
from gblint.cli.options import parsed
from gblint.report.style import Style

T = TypeVar("T")


class Output(NamedTuple):
    """A report that is wanted; without a file it goes to standard output."""

    format: str
    file: Path | None


def output_options(formats: Collection[str]) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Give a command function `output_format` and `output_file`, which it hands to `outputs_of`."""

    def parse(text: str) -> Output:
        form, colon, file = text.partition(":")
        if form not in formats:
            raise ValueError(f"{form!r} is not one of {', '.join(map(repr, formats))}")
        if colon and not file:
            raise ValueError(f"`{text}` names no file after the colon")
        return Output(form, FILE.convert(file, None, None) if file else None)

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        command = click.option("-o", "--output-file", type=FILE, help="Write the report to a file.")(command)
        return click.option(
            "--output-format",
            type=parsed("output", parse),
            multiple=True,
            default=["full"],
            metavar="FORMAT[:FILE]",
            help=f"How to report: {', '.join(formats)}. May be given several times, each with a file of its own.",
            shell_complete=lambda _, __, start: [form for form in formats if form.startswith(start)],
        )(command)

    return decorate


def outputs_of(given: tuple[Output, ...], file: Path | None) -> tuple[Output, ...]:
    """The reports wanted; raises usage errors. `--output-file` is for the one format that names no file."""
    bare = [output for output in given if output.file is None]
    if len(bare) > 1:
        both = " and ".join(f"`{output.format}`" for output in bare[:2])
        raise click.UsageError(
            f"{both} cannot go to one place: name a file, as in --output-format {bare[0].format}:FILE"
        )
    if file and not bare:
        raise click.UsageError("every --output-format names its file, so there is nothing for --output-file to hold")
    outputs = tuple(output._replace(file=output.file or file) for output in given)
    files = [output.file.absolute() for output in outputs if output.file]
    for path in files:
        if not path.parent.is_dir():
            raise click.BadParameter(f"the folder of {path} does not exist", param_hint="'--output-file'")
        if files.count(path) > 1:
            raise click.UsageError(f"two reports cannot be written to {path}")
    return outputs


def write_reports(
    outputs: tuple[Output, ...], reports: Mapping[str, Callable[[T, Style], str]], subject: T, quiet: bool
) -> None:
    """Write each report of a subject to its file, or to standard output."""
    for form, file in outputs:
        if file:
            file.write_text(reports[form](subject, Style(summary=not quiet)), "utf-8", "backslashreplace")
        else:
            print_out(reports[form](subject, Style(colour_of(sys.stdout), not quiet)))
