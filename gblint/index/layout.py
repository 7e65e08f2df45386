"""Module names from the way files lie in folders."""

# Paths are strings here: Path objects cost too much for thousands of files.

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from functools import cached_property
from hashlib import blake2b

_STANDARD = frozenset(sys.stdlib_module_names)


def is_foreign(name: str) -> bool:
    """Whether a module is torch's or Python's own, which are never read."""
    head = name.partition(".")[0]
    return head == "torch" or head in _STANDARD


def _changed(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


class Layout:
    """Names of files and files of names; folders and files are looked at once and remembered.

    files: absolute paths of the project's files.
    search_paths: folders that absolute imports are looked up in after the project, as sys.path is.
    absent: files that are not there, whatever the disk says.
    """

    def __init__(self, files: list[str], search_paths: list[str], absent: Iterable[str] = ()) -> None:
        self.files = files
        self.search_paths = search_paths
        self._roots = frozenset(search_paths)
        self._packages: dict[str, str] = {}
        self._is_file: dict[str, bool] = dict.fromkeys(files, True) | dict.fromkeys(absent, False)
        self._found: dict[tuple[str, str], str] = {}

    def name(self, path: str) -> tuple[str, str]:
        """Dotted module name and package of a file; the package is what its relative imports start from.

        A file outside any package is a top-level module, whatever its folder; its relative imports (it may be part
        of a namespace package) start from the folders below the project's root.
        """
        folder, file = os.path.split(path)
        stem = os.path.splitext(file)[0]
        package = self.package(folder)
        if package:
            return (package, package) if stem == "__init__" else (f"{package}.{stem}", package)
        return stem, self._namespace(folder)

    def package(self, folder: str) -> str:
        """Dotted package a folder stands for, "" if neither it nor a folder above has an `__init__.py`."""
        known = self._packages.get(folder)
        if known is not None:
            return known
        parent, name = os.path.split(folder)
        above = "" if parent == folder or folder in self._roots else self.package(parent)
        if "." in name or folder in self._roots:
            package = ""
        elif above and name.isidentifier():
            package = f"{above}.{name}"
        else:
            package = name if self._exists(os.path.join(folder, "__init__.py")) else ""
        self._packages[folder] = package
        return package

    def find(self, name: str, folder: str) -> str:
        """Path of the module `name` as seen from a file in `folder` ("" for nowhere); "" if there is none.

        Torch and the standard library are never found, but a file beside a script hides a standard one.
        """
        key = folder, name
        path = self._found.get(key)
        if path is None:
            path = self._found[key] = self._find(name, folder)
        return path

    def signature(self) -> str:
        """A digest of the project's files and of the times at which the folders that modules lie in last changed."""
        times = [(folder, _changed(folder)) for folder in self.folders()]
        return blake2b(repr((self.files, times)).encode("utf-8", "backslashreplace"), digest_size=16).hexdigest()

    def folders(self) -> list[str]:
        """The folders that the project's modules lie in, those above them, and the search paths."""
        own = {above for folder in {os.path.dirname(path) for path in self.files} for above in self._ancestors(folder)}
        return [*sorted(own), *self.search_paths]

    def is_opaque(self, name: str) -> bool:
        """Whether a module exists but cannot be read: torch, the standard library, an extension module."""
        if is_foreign(name):
            return True
        head = name.partition(".")[0]
        return head in self._installed_names and not self.find(head, "")

    def reaches(self, module: str, attribute: str, folder: str) -> bool:
        """Whether an import in a file of a folder can lead anywhere: what it names may be in a package that cannot be
        read, or in a folder that is no package."""
        head = module.partition(".")[0]
        if is_foreign(head) or head in self._installed_names or self.find(module, folder):
            return True
        return bool(self.find(f"{module}.{attribute}", folder) if attribute else self.find(head, folder))

    @cached_property
    def _installed_names(self) -> set[str]:
        names: set[str] = set()
        for root in self.search_paths:
            try:
                names.update(entry.partition(".")[0] for entry in os.listdir(root))
            except OSError:
                continue
        return names

    def _find(self, name: str, folder: str) -> str:
        head = name.partition(".")[0]
        if not head or head == "torch":
            return ""
        if folder and not self.package(folder):
            beside = self._below(folder, name)
            if beside:
                return beside
        if head in _STANDARD:
            return ""
        inside = self._in_package(name, folder) or self._from_above(name, folder)
        return inside or self._installed(name) or self._scripts.get(name, "")

    def _in_package(self, name: str, folder: str) -> str:
        """A module of one of the project's packages, the nearest one where several have the name."""
        paths = self._names.get(name, ())
        if len(paths) < 2:
            return paths[0] if paths else ""
        return max(paths, key=lambda path: len(os.path.commonpath([path, folder or "/"])))

    def _from_above(self, name: str, folder: str) -> str:
        """A module that lies below a folder above the importer, which may be what it is run from."""
        return next((path for above in self._ancestors(folder) if (path := self._below(above, name))), "")

    def _installed(self, name: str) -> str:
        return next((path for root in self.search_paths if (path := self._below(root, name))), "")

    def _below(self, root: str, name: str) -> str:
        base = os.path.join(root, *name.split("."))
        package = os.path.join(base, "__init__.py")
        if self._exists(package):
            return package
        return base + ".py" if self._exists(base + ".py") else ""

    def _exists(self, path: str) -> bool:
        known = self._is_file.get(path)
        if known is None:
            known = self._is_file[path] = os.path.isfile(path)
        return known

    def _ancestors(self, folder: str) -> list[str]:
        """The folder and those above it, up to and including the project's root."""
        root, found = self.root, []
        while folder and (folder == root or folder.startswith(root.rstrip(os.sep) + os.sep)):
            found.append(folder)
            folder, last = os.path.dirname(folder), folder
            if folder == last:
                break
        return found

    def _namespace(self, folder: str) -> str:
        relative = os.path.relpath(folder, self.root)
        outside = relative == os.curdir or relative.startswith(os.pardir)
        return "" if outside else relative.replace(os.sep, ".")

    @cached_property
    def root(self) -> str:
        """Folder above the deepest folder that holds all files of the project."""
        folders = {os.path.dirname(path) for path in self.files}
        try:
            return os.path.dirname(os.path.commonpath(folders)) if folders else os.sep
        except ValueError:  # several drives
            return os.sep

    @cached_property
    def _names(self) -> dict[str, list[str]]:
        """Names of modules in packages → paths."""
        names: dict[str, list[str]] = {}
        for path in self.files:
            if path.endswith(".py") and self.package(os.path.dirname(path)):
                names.setdefault(self.name(path)[0], []).append(path)
        return names

    @cached_property
    def _scripts(self) -> dict[str, str]:
        """Names of modules outside packages → path of the first one."""
        names: dict[str, str] = {}
        for path in self.files:
            if path.endswith(".py") and not self.package(os.path.dirname(path)):
                names.setdefault(self.name(path)[0], path)
        return names
