"""The Python environment and the torch release of a project, found without running anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from gblint.config import Config
from gblint.environment import find_environment, pinned_torch
from gblint.errors import GblintError


def make_environment(root: Path, name: str, python: str = "3.12") -> Path:
    site = root / name / "lib" / f"python{python}" / "site-packages"
    site.mkdir(parents=True)
    (root / name / "pyvenv.cfg").write_text(f"home = /usr/bin\nversion = {python}.4\n")
    (root / name / "bin").mkdir()
    (root / name / "bin" / "python").write_text("")
    return site


@pytest.mark.parametrize("written", ["env", "env/bin/python", "env/lib/python3.12/site-packages"])
def test_the_setting_names_an_environment_in_three_ways(tmp_path: Path, written: str) -> None:
    site = make_environment(tmp_path, "env")
    found = find_environment(Config(root=tmp_path, python=written), tmp_path, {})
    assert found.site_packages == (site,)
    assert found.python == "3.12"


def test_a_setting_that_names_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(GblintError, match="no Python environment at"):
        find_environment(Config(root=tmp_path, python="nowhere"), tmp_path, {})


def test_the_active_environment_comes_before_the_one_in_the_project(tmp_path: Path) -> None:
    active, own = make_environment(tmp_path, "active", "3.10"), make_environment(tmp_path, ".venv")
    config = Config(root=tmp_path)
    by_variable = find_environment(config, tmp_path, {"VIRTUAL_ENV": str(tmp_path / "active")})
    assert (by_variable.site_packages, by_variable.python) == ((active,), "3.10")
    assert find_environment(config, tmp_path, {}).site_packages == (own,)
    assert find_environment(config, tmp_path, {"VIRTUAL_ENV": str(tmp_path / "gone")}).site_packages == (own,)


def test_under_precommit_the_environment_of_the_hooks_comes_last(tmp_path: Path) -> None:
    hooks, active = make_environment(tmp_path, "hooks"), make_environment(tmp_path, "active")
    config = Config(root=tmp_path)
    path = f"{tmp_path}/hooks/bin:{tmp_path}/active/bin:/usr/bin"
    variables = {"PRE_COMMIT": "1", "VIRTUAL_ENV": str(tmp_path / "hooks"), "PATH": f"{tmp_path}/hooks/bin:/usr/bin"}
    assert find_environment(config, tmp_path, variables).site_packages == (hooks,), "it may hold what is needed"
    own = make_environment(tmp_path, ".venv")
    assert find_environment(config, tmp_path, variables).site_packages == (own,)
    assert find_environment(config, tmp_path, {**variables, "PATH": path}).site_packages == (active,)


def test_without_any_environment_there_is_none(tmp_path: Path) -> None:
    assert find_environment(Config(root=tmp_path), tmp_path, {}).site_packages == ()


def test_editable_installs_are_followed(tmp_path: Path) -> None:
    site = make_environment(tmp_path, "env")
    (tmp_path / "elsewhere").mkdir()
    (site / "a.pth").write_text(f"import os\n# no\n{tmp_path / 'elsewhere'}\n{tmp_path / 'missing'}\n")
    found = find_environment(Config(root=tmp_path, python="env"), tmp_path, {})
    assert found.site_packages == (site, tmp_path / "elsewhere")


@pytest.mark.parametrize(
    ("file", "text", "release"),
    [
        ("pyproject.toml", "[project]\ndependencies = ['numpy', 'torch==2.12.*']", "2.12"),
        ("pyproject.toml", "[project]\ndependencies = ['torch ~= 2.11.0 ; python_version > \"3\"']", "2.11"),
        ("pyproject.toml", "[project.optional-dependencies]\ngpu = ['torch[opt]==2.10.1']", "2.10"),
        ("pyproject.toml", "[dependency-groups]\ndev = [{include-group = 'x'}, 'torch==2.9.0+cu126']", "2.9"),
        ("pyproject.toml", "[tool.poetry.dependencies]\ntorch = '2.8.0'", "2.8"),
        ("requirements-dev.txt", "numpy\ntorch==2.13.0  # pinned\n", "2.13"),
        ("requirements.txt", "torch>=2.4\ntorchvision==0.20\npytorch-lightning==2.5.0\n", None),
        ("pyproject.toml", "[project]\ndependencies = ['torch>=2.8,<3']", None),
        ("pyproject.toml", "dependencies = [", None),
        ("pyproject.toml", "project = 3", None),
    ],
)
def test_a_pin_is_found_where_projects_keep_it(tmp_path: Path, file: str, text: str, release: str | None) -> None:
    (tmp_path / file).write_text(text)
    assert pinned_torch(tmp_path) == release
