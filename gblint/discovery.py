"""From paths on the command line to source files: those to report on, and those of the whole project around them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gblint.config import DEFAULT_EXCLUDE, Config, compiled_patterns
from gblint.errors import GblintError

if TYPE_CHECKING:
    import pathspec

# What marks the root of a project: the nearest of the first kind, without one the nearest of the second, and so on.
MARKERS = (("gblint.toml", "pyproject.toml"), (".git",), ("setup.py", "setup.cfg"))
SUFFIXES = (".py", ".ipynb")  # of files with source
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
        self._root = os.path.join(root, "")
        self._names: set[str] = set()
        rest: list[str] = []
        for pattern in patterns:
            if pattern.strip("/") and not set(pattern) & set("/*?[]!#\\ "):
                self._names.add(pattern)
            else:
                rest.append(self._anchored(pattern))
        self._spec = _spec(tuple(rest)) if rest else None

    def _anchored(self, pattern: str) -> str:
        inside = os.path.isabs(pattern) and pattern.startswith(self._root)
        return "/" + pattern[len(self._root) :] if inside else pattern

    def match(self, path: str, is_folder: bool) -> bool:
        """Whether the last component of an absolute path is matched, its folders being known not to be."""
        if os.path.basename(path) in self._names:
            return True
        if not self._spec or not path.startswith(self._root):
            return False
        return self._spec.match_file(_relative(path, self._root, is_folder))

    def match_path(self, path: str) -> bool:
        """Whether an absolute path or one of its folders below the root is matched."""
        inside = path.startswith(self._root)
        relative = _relative(path, self._root) if inside else os.path.basename(path)
        if not self._names.isdisjoint(relative.split("/")):
            return True
        return bool(inside and self._spec and self._spec.match_file(relative))


def _relative(path: str, root: str, is_folder: bool = False) -> str:
    """The part of a path below a root that ends in a separator, as gitignore patterns see it."""
    return path[len(root) :].replace(os.sep, "/") + ("/" if is_folder else "")


@lru_cache(maxsize=64)
def _spec(lines: tuple[str, ...]) -> pathspec.GitIgnoreSpec:
    """Patterns that git would not understand match nothing, as in git; those of settings have been checked before."""
    try:
        return compiled_patterns(lines)
    except ValueError:
        return compiled_patterns([line for line in lines if _understood(line)])


def _understood(line: str) -> bool:
    try:
        compiled_patterns([line])
    except ValueError:
        return False
    return True


@lru_cache(maxsize=64)
def exclusions(config: Config) -> Patterns:
    """What `exclude` and `extend-exclude` keep out."""
    return Patterns(config.root, (*config.exclude, *config.extend_exclude))


# The folders of .gitignore files with what these say, nearest first.
Rules = tuple[tuple[str, "pathspec.GitIgnoreSpec"], ...]


def _ignore_rules(folder: str) -> Rules:
    try:
        text = Path(folder, ".gitignore").read_text("utf-8", "replace")
        return ((os.path.join(folder, ""), _spec(tuple(text.splitlines()))),)
    except (OSError, ValueError):
        return ()


def _ignored(path: str, is_folder: bool, rules: Rules) -> bool:
    for root, spec in rules:
        verdict = spec.check_file(_relative(path, root, is_folder)).include
        if verdict is not None:
            return verdict
    return False


def _rules_above(top: Path) -> Rules:
    """The .gitignore files of the repository that hold for a folder, its own one not among them."""
    if (top / ".git").exists():
        return ()
    rules: Rules = ()
    for folder in top.parents:
        rules = (*rules, *_ignore_rules(str(folder)))
        if os.path.exists(folder / ".git"):
            # What is named on the command line is wanted, even if the repository ignores it.
            return () if _ignored(str(top), True, rules) else rules
    return ()


# ------------------------------------------------------------------------------------------------------------ walking


def discover(paths: Iterable[str | Path], config_of: Callable[[Path], Config]) -> Found:
    """The Python files and notebooks under the given paths.

    A file that is named is always taken; below a folder, `exclude` of the settings nearest to each file, .gitignore
    and virtual environments are left out, and links to folders are not followed. Raises GblintError for a path that
    does not exist.
    """

    def excluded(folder: str) -> Patterns:
        return exclusions(config_of(Path(folder)))

    origins: dict[str, Path] = {}
    warnings: list[str] = []
    for given in paths:
        path = absolute(given)
        if path.is_dir():
            for file in _walk(path, excluded, warnings):
                origins.setdefault(file, path)
        elif os.path.lexists(path):
            origins[str(path)] = path
        else:
            raise GblintError(f"no such file or directory: {given}", "check the spelling, and the folder you are in")
    return Found({Path(file): origins[file] for file in _distinct(origins)}, warnings)


class _Entry(NamedTuple):
    name: str
    is_folder: bool
    problem: str


def _walk(top: Path, excluded: Callable[[str], Patterns], warnings: list[str], shallow: bool = False) -> Iterator[str]:
    """Absolute paths of the Python files below a folder; shallow: of the folders in it only packages are entered."""
    pending = [(str(top), _rules_above(top))]
    while pending:
        folder, rules = pending.pop()
        try:
            entries = _listing(folder)
        except OSError as error:
            warnings.append(f"cannot read the directory {folder}: {error.strerror or error}")
            continue
        names = {entry.name for entry in entries}
        if "pyvenv.cfg" in names and folder != str(top):
            continue
        if ".gitignore" in names:
            rules = (*_ignore_rules(folder), *rules)
        patterns = excluded(folder)
        below: list[tuple[str, Rules]] = []
        for name, is_folder, problem in entries:
            path = os.path.join(folder, name)
            if not (is_folder or name.endswith(SUFFIXES)):
                continue
            if patterns.match(path, is_folder) or (rules and _ignored(path, is_folder, rules)):
                continue
            if problem:
                warnings.append(f"skipped {path}: {problem}")
            elif not is_folder:
                yield path
            elif not shallow or os.path.isfile(os.path.join(path, "__init__.py")):
                below.append((path, rules))
        pending.extend(reversed(below))


_LISTINGS: dict[str, list[_Entry]] = {}


def _listing(folder: str) -> list[_Entry]:
    """What is in a folder and matters: folders (not links to them), Python files, and what marks an environment."""
    if folder not in _LISTINGS:
        with os.scandir(folder) as listing:
            found = [_entry(e) for e in listing if e.name not in (".", "..")]
        _LISTINGS[folder] = sorted(entry for entry in found if entry)
    return _LISTINGS[folder]


def looked_at() -> list[str]:
    """The folders and .gitignore files that say which files there are, as far as they were looked at since `forget`."""
    ignores = (os.path.join(f, e.name) for f, entries in _LISTINGS.items() for e in entries if e.name == ".gitignore")
    return [*_LISTINGS, *ignores]


def _entry(entry: os.DirEntry[str]) -> _Entry | None:
    name = entry.name
    if entry.is_dir(follow_symlinks=False):
        return _Entry(name, True, "")
    if name in (".gitignore", "pyvenv.cfg"):
        return _Entry(name, False, "")
    if not name.endswith(SUFFIXES) or (entry.is_symlink() and entry.is_dir()):
        return None
    if entry.is_file():
        return _Entry(name, False, "")
    return _Entry(name, False, "a link that leads nowhere" if entry.is_symlink() else "not a regular file")


def is_text(path: str) -> bool:
    """Whether a path can be written down: the bytes of a file's name need not be text."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _distinct(files: Iterable[str]) -> list[str]:
    """Sorted, without links to files that are there under their own name."""
    paths = sorted(files)
    own = set(paths)
    return [p for p in paths if not (os.path.islink(p) and os.path.realpath(p) in own - {p})]


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
    if not os.path.exists(f"{folder}{os.sep}__init__.py"):
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
    if any(os.path.exists(f"{folder}{os.sep}{marker}") for marker in MARKERS[kind]):
        return folder
    # A home folder under version control, or the file system, is not one project.
    if folder.parent == folder or folder.parent in (_home(), folder.parent.parent):
        return None
    return _marked(folder.parent, kind)


@cache
def _home() -> Path:
    return Path.home()


def forget() -> None:
    """Look at the disk anew: a process that lives long calls this before each run."""
    _LISTINGS.clear()
    extent.cache_clear()
    package_top.cache_clear()
    _marked.cache_clear()
    _home.cache_clear()


def load_project(root: Path, extents: Iterable[Extent], report_files: Iterable[Path]) -> Project:
    """All files of a project whose names are text, those of the report among them.

    `exclude` of the settings keeps files out of the report, not out of the project.
    """
    usual = Patterns(root, DEFAULT_EXCLUDE)
    files = dict.fromkeys(map(str, report_files))
    search: dict[Path, None] = {}
    for part in dict.fromkeys(extents):
        for top in part.tops:
            if top.is_dir():
                files.update(dict.fromkeys(_walk(top, lambda folder: usual, [], part.shallow)))
            elif top.suffix in SUFFIXES and top.is_file():
                files[str(top)] = None
            search[_import_root(top)] = None
    return Project(root, [Path(file) for file in _distinct(files) if is_text(file)], tuple(search))


def _import_root(top: Path) -> Path:
    """The folder that has to be on sys.path for the modules of a tree to be found."""
    if not top.is_dir() or top.parent.name in _INSTALLED:
        return top.parent
    package = package_top(top)
    return package.parent if package else top
