"""`python -m gblint.devtools.sources [SET]...` fetches the library sources that the recorded truth is about.

They go to `.cache/sources/SET`, at the versions in `corpus/truth/SET-requirements.txt`, without their
dependencies: they are read, never imported. A folder that holds them already is left alone. The set
`small` holds the small libraries of `libraries`, quick to fetch and to score.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import click

SETS = ("modeling", "libraries")
SMALL = "small"
CACHE = Path(".cache/sources")
MARKER = "gblint.toml"
PIN = re.compile(r"^([\w.-]+)==([\w.]+)", re.MULTILINE)


def requirements(corpus: Path, name: str) -> Path:
    return corpus / "truth" / f"{name}-requirements.txt"


def missing_versions(folder: Path, requirements_file: Path) -> list[str]:
    """The pinned releases that are not installed in a site-packages folder, as "name==version"."""
    installed = {_plain(info.name.removesuffix(".dist-info")) for info in folder.glob("*.dist-info")}
    pins = PIN.findall(requirements_file.read_text(encoding="utf8"))
    return [f"{name}=={version}" for name, version in pins if _plain(f"{name}-{version}") not in installed]


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def find_sources(folders: Iterable[Path], requirements_file: Path) -> Path | None:
    """The first folder that holds every pinned release."""
    existing = (folder for folder in folders if folder.is_dir())
    return next((folder for folder in existing if not missing_versions(folder, requirements_file)), None)


def fetch(folder: Path, requirements_file: Path) -> None:
    """Install the pinned releases into `folder`. Raises subprocess.CalledProcessError when pip fails."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--upgrade"]
    subprocess.run([*command, "--target", str(folder), "-r", str(requirements_file)], check=True)
    folder.mkdir(parents=True, exist_ok=True)  # where nothing is pinned, pip makes none
    (folder / MARKER).touch()  # a project of its own: what is read is not taken for a part of the one around it


@click.command(help=__doc__)
@click.argument("names", nargs=-1, type=click.Choice((*SETS, SMALL)))
@click.option("--corpus", type=click.Path(exists=True, path_type=Path), default=Path("corpus"))
def main(names: tuple[str, ...], corpus: Path) -> None:
    for name in names or SETS:
        folder = CACHE / name
        if find_sources([folder], requirements(corpus, name)):
            click.echo(f"{folder}: there already")
            continue
        try:
            fetch(folder, requirements(corpus, name))
        except subprocess.CalledProcessError as error:
            raise click.ClickException(f"pip could not fetch the sources of {name} (its message is above)") from error
        click.echo(f"{folder}: fetched")


if __name__ == "__main__":
    main()
