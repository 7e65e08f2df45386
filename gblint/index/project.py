"""The files of a project and of the libraries it imports, and what a name in one of them stands for."""

# Paths are strings here: Path objects cost too much for thousands of files.

from __future__ import annotations

import builtins
import os
import re
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar, cast

from gblint.index.cache import IndexCache, batches, content_digest
from gblint.index.layout import Layout, is_foreign
from gblint.index.lazy import exported_names
from gblint.index.model import Binding, ModuleInfo, empty_index, guard_rank
from gblint.source import SourceError, decode, read_bytes, rows_of

T = TypeVar("T")
_DECODED_FILES = 64
_WORD = re.compile(r"\w+")
_DEPTH = 40  # imports followed in a row before a name is given up


class Resolved(NamedTuple):
    """What a name stands for.

    kind: "function", "class", "assign" (any other value; `binding` says where it gets it), "module", or
        "external": it leaves what can be read (torch, the standard library, a library that is not installed, a
        name a module makes up at run time) and only `dotted` is known.
    info: the module that defines it, for "module" the module itself; None for "external".
    qualname: its name inside that module, "" for a module.
    dotted: absolute dotted name.
    """

    kind: str
    info: ModuleInfo | None
    qualname: str
    binding: Binding | None
    dotted: str


@dataclass
class Dependencies:
    """What an answer rested on.

    files: paths of those used. asked: (folder of the importer, module) looked for. spans: the stretches of files whose
    text was read, as (path, first row, last row, digest). missing: module-level names looked for in vain.
    """

    files: set[str] = field(default_factory=set)
    asked: set[tuple[str, str]] = field(default_factory=set)
    spans: set[tuple[str, int, int, str]] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)

    def update(self, other: Dependencies) -> None:
        self.files |= other.files
        self.asked |= other.asked
        self.spans |= other.spans
        self.missing |= other.missing


class Project:
    """Indexes on demand, with what was asked recorded.

    files: the project's own files.
    search_paths: folders of installed libraries, in the order of sys.path.
    cache: indexes of earlier runs, or None.
    overlay: contents that stand in for files on disk (an editor's buffer, standard input); None for a file that is
        taken as not there.
    """

    def __init__(
        self,
        files: list[Path],
        search_paths: list[Path],
        cache: IndexCache | None = None,
        overlay: Mapping[Path, bytes | None] | None = None,
    ) -> None:
        self.files = list(dict.fromkeys(map(os.path.abspath, files)))
        self._own = frozenset(self.files)
        self.cache = cache
        given = {os.path.abspath(path): data for path, data in (overlay or {}).items()}
        self._overlay = {path: data for path, data in given.items() if data is not None}
        absent = given.keys() - self._overlay.keys()
        self.layout = Layout(self.files, [os.path.abspath(path) for path in search_paths], absent)
        self._infos: dict[str, ModuleInfo] = {}
        self._digests: dict[str, str] = {}
        self._lines: OrderedDict[str, list[str]] = OrderedDict()
        self._answers: dict[Hashable, tuple[object, Dependencies]] = {}
        self._words: dict[str, tuple[frozenset[str], str]] = {}  # of a file: its words, and the digest of its text
        self._resolved: dict[tuple[str, str], tuple[Resolved | None, Dependencies]] = {}
        self._exports: dict[str, dict[str, str]] = {}
        self._recorders: list[Dependencies] = []

    def infos(self, files: Iterable[str]) -> Iterator[ModuleInfo]:
        """The indexes of files at absolute paths, one after the other."""
        for some in batches(files):
            if self.cache is not None:
                known = [(self._stat_digest(path), *self.layout.name(path)) for path in some]
                self.cache.expect(indexes=[names for names in known if names[0]])
            yield from map(self.info, some)

    def info(self, path: str) -> ModuleInfo:
        """The index of a file; of one that cannot be read or parsed there is only `error`."""
        info = self._infos.get(path)  # most paths come from other indexes, and are absolute
        if info is None:
            key = os.path.abspath(path)
            info = self._infos.get(key) or self._infos.setdefault(key, self._load(key))
        if self._recorders:
            self._recorders[-1].files.add(info.path)
        return info

    def owns(self, path: str) -> bool:
        """Whether a file is one of the project's own."""
        return path in self._own

    def digest(self, path: str) -> str:
        """Content hash of a file (an absolute path), "" if it cannot be read; an unchanged file is not read again."""
        info = self._infos.get(path)
        if info is not None:
            return info.digest
        known = self._digests.get(path)
        if known is None:
            try:
                known = self._stat_digest(path) or self._read(path)[1]
            except SourceError:
                known = ""
            self._digests[path] = known
        return known

    def find(self, module_name: str, importer: ModuleInfo | None = None) -> ModuleInfo | None:
        """The module an absolute import means: project first, then installed libraries.

        importer: the importing module; a script sees the files beside it first. None for torch, the standard
        library and whatever is not there.
        """
        folder = os.path.dirname(importer.path) if importer else ""
        path = self.layout.find(module_name, folder)
        if self._recorders and (path or not is_foreign(module_name)):
            self._recorders[-1].asked.add((folder, module_name))
        return self.info(path) if path else None

    def exists(self, module_name: str, importer: ModuleInfo | None = None) -> bool:
        """Whether an import of the module works as far as can be told: torch, the standard library, or found."""
        return is_foreign(module_name) or self.find(module_name, importer) is not None

    def places(self, asked: Iterable[tuple[str, str]]) -> str:
        """A digest of where modules that were looked for are found, to tell whether a new file has come between."""
        paths = (self.layout.find(name, folder) for folder, name in asked)
        return content_digest("\n".join(paths).encode("utf-8", "surrogatepass"))

    @cached_property
    def signature(self) -> str:
        """A digest that changes when a file is added or removed where modules are looked for."""
        return self.layout.signature()

    def resolve(self, info: ModuleInfo, name: str) -> Resolved | None:
        """What a module-level name, or a dotted path from one ("F.relu", "Class.method"), stands for in `info`.

        Imports are followed through re-exports, star imports, lazy packages, submodules and second names
        (`Old = New`). None if nothing binds the name (a builtin, a local name, an attribute of a value).
        """
        key = info.path, name
        known = self._resolved.get(key)
        if known is None:
            self._resolved[key] = None, Dependencies()  # what a name that needs itself finds
            with self.track() as used:
                answer = _Search(self).path(info, name)
            known = self._resolved[key] = answer, used
        if self._recorders:
            self._recorders[-1].update(known[1])
        return known[0]

    def exporter(self, package: ModuleInfo, name: str) -> ModuleInfo | None:
        """The module below a `define_import_structure` package that exports a name."""
        exports = self._exports.get(package.path)
        if exports is None:
            parts = [part for part in package.lazy_folder.split(".") if part]
            folder = os.path.join(os.path.dirname(package.path), *parts)
            exports = self._exports[package.path] = _exports_below(folder)
        path = exports.get(name)
        return self.info(path) if path else None

    def lines(self, info: ModuleInfo, start: int, end: int) -> str:
        """Source text of rows start to end (1-based, inclusive), "" when the file can no longer be read."""
        lines = self._lines.get(info.path)
        if lines is None:
            lines = self._lines[info.path] = self._read_lines(info.path)
            if len(self._lines) > _DECODED_FILES:
                self._lines.popitem(last=False)
        else:
            self._lines.move_to_end(info.path)
        return "\n".join(lines[max(start - 1, 0) : end])

    def text(self, info: ModuleInfo) -> str:
        """The whole text of a file, all of which the answer then rests on."""
        last = info.rows + 1
        text = self.lines(info, 1, last)
        self.note_span(info.path, 1, last, _digest_of(text))
        return text

    def lines_with(self, info: ModuleInfo, name: str) -> list[str]:
        """The lines of a file in which a name stands as a whole word. The answer rests on the whole file, which is
        read anew only if the name is in it."""
        known = self._words.get(info.path)
        if known is None:
            text = self.text(info)
            digest = _digest_of(text)
            self._words[info.path] = frozenset(_WORD.findall(text)), digest
        else:
            words, digest = known
            self.note_span(info.path, 1, info.rows + 1, digest)
            if name not in words:
                return []
            text = self.lines(info, 1, info.rows + 1)
        return list(_lines_with(text, name))

    def remembered(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What `compute` answers, which rests on the files of the project alone and is asked for once."""
        known = self._answers.get(key)
        if known is None:
            with self.track() as used:
                answer = compute()
            self._answers[key] = answer, used
            return answer
        self.note(known[1])
        return cast("T", known[0])

    @contextmanager
    def track(self) -> Iterator[Dependencies]:
        """Record, while active, what every answer rests on; recorders nest, and an outer one sees it all."""
        recorder = Dependencies()
        self._recorders.append(recorder)
        try:
            yield recorder
        finally:
            self._recorders.pop()
            if self._recorders:
                self._recorders[-1].update(recorder)

    def note(self, used: Dependencies) -> None:
        """Record that an answer kept from before, which rested on `used`, is used again."""
        if self._recorders:
            self._recorders[-1].update(used)

    def note_span(self, path: str, start: int, end: int, digest: str) -> None:
        """Record that the text of some rows was read."""
        if self._recorders:
            self._recorders[-1].spans.add((path, start, end, digest))

    def note_missing(self, name: str) -> None:
        """Record that no module-level name was found."""
        if self._recorders:
            self._recorders[-1].missing.add(name)

    def _load(self, path: str) -> ModuleInfo:
        name, package = self.layout.name(path)
        digest = self._stat_digest(path)
        known = self._cached(path, digest, name, package) if digest else None
        if known is not None:
            return known
        try:
            data, digest = self._read(path)
            return self._cached(path, digest, name, package) or self._build(path, data, digest, name, package)
        except SourceError as error:
            info = empty_index(name, package, path, digest)
            info.error, info.error_kind = error.message, error.kind
            info.error_row, info.error_column = error.row, error.column
            return info

    def _build(self, path: str, data: bytes, digest: str, name: str, package: str) -> ModuleInfo:
        from gblint.index.build import build_index  # a run that finds all in its cache builds none

        info = build_index(decode(data).text, path, name, package, digest)
        if self.cache is not None:
            self.cache.store(info)
        return info

    def _cached(self, path: str, digest: str, name: str, package: str) -> ModuleInfo | None:
        info = self.cache.load(digest, name, package) if self.cache is not None else None
        if info is not None:
            info.path = path
        return info

    def _stat_digest(self, path: str) -> str:
        """The digest of a file unchanged since an earlier run, found without reading it, else ""."""
        if self.cache is None or path in self._overlay:
            return ""
        return self.cache.digest(path)

    def _read(self, path: str) -> tuple[bytes, str]:
        data = self._bytes(path)
        digest = content_digest(data)
        if self.cache is not None and path not in self._overlay:
            self.cache.remember(path, digest)
        return data, digest

    def _bytes(self, path: str) -> bytes:
        data = self._overlay.get(path)
        return read_bytes(path) if data is None else data

    def _read_lines(self, path: str) -> list[str]:
        try:
            return rows_of(decode(self._bytes(path)).text)
        except SourceError:
            return []


class _Search:
    """One resolution: follows a chain of imports, each (module, name) at most once."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.seen: set[tuple[str, str]] = set()
        self.depth = 0

    def path(self, info: ModuleInfo, dotted: str) -> Resolved | None:
        head, *rest = dotted.split(".")
        found = self.name(info, head)
        for attribute in rest:
            if found is None:
                return None
            self.seen.clear()
            found = self.attribute(info, found, attribute)
        return found

    def attribute(self, importer: ModuleInfo, owner: Resolved, name: str) -> Resolved | None:
        if owner.kind == "external":
            # A folder without `__init__.py` cannot be read, but the modules in it can.
            module = self.project.find(f"{owner.dotted}.{name}", importer)
            return _module(module) if module else _external(f"{owner.dotted}.{name}")
        if owner.info is None:
            return None
        if owner.kind == "module":
            return self.member(owner.info, name)
        if owner.kind == "class":
            return self.class_member(owner.info, owner.qualname, name)
        return None

    def member(self, info: ModuleInfo, name: str) -> Resolved:
        """`info.name` where the module is known: what nothing binds there is made at run time."""
        found = self.name(info, name)
        if found is not None:
            return found
        submodule = self.project.find(f"{info.name}.{name}", info) if _is_package(info) else None
        return _module(submodule) if submodule else _external(f"{info.name}.{name}")

    def name(self, info: ModuleInfo, name: str) -> Resolved | None:
        key = info.path, name
        if key in self.seen or self.depth > _DEPTH:
            return None
        self.seen.add(key)
        self.depth += 1
        found = self._bound(info, name) or self.lazy(info, name) or self.star(info, name)
        self.depth -= 1
        if found is None:
            self.project.note_missing(name)
        return found

    def _bound(self, info: ModuleInfo, name: str) -> Resolved | None:
        """What the bindings of the module itself say; what is not there to be imported comes last."""
        fallback = None
        for binding in _by_preference(info.bindings.get(name, [])):
            found = self.binding(info, name, binding)
            if found is None:
                continue
            if found.kind != "external" or self.project.layout.is_opaque(found.dotted):
                return found
            fallback = fallback or found
        return fallback

    def binding(self, info: ModuleInfo, name: str, binding: Binding) -> Resolved | None:
        if binding.kind == "import":
            return self.imported(info, binding)
        # In a class body the alias is looked up in the class first, which is the interpreter's affair.
        if binding.alias and "." not in name:
            found = self._alias(info, binding.alias)
            if found is not None and found.kind != "assign":
                return found
        kinds = {"def": "function", "class": "class"}
        kind = kinds.get(binding.kind, "assign")
        return Resolved(kind, info, binding.target or name, binding, f"{info.name}.{binding.target or name}")

    def _alias(self, info: ModuleInfo, alias: str) -> Resolved | None:
        head, *rest = alias.split(".")
        found = self.name(info, head)
        for attribute in rest:
            found = self.attribute(info, found, attribute) if found is not None else None
        return found

    def imported(self, info: ModuleInfo, binding: Binding) -> Resolved | None:
        if not binding.target:
            return None
        module = self.project.find(binding.target, info)
        if not binding.attr:
            return _module(module) if module else _external(binding.target)
        if module is not None:
            return self.member(module, binding.attr)
        # A namespace package has no file of its own, but its modules do.
        submodule = self.project.find(f"{binding.target}.{binding.attr}", info)
        return _module(submodule) if submodule else _external(f"{binding.target}.{binding.attr}")

    def lazy(self, info: ModuleInfo, name: str) -> Resolved | None:
        place = info.lazy.get(name)
        if place is None:
            module = self.project.exporter(info, name) if info.lazy_folder else None
            return self.name(module, name) if module else None
        target, _, attribute = place.partition(":")
        target = target.lstrip(".")
        module = self.project.find(f"{info.name}.{target}", info) or self.project.find(target, info)
        return self.member(module, attribute or name) if module else None

    def star(self, info: ModuleInfo, name: str) -> Resolved | None:
        outside = None
        for binding in _by_preference(info.bindings.get("*", [])):
            if info.lazy_folder and binding.guard == "typing":
                continue  # what the package exports at run time is known, and these stars are many
            module = self.project.find(binding.target, info) if binding.target else None
            if module is None:
                outside = outside or binding.target
            elif name in module.exports if module.exports is not None else not name.startswith("_"):
                found = self.name(module, name)
                if found is not None:
                    return found
        if not outside or name.startswith("_") or hasattr(builtins, name):
            return None
        return _external(f"{outside}.{name}")

    def class_member(self, info: ModuleInfo, qualname: str, name: str) -> Resolved | None:
        """An attribute of a class, looked up in the class and then in its bases, depth first."""
        key = f"{info.path}:{qualname}", name
        described = info.classes.get(qualname)
        if described is None or key in self.seen:
            return None
        self.seen.add(key)
        dotted = f"{info.name}.{qualname}.{name}"
        if name in described.methods:
            return Resolved("function", info, f"{qualname}.{name}", None, dotted)
        for binding in _by_preference(described.bindings.get(name, [])):
            found = self.binding(info, f"{qualname}.{name}", binding)
            if found is not None:
                return found
        for base in described.bases:
            parent = self.project.resolve(info, base)
            if parent is not None and parent.kind == "class" and parent.info is not None:
                found = self.class_member(parent.info, parent.qualname, name)
                if found is not None:
                    return found
        return None


def _digest_of(text: str) -> str:
    return content_digest(text.encode("utf-8", "surrogatepass"))[:16]


def _lines_with(text: str, name: str) -> Iterator[str]:
    word = re.compile(rf"\b{re.escape(name)}\b")
    at = text.find(name)
    while at >= 0:
        start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
        line = text[start:end] if end >= 0 else text[start:]
        if word.search(line):
            yield line
        at = text.find(name, end) if end >= 0 else -1


def _exports_below(folder: str) -> dict[str, str]:
    """Name → path of the module that exports it, for all modules below a folder."""
    exports: dict[str, str] = {}
    for parent, folders, files in os.walk(folder):
        folders.sort()
        for file in sorted(files):
            if file.endswith(".py") and not file.startswith(("__init__", "convert_", "modular_")):
                path = os.path.join(parent, file)
                with suppress(SourceError):
                    for name in exported_names(read_bytes(path)):
                        exports.setdefault(name, path)
    return exports


def _by_preference(bindings: list[Binding]) -> list[Binding]:
    if len(bindings) < 2:
        return bindings
    """Likeliest first, and of equally likely ones the last."""
    return sorted(bindings, key=lambda binding: -guard_rank(binding.guard))[::-1]


def _is_package(info: ModuleInfo) -> bool:
    return os.path.basename(info.path) == "__init__.py"


def _module(info: ModuleInfo) -> Resolved:
    return Resolved("module", info, "", None, info.name)


def _external(dotted: str) -> Resolved:
    return Resolved("external", None, "", None, dotted)
