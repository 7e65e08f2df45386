"""The labelled programs of the corpus: each is a file, or a folder with a main.py."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

from gblint.devtools.labels import Labels, header

LABELLED = "2.13"  # the torch release that headers tell of; what others do is recorded beside the programs


def programs_in(path: Path) -> Iterator[Path]:
    """The programs at a path: itself when it is one, else those directly in the folder, in order of name."""
    if path.is_file() or (path / "main.py").is_file():
        yield path
        return
    for entry in sorted(path.iterdir()):
        if (entry.suffix == ".py" and entry.name != "__init__.py") or (entry / "main.py").is_file():
            yield entry


def collections_in(corpus: Path) -> dict[str, Path]:
    """The collections of programs by name: each folder in `programs`, and `models`, which is one large program."""
    folders = [entry for entry in sorted((corpus / "programs").iterdir()) if entry.is_dir()]
    if (corpus / "models" / "main.py").is_file():
        folders.append(corpus / "models")
    return {folder.name: folder for folder in folders}


def corpus_programs(corpus: Path) -> list[Path]:
    """Every program of the corpus folder, collection by collection."""
    return [program for collection in collections_in(corpus).values() for program in programs_in(collection)]


def main_file(program: Path) -> Path:
    return program if program.is_file() else program / "main.py"


def files_of(program: Path) -> list[Path]:
    """The Python files of a program: itself, or all of its folder."""
    return [program] if program.is_file() else sorted(program.rglob("*.py"))


def labels_of(program: Path) -> Labels:
    """The header of a program. Raises ValueError, naming the file, when it has none."""
    file = main_file(program)
    try:
        return header(file.read_text(encoding="utf8"))
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error


def missing_packages(labels: Labels) -> list[str]:
    """Packages that the program needs and this environment lacks."""
    return [name for name in labels.needs if importlib.util.find_spec(name) is None]
