"""A model that stands in two files of a package: the one that is imported is run, the other is told of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gblint.analysis import Analysis, Settings, analyze
from tests.conftest import Result, Write

MODEL = """
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        return -x
"""
PACKAGE = {"pkg/__init__.py": "from .model import Net\n", "pkg/model.py": MODEL, "pkg/model_old.py": MODEL}


def run(project: Write, files: dict[str, str], report: str = "", mode: str = "auto") -> Analysis:
    written = project(files)
    paths = [written / name for name in files]
    wanted = [p for p in paths if p.name == report] if report else paths
    return analyze(wanted, paths, Settings(roots_mode=mode))


def found(analysis: Analysis) -> set[str]:
    return {Path(f.filename).name for f in analysis.findings}


def test_the_copy_nobody_imports_is_left_aside_and_counted(project: Write) -> None:
    analysis = run(project, PACKAGE)
    assert found(analysis) == {"model.py"}
    assert analysis.stats.twins == 1
    assert {Path(p).name for p in analysis.twins} == {"model_old.py"}


def test_it_is_run_when_it_is_checked_by_itself(project: Write) -> None:
    analysis = run(project, PACKAGE, report="model_old.py")
    assert found(analysis) == {"model_old.py"}
    assert analysis.stats.twins == 0


def test_it_is_run_when_all_modules_are_roots(project: Write) -> None:
    assert found(run(project, PACKAGE, mode="modules")) == {"model.py", "model_old.py"}


@pytest.mark.parametrize(
    "changes",
    [
        {"pkg/user.py": "def build():\n    from .model_old import Net\n    return Net()\n"},
        {"pkg/user.py": "import pkg.model_old\n"},
        {"pkg/user.py": "def build():\n    from . import (\n        model_old,\n    )\n    return model_old.Net()\n"},
        {"pkg/__init__.py": "if False:\n    from .model_old import Net\nelse:\n    from .model import Net\n"},
        {"pkg/__init__.py": ""},  # nobody imports either: which one is used cannot be told
        {"pkg/model_old.py": MODEL + "\nclass More(nn.Module):\n    def forward(self, x):\n        return x\n"},
        {"pkg/model_old.py": MODEL + "\nif __name__ == '__main__':\n    print(Net())\n"},
    ],
)
def test_it_is_run_when_it_may_be_in_use(project: Write, changes: dict[str, str]) -> None:
    assert found(run(project, PACKAGE | changes)) == {"model.py", "model_old.py"}


def test_copies_that_import_each_other_are_left_aside_together(project: Write) -> None:
    derived = "from .model_old import Net\n\nclass Big(Net):\n    pass\n"
    files = PACKAGE | {"pkg/big.py": derived.replace("_old", ""), "pkg/big_old.py": derived}
    files["pkg/__init__.py"] += "from .big import Big\n"
    analysis = run(project, files)
    assert found(analysis) == {"model.py"}
    assert analysis.stats.twins == 2


def test_files_outside_of_a_package_are_programs_of_their_own(project: Write) -> None:
    files = {"model.py": MODEL, "model_old.py": MODEL, "train.py": "from model import Net\n"}
    assert found(run(project, files)) == {"model.py", "model_old.py"}


def test_a_comment_in_the_copy_is_not_called_unused(project: Write) -> None:
    from gblint.checking import Options, check

    silenced = MODEL.replace("> 0:", "> 0:  # gblint: ignore[GB0170]")
    written = project(PACKAGE | {"pkg/model_old.py": silenced, "pkg/model.py": silenced})
    outcome = check(Options(paths=(str(written),), isolated=True, no_cache=True))
    assert outcome.problems == []
    assert outcome.silenced == 1


def test_the_summary_tells_of_it(project: Write, gblint: Callable[..., Result]) -> None:
    project(PACKAGE)
    ran = gblint("check", "--isolated", "--no-cache", "--output-format", "concise")
    told = " ".join((ran.out + ran.err).split())
    assert "1 file repeats classes of files beside it that the project imports instead" in told
