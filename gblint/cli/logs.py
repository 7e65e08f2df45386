"""`gblint logs`: what Dynamo said in an earlier run."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gblint.cli.main import colour_of, print_out, warn
from gblint.report.style import Style
from gblint.verify import log_report
from gblint.verify.reading import read
from gblint.verify.sites import sites

FORMATS = {"full": log_report.render, "concise": log_report.render_concise, "json": log_report.render_json}


@click.command("logs")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--output-format", type=click.Choice(list(FORMATS)), default="full", show_default=True)
@click.option("-q", "--quiet", is_flag=True, help="No summary.")
@click.option("-e", "--exit-zero", is_flag=True, help="Exit with 0 even if there is something to report.")
def command(path: Path, output_format: str, quiet: bool, exit_zero: bool) -> int:
    """Show the graph breaks in PATH, the log of an earlier run, one entry for each place.

    PATH is a file with what TORCH_LOGS=graph_breaks printed (or the error that fullgraph=True gave), a folder of
    TORCH_TRACE, or a folder that tlparse made. Nothing is run.

    Exits with 0 if there is no graph break, 1 if there is, 2 if the log could not be read.
    """
    said = read(path)
    found = sites(said)
    if said.empty and not said.recompiles:
        warn(
            f"{path} says nothing of Dynamo; TORCH_LOGS=graph_breaks makes it log, or TORCH_TRACE=FOLDER write a trace"
        )
    print_out(FORMATS[output_format](found, said, Style(colour_of(sys.stdout), not quiet)))
    return int(bool(found) and not exit_zero)
