"""`gblint report`: a break of Dynamo's, ready to be pasted into an issue."""

from __future__ import annotations

from pathlib import Path

import click

from gblint.cli.main import print_out, warn
from gblint.errors import GblintError
from gblint.verify.reading import read
from gblint.verify.sites import sites
from gblint.verify.upstream import THEIRS, write_up


@click.command("report")
@click.argument("code")
@click.argument("log", type=click.Path(path_type=Path))
def command(code: str, log: Path) -> int:
    """Write up the graph break CODE, such as GB0059, that LOG is about, as text for an issue at PyTorch.

    LOG is what `gblint logs` reads. What is printed holds Dynamo's message, the versions, a program that shows the
    break, and the source of the function it was met in, without paths: read it before you paste it. Nothing is sent.
    """
    said = read(log)
    found = [site for site in sites(said) if site.shown_code == code.upper()]
    if not found:
        known = sorted({site.shown_code for site in sites(said)})
        raise GblintError(f"there is no {code} in {log}", f"it has {', '.join(known)}" if known else "it has no breaks")
    if found[0].category not in THEIRS:
        warn(f"Dynamo does not call {code.upper()} a bug or something it could support: is it PyTorch's to change?")
    print_out(write_up(code.upper(), found, said))
    return 0
