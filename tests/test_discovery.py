"""Which files are checked, and which make up the project around them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gblint.config import Config, ConfigFinder
from gblint.discovery import Patterns, absolute, discover, extent, forget, load_project
from gblint.errors import GblintError


@pytest.fixture(autouse=True)
def _fresh() -> None:
    forget()


def found(*paths: str | Path, **settings: tuple[str, ...]) -> list[str]:
    config = Config(root=Path.cwd(), **settings)  # type: ignore[arg-type]
    return names(discover(paths, lambda folder: config).files)


def names(files) -> list[str]:
    return [Path(f).relative_to(Path.cwd()).as_posix() for f in files]


def test_python_files_below_a_folder(project) -> None:
    project({"b.py": "", "a/c.py": "", "a/d.pyi": "", "a/e.ipynb": "", "f.txt": "", "a/g.py.bak": ""})
    assert found(".") == ["a/c.py", "a/e.ipynb", "b.py"]


def test_usual_folders_are_left_out(project) -> None:
    project({f"{d}/x.py": "" for d in (".venv", "node_modules", "build", ".git", "a/__pycache__", "src")})
    assert found(".") == ["src/x.py"]


def test_any_virtual_environment_is_left_out(project) -> None:
    project({"myenv/pyvenv.cfg": "", "myenv/lib/x.py": "", "a.py": ""})
    assert found(".") == ["a.py"]
    assert found("myenv") == ["myenv/lib/x.py"]


def test_exclude_replaces_and_extend_exclude_adds(project) -> None:
    project({"build/a.py": "", "gen/b.py": "", "c_pb2.py": "", "sub/d.py": "", "sub/keep.py": ""})
    assert found(".", exclude=("gen",)) == ["build/a.py", "c_pb2.py", "sub/d.py", "sub/keep.py"]
    assert found(".", extend_exclude=("*_pb2.py", "sub/d.py", "/gen")) == ["sub/keep.py"]
    assert found(".", extend_exclude=(str(Path.cwd() / "sub"),)) == ["c_pb2.py", "gen/b.py"]


def test_what_is_named_is_always_checked(project) -> None:
    project({"build/a.py": "", "script": "", ".gitignore": "x.py\n", "x.py": ""})
    assert found("build/a.py", "script", "x.py", "build") == ["build/a.py", "script", "x.py"]


def test_gitignore(project) -> None:
    project(
        {
            ".git/HEAD": "",
            ".gitignore": "*_gen.py\n/local/\n!keep_gen.py\n",
            "a_gen.py": "", "keep_gen.py": "", "local/b.py": "", "sub/local/c.py": "",
            "sub/.gitignore": "d.py\n!e_gen.py\n", "sub/d.py": "", "sub/e_gen.py": "",
        }
    )  # fmt: skip
    assert found(".") == ["keep_gen.py", "sub/e_gen.py", "sub/local/c.py"]
    assert found("sub") == ["sub/e_gen.py", "sub/local/c.py"]
    assert found("local") == ["local/b.py"], "a folder that is named is wanted, ignored or not"


def test_nearest_settings_decide_for_each_file(project) -> None:
    project({"gblint.toml": "extend-exclude = ['a.py']", "a.py": "", "sub/gblint.toml": "", "sub/a.py": ""})
    assert names(discover(["."], ConfigFinder().for_folder).files) == ["sub/a.py"]


def test_a_missing_path_is_an_error(project) -> None:
    project({})
    with pytest.raises(GblintError, match="no such file or directory: gone"):
        found("gone")


def test_a_symlink_loop_ends(project) -> None:
    project({"a/b.py": ""})
    os.symlink("..", "a/loop")
    os.symlink("self", "self")
    assert found(".") == ["a/b.py"]


def test_links(project) -> None:
    project({"a.py": "", "other/b.py": ""})
    os.symlink("a.py", "link.py")
    os.symlink(absolute("other"), "linked")
    os.symlink("nowhere", "dangling.py")
    config = Config(root=Path.cwd())
    result = discover(["."], lambda folder: config)
    assert names(result.files) == ["a.py", "other/b.py"]
    assert result.warnings == [f"skipped {Path.cwd() / 'dangling.py'}: a link that leads nowhere"]


def test_pipes_are_not_opened(project) -> None:
    project({"a.py": ""})
    os.mkfifo("pipe.py")
    config = Config(root=Path.cwd())
    result = discover(["."], lambda folder: config)
    assert names(result.files) == ["a.py"]
    assert "not a regular file" in result.warnings[0]


def test_an_unreadable_folder_is_said(project, monkeypatch: pytest.MonkeyPatch) -> None:
    project({"a.py": "", "secret/b.py": ""})
    scandir = os.scandir

    def refuse(path: Path):
        if Path(path).name == "secret":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr("gblint.discovery.os.scandir", refuse)
    config = Config(root=Path.cwd())
    result = discover(["."], lambda folder: config)
    assert names(result.files) == ["a.py"]
    assert result.warnings == [f"cannot read the directory {Path.cwd() / 'secret'}: Permission denied"]


# ---------------------------------------------------------------------------------------------------------- projects


def project_files(given: str) -> list[str]:
    path = absolute(given)
    folder = path if path.is_dir() else path.parent
    loaded = load_project(Path.cwd(), [extent(folder, path)], [] if path.is_dir() else [path])
    return names(loaded.files)


def test_the_project_is_what_lies_below_its_settings_file(project) -> None:
    project({"proj/pyproject.toml": "", "proj/src/a.py": "", "proj/train.py": "", "other.py": ""})
    assert project_files("proj/src/a.py") == ["proj/src/a.py", "proj/train.py"]


def test_excluded_files_still_belong_to_the_project(project) -> None:
    project({"gblint.toml": "extend-exclude = ['vendored']", "vendored/a.py": "", "b.py": ""})
    assert project_files("b.py") == ["b.py", "vendored/a.py"]


@pytest.mark.parametrize("marker", ["pyproject.toml", "gblint.toml", ".git/HEAD", "setup.py", "setup.cfg"])
def test_what_marks_a_project(project, marker: str) -> None:
    project({marker: "", "pkg/a.py": "", "scripts/b.py": ""})
    assert set(project_files("pkg")) >= {"pkg/a.py", "scripts/b.py"}


def test_a_build_script_in_a_corner_is_no_project_of_its_own(project) -> None:
    project({"pyproject.toml": "", "ext/setup.py": "", "ext/a.py": "", "b.py": ""})
    assert project_files("ext") == ["b.py", "ext/a.py", "ext/setup.py"]


def test_a_script_without_a_project_has_its_folder(project) -> None:
    project({"a.py": "", "b.py": "", "pkg/__init__.py": "", "pkg/c.py": "", "data/d.py": ""})
    assert project_files("a.py") == ["a.py", "b.py", "pkg/__init__.py", "pkg/c.py"]


def test_inside_a_package_the_whole_package_belongs(project) -> None:
    project({"pkg/__init__.py": "", "pkg/x/__init__.py": "", "pkg/x/a.py": "", "pkg/b.py": "", "c.py": ""})
    whole = ["pkg/__init__.py", "pkg/b.py", "pkg/x/__init__.py", "pkg/x/a.py"]
    assert project_files("pkg/x") == whole
    assert project_files("pkg/x/a.py") == whole


def test_of_installed_packages_only_those_named(project) -> None:
    site = "env/lib/python3.11/site-packages"
    project({f"{site}/{p}/{f}.py": "" for p in ("one", "two") for f in ("__init__", "a")} | {"pyproject.toml": ""})
    assert project_files(f"{site}/one/a.py") == [f"{site}/one/__init__.py", f"{site}/one/a.py"]
    loaded = load_project(Path.cwd(), [extent(absolute(f"{site}/one"), absolute(f"{site}/one"))], [])
    assert loaded.search == (absolute(site),)


def test_patterns_outside_their_root_match_names_only(tmp_path: Path) -> None:
    patterns = Patterns(tmp_path / "proj", ["gen", "a/*.py"])
    assert patterns.match(str(tmp_path / "other" / "gen"), is_folder=True)
    assert not patterns.match(str(tmp_path / "other" / "a" / "x.py"), is_folder=False)
