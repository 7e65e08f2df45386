"""`gblint clean`: delete the cache."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from gblint.checking import cache_folder
from gblint.cli.main import print_out
from gblint.config import ConfigFinder
from gblint.discovery import absolute, project_root
from gblint.errors import GblintError


@click.command("clean")
@click.argument("path", type=click.Path(path_type=Path), default=".")
@click.option("--cache-dir", type=click.Path(path_type=Path), help="The folder of the cache, if it is not the usual.")
def command(path: Path, cache_dir: Path | None) -> int:
    """Delete the cache of the project that PATH (default: the current folder) belongs to."""
    place = absolute(path)
    folder = place if place.is_dir() else place.parent
    config = ConfigFinder().for_folder(folder)
    target = absolute(cache_dir) if cache_dir else cache_folder(config, project_root(folder))
    if not target.exists():
        print_out(f"there is no cache at {target}\n")
        return 0
    # The mark says that the folder is a cache: any other one is not gblint's to delete.
    if not (target / "CACHEDIR.TAG").is_file():
        raise GblintError(f"{target} does not look like a cache", "delete it by hand if it is one")
    shutil.rmtree(target)
    print_out(f"deleted {target}\n")
    return 0
