"""Repairs of library code as a module of one's own: subclasses that override what breaks, and functions they need.

The library is never edited. Its files are repaired in memory, as `gblint fix` would; what has changed is written out as
a module: changed methods in subclasses of their classes, changed functions with everything on the way to them that has
to call the new one instead, and `compile_ready(model)`, which gives the modules of an existing model the new classes.
"""

from __future__ import annotations

import ast
import builtins
import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from gblint.analysis import Progress
from gblint.checking import Options
from gblint.errors import GblintError
from gblint.fixing.plan import Choice
from gblint.fixing.session import Repaired, repair
from gblint.index.build import build_index
from gblint.index.model import Binding, FunctionInfo, ModuleInfo
from gblint.index.project import Project
from gblint.source import decode

_BUILTINS = frozenset(dir(builtins))
_DEPTH = 20  # of ancestry

HEADER = '''"""Classes of {package} with their graph breaks repaired, for {name}.

Written by `gblint override {name}`. Usage:

    model = compile_ready(model)
    model = torch.compile(model)
"""

from __future__ import annotations

import functools
'''

HELPER = '''

REPAIRED = {{
{pairs}
}}


def compile_ready(model):
    """Give the modules of `model` the repaired classes; returns the model. Weights and hooks stay as they are."""
    for module in model.modules():
        module.__class__ = _repaired(type(module))
    return model


@functools.cache
def _repaired(cls):
    """The class with the repairs of all its ancestors."""
    if any(new in cls.__mro__ for new in REPAIRED.values()):
        return cls
    ancestors = [REPAIRED[base] for base in cls.__mro__ if base in REPAIRED]
    bases = tuple(ancestors) if cls in REPAIRED else (cls, *ancestors)
    return bases[0] if len(bases) == 1 else type(cls.__name__, bases, {{"__module__": cls.__module__}})
'''


_Key = tuple[tuple[str, str], bool]


class Override(msgspec.Struct):
    """What came of it. text: the module, "" if nothing could be repaired; replaced: qualified names of what it
    overrides; skipped: changes it cannot make, each with the reason."""

    text: str
    repaired: Repaired
    replaced: list[str] = []
    skipped: list[str] = []


class _Copy(msgspec.Struct, frozen=True):
    """A function to write out. text: its source, dedented; owner: the class it stands in, "" for none."""

    module: str
    qualname: str
    owner: str
    text: str


def override(module: str, qualname: str, package: Path, options: Options, progress: Progress | None = None) -> Override:
    """Repair what a class's `forward` reaches in its library.

    module, qualname: the class. package: the folder of the library's top-level package. Raises GblintError if there is
    no such class.
    """
    source = _file_of(module, package)
    if qualname not in build_index(decode(source.read_bytes()).text, str(source), module, "", "").classes:
        raise GblintError(f"{module} has no class {qualname}", f"it is read from {source}")
    root = f"{module}:{qualname}.forward"
    options = msgspec.structs.replace(options, paths=(str(package),), roots=("explicit", (root,)))
    choice = Choice(unsafe=True, roots=(f"{module}.{qualname}.forward",), existing=True)
    repaired = repair(options, choice, progress)
    return _Writer(package, f"{module}:{qualname}", repaired).write()


def _file_of(module: str, package: Path) -> Path:
    path = package.parent.joinpath(*module.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    raise GblintError(f"no module {module} in {package.parent}")


class _Writer:
    def __init__(self, package: Path, name: str, repaired: Repaired) -> None:
        self._name = name
        self._repaired = repaired
        self._package = package
        self._project = Project(sorted(package.rglob("*.py")), [package.parent])
        self._copies: dict[tuple[str, str], _Copy] = {}
        self._infos: dict[str, ModuleInfo] = {}  # of the modules copied from, as they are on disk
        self._settings: list[str] = []
        self._added: dict[tuple[str, str], Binding] = {}  # imports that the repairs added
        self._skipped: list[str] = []

    def write(self) -> Override:
        for path, new in self._repaired.new.items():
            self._take_changes(path, decode(self._repaired.old[path]).text, decode(new).text)
        self._take_callers()
        if not any(copy.owner for copy in self._copies.values()):
            return Override("", self._repaired, [], self._skipped)
        replaced = sorted(f"{copy.module}.{copy.qualname}" for copy in self._copies.values())
        return Override(self._text(), self._repaired, replaced, self._skipped)

    # -- what has to be written out --------------------------------------------------------------------------------

    def _take_changes(self, path: str, old: str, new: str) -> None:
        before, after = (build_index(text, path, self._project.info(path).name, "", "") for text in (old, new))
        self._infos[before.name] = self._project.info(path)
        known = {(f.qualname, _text_of(old, f)) for f in before.functions}
        definitions = Counter(f.qualname for f in after.functions)
        for function in after.functions:
            text = _text_of(new, function)
            if (function.qualname, text) in known:
                continue
            if definitions[function.qualname] > 1:
                self._skipped.append(f"{before.name}.{function.qualname}: defined several times")
            else:
                self._copy(before.name, function, text)
        for name in after.bindings:
            bindings = _at_run_time(after, name)
            if bindings and not _at_run_time(before, name) and bindings[0].kind == "import":
                self._added[before.name, name] = bindings[0]
        lines = set(old.splitlines())
        self._settings += [s for s in _statements(new) if s not in lines and s.lstrip().startswith("torch._dynamo.")]

    def _copy(self, module: str, function: FunctionInfo, text: str) -> None:
        if function.owner.count("."):
            self._skipped.append(f"{module}.{function.qualname}: a method of a class inside another")
            return
        if function.owner and not self._is_module_class(self._module(module), function.owner):
            self._skipped.append(f"{module}.{function.qualname}: only nn.Modules can be given another class")
            return
        self._copies[module, function.qualname] = _Copy(module, function.qualname, function.owner, text)

    def _is_module_class(self, info: ModuleInfo, qualname: str, depth: int = 0) -> bool:
        """Whether a class descends from nn.Module, as far as the library's source tells."""
        cls = info.classes.get(qualname)
        for base in cls.bases if cls is not None and depth < _DEPTH else ():
            found = self._project.resolve(info, base.partition("[")[0])
            if found is None:
                continue
            if found.dotted in ("torch.nn.Module", "torch.nn.modules.module.Module"):
                return True
            if found.kind == "external" and found.dotted.startswith("torch.nn."):
                return True
            if found.kind == "class" and found.info is not None:
                if self._is_module_class(found.info, found.qualname, depth + 1):
                    return True
        return False

    def _take_callers(self) -> None:
        """Functions that name a changed function have to be written out too, so that they name the new one."""
        reached = {name for name in self._reached() if name not in self._copies}
        while True:
            targets = {key for key, copy in self._copies.items() if not copy.owner}
            more = [key for key in sorted(reached) if self._mentions(key, targets)]
            if not more:
                return
            for module, qualname in more:
                reached.discard((module, qualname))
                info = self._module(module)
                function = next(f for f in info.functions if f.qualname == qualname)
                self._copy(module, function, _text_of(self._source(info), function))

    def _reached(self) -> Iterator[tuple[str, str]]:
        from gblint.callgraph import merged, unpack

        for name, (path, _) in merged(map(unpack, self._repaired.after.calls)).places.items():
            if path.startswith(str(self._package)):
                info = self._project.info(path)
                qualname = name.removeprefix(f"{info.name}.")
                if any(f.qualname == qualname for f in info.functions):
                    yield info.name, qualname

    def _mentions(self, key: tuple[str, str], targets: set[tuple[str, str]]) -> bool:
        info = self._module(key[0])
        function = next(f for f in info.functions if f.qualname == key[1])
        for name in _free_names(_text_of(self._source(info), function)):
            found = self._project.resolve(info, name)
            if found is not None and found.info is not None and (found.info.name, found.qualname) in targets:
                return True
        return False

    def _module(self, name: str) -> ModuleInfo:
        if name not in self._infos:
            info = self._project.find(name)
            assert info is not None
            self._infos[name] = info
        return self._infos[name]

    def _source(self, info: ModuleInfo) -> str:
        return self._project.lines(info, 1, info.rows + 1)

    def _key_of(self, module: str, name: str) -> _Key:
        """Where a global of a module is imported from (module and name, "" for the module itself), and whether it is
        written out instead."""
        info = self._module(module)
        found = self._project.resolve(info, name)
        if found is not None and found.info is not None and (found.info.name, found.qualname) in self._copies:
            return (found.info.name, found.qualname), True
        if (module, name) in self._copies:
            return (module, name), True
        bindings = _at_run_time(info, name) or [b for b in (self._added.get((module, name)),) if b is not None]
        if len(bindings) == 1 and bindings[0].kind == "import" and not bindings[0].guard and bindings[0].target:
            return (bindings[0].target, bindings[0].attr), False
        return (module, name), False

    # -- the text --------------------------------------------------------------------------------------------------

    def _text(self) -> str:
        names = _Names(self._key_of)
        functions = [c for c in self._copies.values() if not c.owner]
        classes: dict[tuple[str, str], list[_Copy]] = defaultdict(list)
        for copy in self._copies.values():
            if copy.owner:
                classes[copy.module, copy.owner].append(copy)
        for key in classes:
            names.new_class(*key)
            names.original(*key)
        parts = [_function(copy, names) for copy in functions]
        parts += [_class(key, copies, names) for key, copies in classes.items()]
        pairs = "\n".join(f"    {names.original(*key)}: {names.new_class(*key)}," for key in classes)
        if self._settings:
            names.plain("torch")
        settings = ["\n" + "\n".join(dict.fromkeys(self._settings)) + "\n"] if self._settings else []
        header = HEADER.format(package=self._package.name, name=self._name)
        body = "".join(f"\n\n{part}" for part in parts)
        return header + "\n" + names.imports() + "".join(settings) + body + HELPER.format(pairs=pairs)


def _at_run_time(info: ModuleInfo, name: str) -> list[Binding]:
    """What binds a global of a module, imports for type checkers left out."""
    return [b for b in info.bindings.get(name, ()) if b.guard != "typing"]


class _Names:
    """What the names of library modules are called in the one module that is written, and the imports for them."""

    def __init__(self, key_of: Callable[[str, str], _Key]) -> None:
        self._key_of = key_of
        self._taken: dict[str, tuple[str, str]] = {}
        self._known: dict[tuple[str, str], str] = {}
        self._imports: set[tuple[str, str, str]] = set()

    def of(self, module: str, name: str) -> str:
        """The name for a global of a library module; imported unless it is one of the functions written out."""
        key, is_written = self._key_of(module, name)
        if key not in self._known:
            self._known[key] = alias = self._free(name, key)
            if not is_written:
                self._imports.add((*key, alias))
        return self._known[key]

    def original(self, module: str, name: str) -> str:
        """The name for a library's own class, of which there is a subclass with the name it had."""
        key = (module, name)
        if key not in self._known:
            self._known[key] = alias = self._free(f"Library{name}", key)
            self._imports.add((module, name, alias))
        return self._known[key]

    def new_class(self, module: str, name: str) -> str:
        """The name of the subclass of a library's class: its own, which messages and private attributes go by."""
        key = (module, f"new {name}")
        if key not in self._known:
            self._known[key] = self._free(name, key)
        return self._known[key]

    def plain(self, module: str) -> None:
        """Import a module under its own name."""
        self._imports.add((module, "", self._free(module, (module, ""))))

    def _free(self, name: str, key: tuple[str, str]) -> str:
        alias, count = name, 1
        while self._taken.setdefault(alias, key) != key:
            count += 1
            alias = f"{name}_{count}"
        return alias

    def imports(self) -> str:
        """The import lines, by module."""
        lines = []
        by_module: dict[str, list[str]] = defaultdict(list)
        for module, name, alias in sorted(self._imports):
            if not name:
                lines.append(f"import {module}\n" if module == alias else f"import {module} as {alias}\n")
            else:
                by_module[module].append(name if name == alias else f"{name} as {alias}")
        for module, names in sorted(by_module.items()):
            line = f"from {module} import {', '.join(names)}\n"
            if len(line) > 100:
                line = f"from {module} import (\n" + "".join(f"    {name},\n" for name in names) + ")\n"
            lines.append(line)
        return "".join(lines)


def _function(copy: _Copy, names: _Names) -> str:
    return _renamed(copy, names, names.of(copy.module, copy.qualname))


def _class(key: tuple[str, str], copies: list[_Copy], names: _Names) -> str:
    module, name = key
    base = names.original(module, name)
    methods = ", ".join(f"`{c.qualname.rpartition('.')[2]}`" for c in copies)
    lines = [f"class {names.new_class(module, name)}({base}):", f'    """{name} with {methods} repaired."""', ""]
    body = "\n".join(textwrap.indent(_renamed(copy, names, ""), "    ") for copy in copies)
    return "\n".join(lines) + "\n" + body


_DOC_DECORATOR = re.compile(r"docstring", re.IGNORECASE)


def _renamed(copy: _Copy, names: _Names, name: str) -> str:
    """The source of a function with its globals called as the written module calls them.

    `super()` gets its arguments, as it stands in another class now; decorators that only write documentation go.
    """
    tree = ast.parse(copy.text)
    (function,) = tree.body
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    changes: list[tuple[int, int, int, str]] = []  # row, column, end column, text
    free = _free_names(copy.text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in free:
            alias = names.of(copy.module, node.id)
            if alias != node.id:
                changes.append((node.lineno, node.col_offset, node.col_offset + len(node.id.encode()), alias))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            first = function.args.args[0].arg if function.args.args else "self"
            text = f"super({names.original(copy.module, copy.owner)}, {first})"
            changes.append((node.lineno, node.col_offset, node.end_col_offset or 0, text))
    lines = copy.text.splitlines(keepends=True)
    dropped = {
        row
        for d in function.decorator_list
        if _DOC_DECORATOR.search(ast.unparse(d))
        for row in range(d.lineno, (d.end_lineno or d.lineno) + 1)
    }
    if name and name != function.name:
        row = function.lineno
        line = lines[row - 1]
        lines[row - 1] = re.sub(rf"\bdef {re.escape(function.name)}\b", f"def {name}", line, count=1)
    for row, column, end, text in sorted(changes, reverse=True):
        data = lines[row - 1].encode()
        lines[row - 1] = (data[:column] + text.encode() + data[end:]).decode()
    return "".join(line for row, line in enumerate(lines, 1) if row not in dropped)


def _free_names(text: str) -> set[str]:
    """Global names that a function uses, annotations left out (the written module does not evaluate them)."""
    import symtable

    tree = ast.parse(text)
    _drop_annotations(tree)
    for node in ast.walk(tree):  # documentation is not written out
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.decorator_list = [d for d in node.decorator_list if not _DOC_DECORATOR.search(ast.unparse(d))]
    table = symtable.symtable(ast.unparse(tree), "<copy>", "exec")
    own = {name.get_name() for name in table.get_symbols() if name.is_assigned()}
    found = set(_globals(table))
    return {name for name in found if name not in _BUILTINS or name in own} - own - {"__class__"}


def _globals(table: object) -> Iterable[str]:
    for symbol in table.get_symbols():  # type: ignore[attr-defined]
        if symbol.is_referenced() and symbol.is_global():
            yield symbol.get_name()
    for child in table.get_children():  # type: ignore[attr-defined]
        yield from _globals(child)


def _drop_annotations(tree: ast.AST) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)


def _text_of(source: str, function: FunctionInfo) -> str:
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")[function.start - 1 : function.end]
    return textwrap.dedent("\n".join(lines)) + "\n"


def _statements(source: str) -> list[str]:
    """The top-level statements of a file that fit on a line."""
    lines = source.splitlines()
    return [lines[n.lineno - 1] for n in ast.parse(source).body if n.lineno == n.end_lineno]
