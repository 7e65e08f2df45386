"""Same input, same output, byte for byte: whatever the number of processes, the hash seed, the order of paths and
folders, and the state of the cache."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Result, Write, spawn

CORPUS = Path(__file__).parents[1] / "corpus"
ALIKE = [
    ("check", "--roots", "all", "--min-confidence", "0"),
    ("check", "--roots", "all", "--output-format", "json"),
    ("check", "--roots", "all", "--output-format", "sarif"),
    ("graph", "--roots", "all", "--output-format", "json"),
    ("fix", "--diff", "--unsafe-fixes"),
]


@pytest.fixture
def models(project: Write) -> Path:
    folder = project({"pyproject.toml": "[tool.gblint]\n"})
    shutil.copytree(CORPUS / "models", folder / "models")
    return folder


@pytest.mark.parametrize("command", ALIKE, ids=" ".join)
def test_processes_seeds_and_the_cache_change_nothing(models: Path, command: tuple[str, ...]) -> None:
    first = spawn(*command, "-n", "-j1", cwd=models, PYTHONHASHSEED="1")
    assert first.out
    for options, seed in ((("-j4",), "2"), (("-j1",), "3"), (("-n", "-j3"), "4")):
        again = spawn(*command, *options, cwd=models, PYTHONHASHSEED=seed)
        assert (again.code, again.out) == (first.code, first.out), (options, seed)


@pytest.mark.parametrize("command", ALIKE, ids=" ".join)
def test_the_order_of_paths_and_folders_changes_nothing(
    models: Path, gblint: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    paths = sorted(str(path.relative_to(models)) for path in models.rglob("*.py"))
    first = gblint(*command, "-n", "-j1", *paths)
    assert first.out
    shuffle = random.Random(5).shuffle
    listed, scanned = os.listdir, os.scandir

    def shuffled_list(*where: str) -> list[str]:
        names = listed(*where)
        shuffle(names)
        return names

    class Scan:
        def __init__(self, *where: str) -> None:
            with scanned(*where) as found:
                self._entries = list(found)
            shuffle(self._entries)

        def __enter__(self) -> Scan:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def close(self) -> None:
            pass

        def __iter__(self) -> Scan:
            return self

        def __next__(self) -> os.DirEntry[str]:
            if not self._entries:
                raise StopIteration
            return self._entries.pop()

    monkeypatch.setattr(os, "listdir", shuffled_list)
    monkeypatch.setattr(os, "scandir", Scan)
    shuffle(paths)
    again = gblint(*command, "-n", "-j1", *paths)
    assert (again.code, again.out) == (first.code, first.out)
