"""From paths on the command line to source files: those to report on, and those of the whole project around them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gblint.config import DEFAULT_EXCLUDE, Config
from gblint.errors import GblintError

if TYPE_CHECKING:
    import pathspec

# What marks the root of a project: the nearest of the first kind, without one the nearest of the second, and so on.
MARKERS = (("gblint.toml", "pyproject.toml"), (".git",), ("setup.py", "setup.cfg"))
_INSTALLED = ("site-packages", "dist-packages")


class Found(NamedTuple):
    """Python files that were asked for.

    files: absolute paths, sorted and distinct, each with the path on the command line that led to it.
    warnings: one line for each thing that could not be looked into.
    """

    files: dict[Path, Path]
    warnings: list[str]


def absolute(path: str | Path) -> Path:
    """An absolute path without `.` and `..`, symlinks kept as they were written."""
    return Path(os.path.abspath(path))


# --------------------------------------------------------------------------------------------------------- patterns


class Patterns:
    """Gitignore patterns, taken from a folder. Plain names, the usual case, are looked up in a set."""

    def __init__(self, root: Path, patterns: Iterable[str]) -> None:
        self._root = root
        self._names: set[str] = set()
        rest: list[str] = []
        for pattern in patterns:
            if pattern.strip("/") and not set(pattern) & set("/*?[]!#\\ "):
                self._names.add(pattern)
            else:
                rest.append(self._anchored(pattern))
        self._spec = _spec(tuple(rest)) if rest else None

    def _anchored(self, pattern: str) -> str:
        path = Path(pattern)
        if path.is_absolute() and path.is_relative_to(self._root):
            return "/" + path.relative_to(self._root).as_posix()
        return pattern

    def match(self, path: Path, is_folder: bool) -> bool:
        """Whether the last component of an absolute path is matched, its folders being known not to be."""
        if path.name in self._names:
            return True
        if not self._spec or not path.is_relative_to(self._root):
            return False
        relative = path.relative_to(self._root).as_posix()
        return self._spec.match_file(relative + "/" if is_folder else relative)

    def match_path(self, path: Path) -> bool:
        """Whether an absolute path or one of its folders below the root is matched."""
        parts = path.relative_to(self._root).parts if path.is_relative_to(self._root) else (path.name,)
        if not self._names.isdisjoint(parts):
            return True
        return bool(self._spec and path.is_relative_to(self._root) and self._spec.match_file("/".join(parts)))


@lru_cache(maxsize=64)
def _spec(lines: tuple[str, ...]) -> pathspec.GitIgnoreSpec:
    import pathspec

    return pathspec.GitIgnoreSpec.from_lines(lines)


@lru_cache(maxsize=64)
def exclusions(config: Config) -> Patterns:
    """What `exclude` and `extend-exclude` keep out."""
    return Patterns(config.root, (*config.exclude, *config.extend_exclude))


class _GitIgnore:
    """The .gitignore files that hold for the folders below a starting point."""

    def __init__(self, start: Path) -> None:
        self._files: dict[Path, pathspec.GitIgnoreSpec | None] = {}
        repository = next((p for p in (start, *start.parents) if (p / ".git").exists()), start)
        self._top = repository
        # What is named on the command line is wanted, even if the repository ignores it.
        if start != repository and self._matched(start, is_folder=True, chain=start.parents):
            self._top = start

    def match(self, path: Path, is_folder: bool) -> bool:
        return self._matched(path, is_folder, path.parents)

    def _matched(self, path: Path, is_folder: bool, chain: Iterable[Path]) -> bool:
        for folder in chain:
            if not folder.is_relative_to(self._top):
                return False
            spec = self._spec_of(folder)
            if spec:
                relative = path.relative_to(folder).as_posix() + ("/" if is_folder else "")
                verdict = spec.check_file(relative).include
                if verdict is not None:
                    return verdict
        return False

    def _spec_of(self, folder: Path) -> pathspec.GitIgnoreSpec | None:
        if folder not in self._files:
            self._files[folder] = self._read(folder)
        return self._files[folder]

    def _read(self, folder: Path) -> pathspec.GitIgnoreSpec | None:
        try:
            text = (folder / ".gitignore").read_text("utf-8", "replace")
            return _spec(tuple(text.splitlines()))
        except (OSError, ValueError):
            return None


# ------------------------------------------------------------------------------------------------------------ walking


def discover(paths: Iterable[str | Path], config_of: Callable[[Path], Config]) -> Found:
    """The Python files under the given paths.

    A file that is named is always taken; below a folder, `exclude` of the settings nearest to each file, .gitignore
    and virtual environments are left out, and links to folders are not followed. Raises GblintError for a path that
    does not exist.
    """

    def excluded(entry: Path, is_folder: bool) -> bool:
        return exclusions(config_of(entry.parent)).match(entry, is_folder)

    origins: dict[Path, Path] = {}
    warnings: list[str] = []
    for given in paths:
        path = absolute(given)
        if path.is_dir():
            for file in _walk(path, excluded, warnings):
                origins.setdefault(file, path)
        elif os.path.lexists(path):
            origins[path] = path
        else:
            raise GblintError(f"no such file or directory: {given}", "check the spelling, and the folder you are in")
    return Found({file: origins[file] for file in _distinct(origins)}, warnings)


def _walk(top: Path, excluded: Callable[[Path, bool], bool], warnings: list[str]) -> Iterator[Path]:
    ignored = _GitIgnore(top)
    folders = [top]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda e: e.name)
        except OSError as error:
            warnings.append(f"cannot read the directory {folder}: {error.strerror or error}")
            continue
        if folder != top and any(e.name == "pyvenv.cfg" for e in entries):
            continue
        below: list[Path] = []
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            if not is_folder and not entry.name.endswith(".py"):
                continue
            path = folder / entry.name
            if excluded(path, is_folder) or ignored.match(path, is_folder):
                continue
            if is_folder:
                below.append(path)
            elif entry.is_file():
                yield path
            elif not entry.is_dir():
                warnings.append(f"skipped {path}: {_nature(path)}")
        folders.extend(reversed(below))


def _nature(path: Path) -> str:
    return "a link that leads nowhere" if path.is_symlink() else "not a regular file"


def _distinct(files: Iterable[Path]) -> list[Path]:
    """Sorted, without links to files that are there under their own name."""
    paths = sorted(files)
    own = set(paths)
    return [p for p in paths if not (p.is_symlink() and absolute(os.path.realpath(p)) in own - {p})]


# ----------------------------------------------------------------------------------------------------------- projects


class Project(NamedTuple):
    """root: the folder that stands for the project; files: all of its source; search: where its imports start from."""

    root: Path
    files: list[Path]
    search: tuple[Path, ...]


class Extent(NamedTuple):
    """How far the project of a path reaches.

    root: the folder of its pyproject.toml or the like, None for a path that belongs to no project; tops: the trees
    (or single files) it is made of; shallow: only this folder and the packages in it.
    """

    root: Path | None
    tops: tuple[Path, ...]
    shallow: bool = False


@cache
def extent(folder: Path, given: Path) -> Extent:
    """How far the project of the files in `folder` reaches, `given` being the path that led to them.

    In an installed environment: the top-level package. Else everything below the nearest folder with a project file;
    without one, the given folder, the whole package it is in, or for a script its own folder.
    """
    installed = next((p for p in (given, *given.parents) if p.name in _INSTALLED), None)
    if installed:
        return Extent(None, (installed / given.relative_to(installed).parts[0] if given != installed else given,))
    package = package_top(folder)
    root = project_root(folder)
    if root:
        return Extent(root, (root,) if package is None or package.is_relative_to(root) else (root, package))
    if given.is_dir():
        return Extent(None, (package_top(given) or given,))
    return Extent(None, (package or folder,), shallow=package is None)


@cache
def package_top(folder: Path) -> Path | None:
    """The outermost package that a folder is or is in, None if it is in none."""
    if not _exists(folder / "__init__.py"):
        return None
    return package_top(folder.parent) or folder


def project_root(folder: Path) -> Path | None:
    """The folder of the project that a folder belongs to, None if it belongs to none."""
    for kind in range(len(MARKERS)):
        root = _marked(folder, kind)
        if root:
            return root
    return None


@cache
def _marked(folder: Path, kind: int) -> Path | None:
    if any(_exists(folder / marker) for marker in MARKERS[kind]):
        return folder
    # A home folder under version control, or the file system, is not one project.
    if folder.parent == folder or folder.parent in (Path.home(), folder.parent.parent):
        return None
    return _marked(folder.parent, kind)


def forget() -> None:
    """Look at the disk anew: a process that lives long calls this before each run."""
    extent.cache_clear()
    package_top.cache_clear()
    _marked.cache_clear()


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a folder that may not be entered
        return False


def load_project(root: Path, extents: Iterable[Extent], report_files: Iterable[Path]) -> Project:
    """All files of a project. `exclude` of the settings keeps files out of the report, not out of the project."""
    usual = Patterns(root, DEFAULT_EXCLUDE)
    files = dict.fromkeys(report_files)
    search: dict[Path, None] = {}
    for part in dict.fromkeys(extents):
        for top in part.tops:
            files.update(dict.fromkeys(_source(top, part.shallow, usual)))
            search[_import_root(top)] = None
    return Project(root, _distinct(files), tuple(search))


def _source(top: Path, shallow: bool, usual: Patterns) -> Iterator[Path]:
    if not top.is_dir():
        return iter((top,) if top.suffix == ".py" and top.is_file() else ())

    def excluded(path: Path, is_folder: bool) -> bool:
        if shallow and is_folder and not (path / "__init__.py").is_file():
            return True
        return usual.match(path, is_folder)

    return _walk(top, excluded, [])


def _import_root(top: Path) -> Path:
    """The folder that has to be on sys.path for the modules of a tree to be found."""
    if not top.is_dir() or top.parent.name in _INSTALLED:
        return top.parent
    package = package_top(top)
    return package.parent if package else top
