"""Both hooks under the real pre-commit, in a repository of git.

pre-commit makes an environment for the hooks and has pip install gblint there, from a repository with the files of this
checkout. Nothing is fetched (see `offline`).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import tomli

pytest.importorskip("pre_commit", reason="pre-commit is not installed")
ROOT = Path(__file__).parents[2]
PARTS = ("gblint", "rules", "codemods", "pyproject.toml", "setup.py", "README.md", "LICENSE", ".pre-commit-hooks.yaml")
SETTINGS = "[tool.gblint]\ntarget-torch = '2.13'\n"
MODEL = """\
import torch
from tools import shout


class Net(torch.nn.Module):
    def forward(self, x):
        shout(x)
        return -x


net = torch.compile(Net())
"""
TOOLS = "def shout(x):\n    print(x)\n"
QUIET = "def shout(x):\n    return x\n"
COUNT = """\
import torch


@torch.compile
def scale(x):
    if x.sum() > 0:
        x = x * 2
    return x
"""


def git(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    who = ("-c", "user.name=tester", "-c", "user.email=tester@example.org")
    return subprocess.run(
        ["git", *who, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, **own, **variables},
    )


def repository(folder: Path) -> Path:
    """What lies in a folder, committed."""
    folder.mkdir(exist_ok=True)
    for command in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "--allow-empty", "-m", "start")):
        done = git(folder, *command)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the files of this checkout."""
    folder = tmp_path_factory.mktemp("hooks")
    for part in PARTS:
        place = ROOT / part
        if place.is_dir():
            shutil.copytree(place, folder / part, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(place, folder / part)
    return repository(folder)


@pytest.fixture(scope="module")
def variables(offline: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Variables under which pre-commit keeps to itself."""
    return {**offline, "PRE_COMMIT_HOME": str(tmp_path_factory.mktemp("pre-commit"))}


class Project:
    """A repository whose commits run the hooks."""

    def __init__(self, folder: Path, hooks: Path, variables: Mapping[str, str], *ids: str, more: str = "") -> None:
        self.folder = folder
        self.variables = variables
        revision = git(hooks, "rev-parse", "HEAD").stdout.strip()
        listed = "".join(f"    - id: {name}\n      verbose: true\n{more}" for name in ids)
        (folder / ".pre-commit-config.yaml").write_text(
            f"repos:\n- repo: {hooks}\n  rev: {revision}\n  hooks:\n{listed}"
        )
        repository(folder)
        done = self.pre_commit("install")
        assert done.returncode == 0, done.stdout + done.stderr

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            (self.folder / name).write_text(text)

    def read(self, name: str) -> str:
        return (self.folder / name).read_text()

    def pre_commit(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pre_commit", *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            env={**os.environ, **self.variables},
        )

    def commit(self, *files: str) -> tuple[bool, str]:
        """Stage files and commit; whether that worked, and what was said."""
        assert git(self.folder, "add", *files).returncode == 0
        done = git(self.folder, "commit", "-m", "change", **self.variables)
        return done.returncode == 0, done.stdout + done.stderr

    def committed(self, name: str) -> str:
        return git(self.folder, "show", f"HEAD:{name}").stdout


def make(
    tmp_path: Path, hooks: Path, variables: Mapping[str, str], files: Mapping[str, str], *ids: str, more: str = ""
):
    for name, text in {"pyproject.toml": SETTINGS, ".gitignore": ".gblint_cache\n", **files}.items():
        (tmp_path / name).write_text(text)
    return Project(tmp_path, hooks, variables, *ids, more=more)


def test_a_commit_with_a_break_fails_and_one_without_passes(tmp_path, hooks, variables) -> None:
    project = make(tmp_path, hooks, variables, {"model.py": MODEL, "tools.py": QUIET}, "gblint-check")
    project.write({"tools.py": TOOLS})
    done, said = project.commit("tools.py")
    assert not done
    assert "tools.py:2:5 GB0059 print-call [hot]" in said
    assert "path: Net.forward (model.py:7) → shout (here)" in said, said
    assert "exit code: 1" in said

    project.write({"tools.py": "def shout(x):\n    return x + 1\n"})
    done, said = project.commit("tools.py")
    assert done, said
    assert "gblint check" in said
    assert "Found no graph breaks" in said

    homes = list(Path(variables["PRE_COMMIT_HOME"]).glob("repo*/py_env-*/lib/python*/site-packages/gblint/rules"))
    assert homes, "gblint is installed in the environment of the hooks"


def test_without_a_python_file_the_hooks_have_nothing_to_do(tmp_path, hooks, variables) -> None:
    files = {"model.py": MODEL, "tools.py": TOOLS}
    project = make(tmp_path, hooks, variables, files, "gblint-fix", "gblint-check")
    project.write({"notes.md": "# Notes\n"})
    done, said = project.commit("notes.md")
    assert done, said
    assert said.count("(no files to check)Skipped") == 2


def test_what_is_staged_counts_not_what_is_in_the_working_tree(tmp_path, hooks, variables) -> None:
    project = make(tmp_path, hooks, variables, {"model.py": MODEL, "tools.py": QUIET}, "gblint-check")
    project.write({"model.py": MODEL.replace("-x", "x + 1")})
    assert git(project.folder, "add", "model.py").returncode == 0
    project.write({"tools.py": TOOLS, "model.py": MODEL.replace("-x", "x + 2")})
    done, said = project.commit("pyproject.toml")
    assert done, said
    assert "Found no graph breaks" in said
    assert "x + 1" in project.committed("model.py")
    assert project.read("tools.py") == TOOLS, "what was not staged is back"
    assert "x + 2" in project.read("model.py")

    done, said = project.commit("tools.py", "model.py")
    assert not done
    assert "GB0059" in said


def test_a_repair_fails_the_commit_and_the_next_one_passes(tmp_path, hooks, variables) -> None:
    project = make(tmp_path, hooks, variables, {}, "gblint-fix", "gblint-check")
    project.write({"pyproject.toml": SETTINGS + "[tool.gblint.fix]\nextend-safe-fixes = ['branch-on-tensor']\n"})
    project.write({"count.py": COUNT})
    done, said = project.commit("count.py", "pyproject.toml")
    assert not done
    assert "files were modified by this hook" in said
    assert "torch.where" in project.read("count.py")
    assert git(project.folder, "show", ":count.py").stdout == COUNT, "the repair is not staged: somebody has to look"

    done, said = project.commit("count.py")
    assert done, said
    assert "files were modified" not in said
    assert "torch.where" in project.committed("count.py")


def test_a_repair_leaves_alone_what_is_not_staged(tmp_path, hooks, variables) -> None:
    project = make(tmp_path, hooks, variables, {"count.py": COUNT}, "gblint-fix")
    project.write({"pyproject.toml": SETTINGS + "[tool.gblint.fix]\nextend-safe-fixes = ['branch-on-tensor']\n"})
    project.write({"other.py": "import torch\n"})
    done, said = project.commit("other.py", "pyproject.toml")
    assert done, said
    assert project.read("count.py") == COUNT


@pytest.mark.parametrize("serial", [True, False])
def test_batches_see_the_whole_project(serial, tmp_path, hooks, variables) -> None:
    """pre-commit hands many files over in batches: in turn as the command line is only so long, or, where a user has
    turned `require_serial` off, at once."""
    count = 700 if serial else 24
    stem = "tools_" + "x" * (230 if serial else 1)  # 700 names of 240 bytes are more than one command line
    names = [f"{stem}_{n:03}" for n in range(count)]
    calls = [f"    x = {name}.shout(x)\n" for name in names[:: count - 1]]
    imports = "".join(f"import {name}\n" for name in names[:: count - 1])
    model = f"import torch\n{imports}\n\n@torch.compile\ndef run(x):\n{''.join(calls)}    return x\n"
    more = "" if serial else "      require_serial: false\n"
    project = make(tmp_path, hooks, variables, {}, "gblint-check", more=more)
    project.write(
        {"model.py": model, **{f"{name}.py": "def shout(x):\n    print(x)\n    return x\n" for name in names}}
    )
    done, said = project.commit(".")
    assert not done
    if serial or len(os.sched_getaffinity(0)) > 1:
        assert said.count("Found 1 graph break in 1 file") == 2, "the first and the last file are in different batches"
    assert said.count("GB0059 print-call") == 2
    for name, row in ((names[0], 8), (names[-1], 9)):
        assert f"{name}.py:2:5 GB0059" in said
        assert said.count(f"path: run (model.py:{row}) → shout (here)") == 1


def test_hooks_read_the_environment_of_the_project_not_their_own(tmp_path, hooks, variables) -> None:
    library = tmp_path / ".venv/lib/python3.11/site-packages/shouting"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text(TOOLS)
    model = MODEL.replace("from tools", "from shouting")
    project = make(tmp_path, hooks, variables, {".gitignore": ".venv\n.gblint_cache\n"}, "gblint-check")
    project.write({"model.py": model})
    done, said = project.commit("model.py")
    assert not done
    assert "GB0059 print-call" in said


def test_a_notebook_is_checked(tmp_path, hooks, variables) -> None:
    project = make(tmp_path, hooks, variables, {"tools.py": TOOLS}, "gblint-check")
    cells = [{"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "execution_count": None, "source": MODEL}]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    project.write({"try.ipynb": json.dumps(notebook), "notes.md": ""})
    done, said = project.commit("try.ipynb", "notes.md")
    assert "(no files to check)" not in said
    assert "Looked at 1 file of a project of 2" in said
    assert done, "the break is in a file that is not part of the commit"
    project.write({"tools.py": TOOLS + "\n"})
    done, said = project.commit("tools.py")
    assert not done
    assert "try.ipynb" in said


def test_a_plugin_is_named_as_an_additional_dependency(tmp_path, hooks, variables) -> None:
    plugin = tmp_path / "gblint-shop"
    shutil.copytree(ROOT / "docs/examples/gblint-shop", plugin, ignore=shutil.ignore_patterns("__pycache__"))
    work = tmp_path / "work"
    work.mkdir()
    more = f"      additional_dependencies: [{plugin}]\n"
    project = make(work, hooks, variables, {}, "gblint-check", more=more)
    project.write({"model.py": "import shop_native\n" + COUNT.replace("x.sum() > 0", "shop_native.overflows(x)")})
    done, said = project.commit("model.py")
    assert not done
    assert "GB0170 branch-on-tensor" in said


def test_the_extra_for_development_has_what_this_needs() -> None:
    extras = tomli.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert [
        name
        for name in ("check-jsonschema", "pre-commit", "setuptools")
        if not any(d.startswith(name) for d in extras["dev"])
    ] == []
