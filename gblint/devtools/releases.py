"""`python -m gblint.devtools.releases PYTHON...` records what other torch releases do with the programs of the corpus.

Each PYTHON is an interpreter with a torch release, gblint and the packages that the programs need. What happened is
written to corpus/releases/torch-X.Y.json, a line for each program; read its diff before committing it. The corpus's own
labels tell of one release, these of the others: `--target-torch` is held to them.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterable
from pathlib import Path

import click
import msgspec

from gblint.devtools.dynamo import DynamoRunner
from gblint.devtools.labels import Labels, Place, labels_from
from gblint.devtools.observed import Observed
from gblint.devtools.programs import collections_in, files_of, programs_in

FOLDER = "releases"
_VERSIONS = "import platform, torch; print(torch.__version__, platform.python_version())"


class Ran(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a release did with one program: places as in a header, and the kind of error that ended it, if one did.

    text: digest of the program when it ran; of another text this says nothing.
    """

    text: str
    expect: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    error: str = ""

    def labels(self) -> Labels:
        expect, also, silent = (frozenset(map(Place.parse, part)) for part in (self.expect, self.also, self.silent))
        return Labels(expect, also, silent)


class Release(msgspec.Struct, frozen=True):
    """The file of one release. torch, python: full versions. programs: by collection and name, "field/x.py"."""

    torch: str
    python: str
    programs: dict[str, Ran]

    def labels(self, collection: str, programs: Iterable[Path]) -> dict[Path, Labels]:
        """What happened to those programs of a collection that were run as they now are, and not ended by an error."""
        found = {program: self.programs.get(f"{collection}/{program.name}") for program in programs}
        return {p: ran.labels() for p, ran in found.items() if ran and not ran.error and ran.text == digest(p)}


def load_releases(corpus: Path) -> dict[str, Release]:
    """The recorded releases by minor version, oldest first. Raises msgspec.ValidationError for a file of another
    shape."""
    files = sorted((corpus / FOLDER).glob("torch-*.json"), key=lambda file: int(file.stem.rpartition(".")[2]))
    return {file.stem.removeprefix("torch-"): msgspec.json.decode(file.read_bytes(), type=Release) for file in files}


def digest(program: Path) -> str:
    """A short digest of the files of a program."""
    told = hashlib.blake2b(digest_size=6)
    for file in files_of(program):
        told.update(file.read_bytes())
    return told.hexdigest()


def ran(program: Path, observed: Observed) -> Ran:
    """The record of one run."""
    labels = labels_from(observed)
    expect, also, silent = (tuple(map(str, sorted(part))) for part in (labels.expect, labels.also, labels.silent))
    return Ran(digest(program), expect, also, silent, observed.error.partition(":")[0])


def record(python: str, corpus: Path) -> Release:
    """Run all programs with an interpreter. Raises CalledProcessError when it has no torch."""
    said = subprocess.run([python, "-c", _VERSIONS], check=True, capture_output=True, text=True)
    torch, version = said.stdout.split()
    named = {f"{name}/{p.name}": p for name, folder in collections_in(corpus).items() for p in programs_in(folder)}
    with DynamoRunner(python) as runner:
        seen = zip(named.items(), runner.observe_all(named.values()), strict=True)
        done = {name: ran(program, observed) for (name, program), observed in seen}
    return Release(torch.partition("+")[0], version, done)


def text_of(release: Release) -> str:
    """The file of a release: JSON with a line for each program."""
    rows = ",\n".join(f"  {_json(name)}: {_json(one)}" for name, one in sorted(release.programs.items()))
    head = f' "torch": {_json(release.torch)},\n "python": {_json(release.python)},\n'
    return f'{{\n{head} "programs": {{\n{rows}\n }}\n}}\n'


def _json(what: object) -> str:
    return msgspec.json.format(msgspec.json.encode(what), indent=0).decode()


@click.command(help=__doc__)
@click.argument("pythons", nargs=-1, required=True, metavar="PYTHON...")
@click.option("--corpus", type=click.Path(exists=True, file_okay=False, path_type=Path), default=Path("corpus"))
def main(pythons: tuple[str, ...], corpus: Path) -> None:
    for python in pythons:
        release = record(python, corpus)
        file = corpus / FOLDER / f"torch-{'.'.join(release.torch.split('.')[:2])}.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text_of(release), encoding="utf8")
        ended = sum(bool(one.error) for one in release.programs.values())
        click.echo(f"{file}: {len(release.programs)} programs, {ended} ended by an error")


if __name__ == "__main__":
    main()
