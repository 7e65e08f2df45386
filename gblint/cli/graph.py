"""`gblint graph`: who calls whom from a compiled root on, how often, and where the breaks are."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gblint.callgraph import merged, unpack
from gblint.checking import Options, check
from gblint.cli.analysis_options import FILE, FOLDER, cpus
from gblint.cli.main import colour_of, print_out, warn
from gblint.cli.options import CONFIDENCE, ROOTS, read_fixed_config, roots_of
from gblint.cli.progress import progress_bar
from gblint.discovery import absolute
from gblint.report.graph import FORMATS, view
from gblint.report.style import Style


@click.command("graph")
@click.argument("paths", nargs=-1)
@click.option("--output-format", type=click.Choice(list(FORMATS)), default="text", show_default=True)
@click.option("--min-confidence", type=CONFIDENCE, metavar="0..1", help="Count breaks from here on.")
@click.option("--roots", type=ROOTS, multiple=True, metavar="MODE|NAME", help="What is compiled, as in check.")
@click.option("-n", "--no-cache", is_flag=True, help="Neither read nor write the cache.")
@click.option("--cache-dir", type=FOLDER, help="The folder of the cache.")
@click.option("-j", "--jobs", type=click.IntRange(min=1), help="Processes to use.  [default: one per CPU]")
@click.option("--config", type=FILE, help="Settings file that holds for everything.")
@click.option("--isolated", is_flag=True, help="Use no settings file.")
def command(
    paths: tuple[str, ...],
    output_format: str,
    min_confidence: float | None,
    roots: tuple[list[str], ...],
    no_cache: bool,
    cache_dir: Path | None,
    jobs: int | None,
    config: Path | None,
    isolated: bool,
) -> int:
    """Draw the calls from every compiled root that leads into PATHS (default: the current folder).

    ×4 stands for how often a function runs in one call of its root, every loop taken to run four times.
    """
    options = Options(
        paths=paths or (".",),
        config=read_fixed_config(config),
        isolated=isolated,
        roots=roots_of(roots),
        min_confidence=min_confidence,
        no_cache=no_cache,
        cache_dir=absolute(cache_dir) if cache_dir else None,
        jobs=jobs or cpus(),
    )
    with progress_bar() as progress:
        outcome = check(options, progress)
    for note in outcome.notes:
        warn(note)
    named = [absolute(Path(path)) for path in options.paths]
    shown = view(
        merged(map(unpack, outcome.calls)),
        outcome,
        lambda path: any(Path(path).is_relative_to(top) for top in named),
    )
    print_out(FORMATS[output_format](shown, Style(colour_of(sys.stdout))))
    return 0
