"""Packages with plugins, installed for the process that a test starts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Result, spawn

EXAMPLE = Path(__file__).parents[2] / "docs/examples/gblint-shop"
Run = Callable[..., Result]


def install(package: Path, target: Path) -> None:
    """Install a package as pip does, without fetching anything."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    done = subprocess.run(
        [*command, "--target", str(target), str(package)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages with the example of the docs in it."""
    folder = tmp_path_factory.mktemp("shop")
    source = folder / "source"
    for file in (p for p in EXAMPLE.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
        copy = source / file.relative_to(EXAMPLE)  # building leaves files beside the source
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    install(source, folder / "packages")
    return folder / "packages"


@pytest.fixture
def with_shop(shop: Path, tmp_path: Path) -> Run:
    """Run gblint with the example installed, in the folder of the test."""
    return lambda *arguments: spawn(*arguments, cwd=tmp_path, PYTHONPATH=str(shop))
