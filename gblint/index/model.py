"""What the index knows of one source file: names and spans, never values.

Everything here is plain data (msgspec structs) so that it can be cached by content hash and loaded fast.
Rows are 1-based; spans are inclusive and include decorators.
"""

from __future__ import annotations

import msgspec


class Binding(msgspec.Struct, array_like=True, gc=False):
    """One way a module- or class-level name gets its value.

    kind: "import", "def", "class", "assign" or "other" (for-target, with-target, del, augmented assignment).
    start, end: rows of the binding statement (decorators included).
    guard: where the statement stands: "" (always), "then" (body of an `if` or `try`), "else" (else branch),
        "except" (an except handler), "typing" (under TYPE_CHECKING: never runs).
    target: for "import" the absolute dotted module ("" if a relative import climbs out of the package);
        for "def" and "class" the qualified name inside the module.
    attr: for `from target import attr`, the imported name ("*" for a star import); else "".
    alias: for "assign" the dotted name that is assigned to this one name alone (`Old = New`); else "".
    """

    kind: str
    start: int
    end: int
    guard: str = ""
    target: str = ""
    attr: str = ""
    alias: str = ""


class FunctionInfo(msgspec.Struct, array_like=True, gc=False):
    """A `def` that stands at module level or directly in a (possibly nested) class body.

    Functions nested in functions are not listed: the interpreter meets them in their parent's tree.
    qualname: "f" or "Class.method"; a redefinition gets its own entry (the list keeps source order).
    decorators: source text of each decorator expression, outermost first.
    """

    qualname: str
    start: int
    end: int
    owner: str = ""  # qualified name of the class it stands in, "" at module level
    decorators: tuple[str, ...] = ()
    is_async: bool = False
    is_generator: bool = False


class ClassInfo(msgspec.Struct, array_like=True, gc=False):
    """A class at module level or nested in another class.

    bases: source text of positional bases; keywords: (name, source text) such as metaclass.
    methods: name → index into ModuleInfo.functions of the definition that wins (last, preferring guard "" / "then").
    bindings: class-level names other than methods, source order kept per name.
    annotations: class-level annotated names → (annotation text, has default), in source order (dataclass fields).
    """

    qualname: str
    start: int
    end: int
    bases: tuple[str, ...] = ()
    keywords: tuple[tuple[str, str], ...] = ()
    decorators: tuple[str, ...] = ()
    methods: dict[str, int] = {}
    bindings: dict[str, list[Binding]] = {}
    annotations: dict[str, tuple[str, bool]] = {}


class CompileSite(msgspec.Struct, array_like=True, gc=False):
    """A place where the source asks torch to compile something.

    kind: "call" (torch.compile(...), also through an alias), "method" (x.compile(...) in a file that imports torch,
        or a file where the receiver is plausibly a module; not re.compile), "decorator", "partial".
    function: qualname of the listed function whose body (or decorator list) holds it, "" at module level.
    """

    row: int
    kind: str
    function: str = ""


class Suppression(msgspec.Struct, array_like=True, gc=False):
    """A comment that silences findings.

    codes: what it names (codes, prefixes or slugs, upper/lower as written); empty means everything.
    rows: the rows it covers ((row, row) for a line comment, a whole multi-line statement when the comment ends it,
        (1, last row) for a file-level one).
    form: "noqa", "ignore" (gblint: ignore[...]), "file-noqa" (gblint: noqa or gblint: skip-file style).
    """

    row: int
    codes: tuple[str, ...]
    first: int
    last: int
    form: str


class Definitions(msgspec.Struct, array_like=True):
    """What a file defines, by name.

    statements: spans of all top-level statements, in order: (start, end, kind) with kind "def", "class", "import",
        "code"; used when the module itself is executed (a script).
    exports: literal __all__ if there is one, else None.
    """

    bindings: dict[str, list[Binding]]
    functions: list[FunctionInfo]
    classes: dict[str, ClassInfo]
    statements: list[tuple[int, int, str]]
    exports: list[str] | None = None


class ModuleInfo(msgspec.Struct, array_like=True):
    """The index of one file.

    name: dotted module name; package: dotted package that relative imports start from.
    definitions: packed as long as nobody has asked for them, which for most files nobody does.
    imports: what import statements at module level bind names to, without double ones: (module, attribute, whether
        it is imported in any case). derived: the classes that have bases.
    is_script: it has top-level code that does more than define names (calls, loops, `if __name__ == "__main__"`).
    torch_settings: torch attributes and config entries set anywhere, as (dotted name, source text, row):
        ("torch._dynamo.config.capture_scalar_outputs", "True", 7); of a set one entry for each element.
    error: syntax error message with row, when it could not be parsed ("" if fine).
    lazy: public name → submodule for packages that import lazily (`_import_structure` dicts, `__getattr__` tables,
        `define_import_structure(...)` packages leave it empty and the resolver looks into submodules).
    """

    name: str
    package: str
    path: str
    digest: str
    rows: int
    definitions: Definitions | bytes
    stars: list[str]
    compile_sites: list[CompileSite]
    suppressions: list[Suppression]
    torch_settings: list[tuple[str, str, int]]
    is_script: bool = False
    imports_torch: bool = False
    error: str = ""
    error_row: int = 0
    lazy: dict[str, str] = {}
    error_column: int = 0  # 1-based, 0 if unknown
    error_kind: str = ""  # a Diagnostic kind: "invalid-syntax", "unreadable", "bad-encoding", "too-large"
    globals_written: tuple[str, ...] = ()  # names that functions rebind through `global`
    # top-level names given to attributes of others, as (dotted attribute, name): `logging.Logger.once = once`
    given: tuple[tuple[str, str], ...] = ()
    # folder, dotted and relative to the file's own ("." for that one), whose modules a lazy package exports by their
    # `__all__` (`define_import_structure`)
    lazy_folder: str = ""
    # dotted names that may be modules, from imports in functions and from `import a.b`
    nested_imports: tuple[str, ...] = ()
    imports: list[tuple[str, str, bool]] = []
    derived: list[str] = []

    @property
    def defined(self) -> Definitions:
        """What the file defines."""
        if isinstance(self.definitions, bytes):
            self.definitions = _UNPACK.decode(self.definitions)
        return self.definitions

    @property
    def bindings(self) -> dict[str, list[Binding]]:
        return self.defined.bindings

    @property
    def functions(self) -> list[FunctionInfo]:
        return self.defined.functions

    @property
    def classes(self) -> dict[str, ClassInfo]:
        return self.defined.classes

    @property
    def statements(self) -> list[tuple[int, int, str]]:
        return self.defined.statements

    @property
    def exports(self) -> list[str] | None:
        return self.defined.exports


_UNPACK = msgspec.msgpack.Decoder(Definitions)
_PACK = msgspec.msgpack.Encoder()


def packed(info: ModuleInfo) -> ModuleInfo:
    """The same index as it is written down: what it defines in one piece."""
    return msgspec.structs.replace(info, definitions=_PACK.encode(info.defined))


_RANKS = {"": 0, "then": 0, "else": 1, "except": 2, "typing": 3}


def guard_rank(guard: str) -> int:
    """How readily a binding under this guard is believed to be the one that counts, 0 first."""
    return _RANKS.get(guard, 1)


def empty_index(name: str, package: str, path: str, digest: str) -> ModuleInfo:
    """An index that knows nothing yet, with containers of its own."""
    return ModuleInfo(name, package, path, digest, 0, Definitions({}, [], {}, []), [], [], [], [])
