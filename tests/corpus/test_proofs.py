"""`fix --verify` on breaking programs of the corpus: none is worse off, as an independent run of each tells.

A sample of them is tried; with GBLINT_ALL=1 in the environment all are.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gblint.checking import Options
from gblint.devtools.dynamo import DynamoRunner
from gblint.devtools.programs import labels_of, main_file, missing_packages
from gblint.devtools.repairs import CORPUS, Trial, breaking, result
from gblint.errors import GblintError
from gblint.fixing.plan import Choice
from gblint.fixing.proving import Proved, prove
from gblint.verify.trial import Program
from tests.verify.forks import Forks

pytest.importorskip("torch")

ALL = [p for p in breaking([CORPUS]) if not missing_packages(labels_of(p))]
SAMPLE = ALL if os.environ.get("GBLINT_ALL") == "1" else ALL[:: max(1, len(ALL) // 24)]


def name_of(program: Path) -> str:
    return f"{program.parent.name}/{program.name}"


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    with Forks() as server:
        yield server


@pytest.fixture(scope="module")
def runner() -> Iterator[DynamoRunner]:
    with DynamoRunner() as host:
        yield host


def proved(program: Path, copy: Path, forks: Forks) -> Proved:
    (shutil.copytree if program.is_dir() else shutil.copy)(program, copy)
    options = Options(paths=(str(copy),), isolated=True, no_cache=True)
    command = Program(forks.words(main_file(copy)), folders=(copy.parent,), timeout=120, outputs=True)
    return prove(options, Choice(unsafe=True), command, lambda text: None)


@pytest.mark.parametrize("program", SAMPLE, ids=name_of)
def test_no_program_is_worse_than_before(program: Path, tmp_path: Path, forks: Forks, runner: DynamoRunner) -> None:
    copy = tmp_path / program.name
    try:
        proof = proved(program, copy, forks)
    except GblintError as error:
        assert "two runs of the unchanged program differ" in error.message
        assert all(file.read_bytes() == (program / file.relative_to(copy)).read_bytes() for file in copy.rglob("*.py"))
        assert copy.is_dir() or copy.read_bytes() == program.read_bytes()
        pytest.skip("its own runs differ")
    before, after = runner.observe_all([program, copy], digest=True)
    (eager,) = runner.observe_all([copy], eager=True, digest=True)
    verdict = Trial(program, proof.repaired, before, after, eager).verdict
    if verdict == "WRONG" and len({tuple(result(seen)) for seen in runner.observe_all([program] * 8, digest=True)}) > 1:
        pytest.skip("its own runs differ")
    print(verdict, [(r.step.fix.codemod, r.reason) for r in proof.rejected])
    assert verdict not in ("WRONG", "worse")
    assert len(after.places() | after.silent_places()) <= len(before.places() | before.silent_places())
