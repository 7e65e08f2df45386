"""From the text of one file to its index, by `ast` alone."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Iterator

from gblint.collector import collector_off
from gblint.index.compiling import torch_use
from gblint.index.imports import imported, mentioned
from gblint.index.lazy import lazy_folder, lazy_names
from gblint.index.model import Binding, ClassInfo, FunctionInfo, ModuleInfo, empty_index, guard_rank
from gblint.index.suppressions import find_suppressions
from gblint.index.walk import called_names, dotted, literal, statements, walk, walk_scope

_NEWLINE = re.compile(r"\r\n|\r|\n")
# What a file must contain before it is worth a search for compile sites or settings (`re.compile` is neither).
_COMPILE = re.compile(r"compile\b(?<!\bre\.compile)")
_COMPILE_ALIAS = re.compile(r"compile[ \t]+as[ \t]+(\w+)")
_COMPILE_ASSIGNED = re.compile(r"(\w+)[ \t]*=[^=\n]*\bcompile\b")
_SETTING = re.compile(r"torch\.[\w.]+[ \t]*[|&]?=[^=]")
_CONFIG = re.compile(r"torch\.[\w.]*config\b")
_CONFIG_IMPORT = re.compile(r"from torch\b.*\bconfig\b")
_NESTED = re.compile(r"^[ \t]+(?:from|import)[ \t]+torch\b", re.MULTILINE)
_LAZY_HINTS = ("_import_structure", "__getattr__", "lazy", "LAZY", "Lazy")
_MAIN = re.compile(r"""__name__\s*==\s*['"]__main__['"]""")
# What the syntax of each Python looks like, by line.
_NEWER = (
    ((3, 11), re.compile(r"^\s*except\s*\*|\[\s*\*")),
    ((3, 12), re.compile(r"^\s*(?:type\s+\w+\s*[\[=]|(?:async\s+)?(?:def|class)\s+\w+\s*\[)")),
    ((3, 13), re.compile(r"^\s*(?:async\s+)?(?:def|class|type)\s+\w+\s*\[[^\]]*=")),
    ((3, 14), re.compile(r"^\s*except\*?\s+[\w.]+\s*,|(?<!['\"\w])[tT][rR]?['\"]")),
)


def build_index(text: str, path: str, name: str, package: str, digest: str) -> ModuleInfo:
    """Index one file.

    text: decoded source; name, package: dotted names of the module and of the package its relative imports
    start from ("" for none); digest: content hash, stored as it is. Never raises for bad source: `error` says
    what is wrong, and the rest of the index is empty.
    """
    info = empty_index(name, package, path, digest)
    info.rows = text.count("\n") + 1
    try:
        tree = parse(text)
        _Builder(text, info).build(tree)
    except SyntaxError as error:
        return _failed(info, f"{error.msg}{_newer_syntax(error, text)}", error.lineno or 1, error.offset or 1)
    except RecursionError:
        return _failed(info, "nested too deeply to be parsed")
    except MemoryError:
        return _failed(info, "too complex to be parsed")
    except ValueError as error:
        return _failed(info, str(error))
    return info


def parse(text: str) -> ast.Module:
    """`ast.parse` without warnings, and without the cyclic collector, which would take five times as long."""
    with collector_off(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _newer_syntax(error: SyntaxError, text: str) -> str:
    """What to add to a syntax error on a line that looks like the syntax of a newer Python than the running one: `ast`
    knows the grammar of that one alone. (The file is given to no other parser: it may be nested without end.)"""
    lines = text.split("\n")
    line = lines[error.lineno - 1] if error.lineno and error.lineno <= len(lines) else ""
    running = sys.version_info[:2]
    newer = any(release > running and pattern.search(line) for release, pattern in _NEWER)
    if not newer and not (running < (3, 12) and error.msg.startswith("f-string")):
        return ""
    return f" (gblint runs under Python {running[0]}.{running[1]}; a newer one may read this)"


def _failed(info: ModuleInfo, message: str, row: int = 1, column: int = 1) -> ModuleInfo:
    failed = empty_index(info.name, info.package, info.path, info.digest)
    failed.rows = info.rows
    failed.error, failed.error_kind = message, "invalid-syntax"
    failed.error_row, failed.error_column = row, column
    return failed


class _Builder:
    def __init__(self, text: str, info: ModuleInfo) -> None:
        self.text = text
        self.info = info
        self.lines = text.split("\n") if "\r" not in text else _NEWLINE.split(text)
        self.may_yield = "yield" in text
        self.may_walrus = ":=" in text
        self.imports: dict[str, str] = {}
        self.guards: dict[int, str] = {}  # of guarded methods, by index into the functions
        self.nodes: list[ast.FunctionDef | ast.AsyncFunctionDef] = []  # of the listed functions
        self.class_guards: dict[str, str] = {}

    def build(self, tree: ast.Module) -> None:
        info = self.info
        info.rows = len(self.lines) - (self.lines[-1] == "")
        self._block(tree.body, "", None, info.bindings)
        info.defined.statements = [(_start(node), node.end_lineno or node.lineno, _kind(node)) for node in tree.body]
        imports = (b for found in info.bindings.values() for b in found if b.kind == "import")
        info.imports = sorted({(b.target, b.attr, not b.guard) for b in imports})
        info.derived = [name for name, described in info.classes.items() if described.bases]
        info.is_script = bool(_MAIN.search(self.text)) or _acts(tree.body)
        info.nested_imports = mentioned(self.text, info.package)
        info.given = tuple(given for node in tree.body for given in _given(node))
        self._text_dependent(tree)

    def _text_dependent(self, tree: ast.Module) -> None:
        """Passes that only few files need: the text says which."""
        info, text = self.info, self.text
        if "global " in text:
            declared = (node.names for node in statements(tree.body) if isinstance(node, ast.Global))
            info.globals_written = tuple(sorted({name for names in declared for name in names}))
        if "__all__" in text:
            info.defined.exports = _exports(tree.body)
        if any(hint in text for hint in _LAZY_HINTS):
            info.lazy = lazy_names(tree.body)
            info.lazy_folder = lazy_folder(tree.body)
        if "gblint:" in text or "noqa" in text or "NOQA" in text:
            info.suppressions = find_suppressions(self.lines[: info.rows], tree)
        if "torch" in text:
            info.imports_torch = self._imports_torch()
            if info.imports_torch:
                self._torch_use(tree)

    def _imports_torch(self) -> bool:
        """Whether torch is imported anywhere, functions included."""
        targets = (*self.imports.values(), *self.info.stars)
        if any((target + ".").startswith("torch.") for target in targets):
            return True
        return ("import torch" in self.text or "from torch" in self.text) and bool(_NESTED.search(self.text))

    def _torch_use(self, tree: ast.Module) -> None:
        info, text = self.info, self.text
        compiles = "compile" in text and bool(_COMPILE.search(text))
        if _sets_torch(text):
            closed: set[ast.AST] = set()
        elif compiles:
            names = {"compile", *_COMPILE_ALIAS.findall(text), *_COMPILE_ASSIGNED.findall(text)}
            closed = {node for node in self.nodes if names.isdisjoint(called_names(node.body))}
        else:
            return
        info.compile_sites, info.torch_settings = torch_use(tree, closed, info)
        top_level = (site for site in info.compile_sites if not site.function)
        info.is_script = info.is_script or any(site.kind != "decorator" for site in top_level)

    def _block(
        self, body: list[ast.stmt], guard: str, owner: ClassInfo | None, bindings: dict[str, list[Binding]]
    ) -> None:
        """Record what the statements of a module or class body bind, nested blocks included."""
        for node in body:
            cls = node.__class__
            if cls is ast.FunctionDef or cls is ast.AsyncFunctionDef:
                self._function(node, guard, owner, bindings)  # type: ignore[arg-type]
            elif cls is ast.ClassDef:
                self._class(node, guard, owner, bindings)  # type: ignore[arg-type]
            elif cls is ast.Import or cls is ast.ImportFrom:
                self._import(node, guard, bindings)  # type: ignore[arg-type]
            elif cls is ast.If:
                self._if(node, guard, owner, bindings)  # type: ignore[arg-type]
            else:
                self._other(node, guard, owner, bindings)

    def _if(self, node: ast.If, guard: str, owner: ClassInfo | None, bindings: dict[str, list[Binding]]) -> None:
        # A long elif chain is deeply nested in the tree, hence the loop.
        while True:
            typing, negated = _typing_test(node.test)
            inside, outside = ("typing", "") if typing else ("then", "else")
            if negated:
                inside, outside = outside, inside
            self._block(node.body, _both(guard, inside), owner, bindings)
            guard = _both(guard, outside)
            if len(node.orelse) != 1 or not isinstance(node.orelse[0], ast.If):
                break
            self._walrus(node, guard, bindings)
            node = node.orelse[0]
        self._block(node.orelse, guard, owner, bindings)
        self._walrus(node, guard, bindings)

    def _other(self, node: ast.stmt, guard: str, owner: ClassInfo | None, bindings: dict[str, list[Binding]]) -> None:
        """Assignments, loops, with, try, match, del: anything that is no definition, import or if."""
        alias = _alias(node)
        for target, kind in _targets(node):
            span = node.lineno, node.end_lineno or node.lineno
            self._bind(bindings, target, Binding(kind, *span, guard, alias=alias))
        if owner is not None and isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            owner.annotations[node.target.id] = (self._segment(node.annotation), node.value is not None)
        self._walrus(node, guard, bindings)
        for block, inner in _blocks(node):
            # Under TYPE_CHECKING the handler of a failed import is as good as never the right one.
            if not (guard == "typing" and inner == "except"):
                self._block(block, _both(guard, inner), owner, bindings)

    def _walrus(self, node: ast.stmt, guard: str, bindings: dict[str, list[Binding]]) -> None:
        if not self.may_walrus:
            return
        expressions = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        for child in walk_scope(expressions):
            if isinstance(child, ast.NamedExpr):
                span = node.lineno, node.end_lineno or node.lineno
                self._bind(bindings, child.target.id, Binding("other", *span, guard))

    def _bind(self, bindings: dict[str, list[Binding]], name: str, binding: Binding) -> None:
        known = bindings.get(name)
        if known is None:
            bindings[name] = [binding]
        else:
            known.append(binding)

    def _import(self, node: ast.Import | ast.ImportFrom, guard: str, bindings: dict[str, list[Binding]]) -> None:
        for name in imported(node, self.info.package):
            if name.attr == "*":
                self.info.stars.append(name.target)
            else:
                self.imports[name.name] = name.dotted
            span = node.lineno, node.end_lineno or node.lineno
            self._bind(bindings, name.name, Binding("import", *span, guard, name.target, name.attr))

    def _function(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef,
        guard: str,
        owner: ClassInfo | None,
        bindings: dict[str, list[Binding]],
    ) -> None:
        self.nodes.append(node)
        start, end = _start(node), node.end_lineno or node.lineno
        qualname = f"{owner.qualname}.{node.name}" if owner else node.name
        function = FunctionInfo(
            qualname,
            start,
            end,
            owner.qualname if owner else "",
            tuple([self._segment(decorator) for decorator in node.decorator_list]),
            isinstance(node, ast.AsyncFunctionDef),
            self.may_yield and self._yields(node),
        )
        self.info.functions.append(function)
        if owner is None:
            self._bind(bindings, node.name, Binding("def", start, end, guard, qualname))
        else:
            self._method(owner, node.name, guard)

    def _yields(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        if not any("yield" in line for line in self.lines[node.lineno - 1 : node.end_lineno]):
            return False
        return any(isinstance(inner, ast.Yield | ast.YieldFrom) for inner in walk_scope(node.body))

    def _method(self, owner: ClassInfo, name: str, guard: str) -> None:
        """Let the last definition win, save that a setter or deleter never hides its getter."""
        functions = self.info.functions
        known = owner.methods.get(name)
        if known is not None:
            if functions[-1].decorators and functions[-1].decorators[-1].endswith((".setter", ".deleter")):
                return
            if guard_rank(guard) > guard_rank(self.guards.get(known, "")):
                return
        owner.methods[name] = len(functions) - 1
        if guard:
            self.guards[len(functions) - 1] = guard

    def _class(
        self, node: ast.ClassDef, guard: str, owner: ClassInfo | None, bindings: dict[str, list[Binding]]
    ) -> None:
        start, end = _start(node), node.end_lineno or node.lineno
        qualname = f"{owner.qualname}.{node.name}" if owner else node.name
        segment = self._segment
        described = ClassInfo(
            qualname,
            start,
            end,
            tuple([segment(base) for base in node.bases]),
            tuple([(keyword.arg or "**", segment(keyword.value)) for keyword in node.keywords]),
            tuple([segment(decorator) for decorator in node.decorator_list]),
            {},
            {},
            {},
        )
        self._bind(bindings, node.name, Binding("class", start, end, guard, qualname))
        self._block(node.body, "", described, described.bindings)
        known = self.info.classes.get(qualname)
        if known is None or guard_rank(guard) <= guard_rank(self.class_guards.get(qualname, "")):
            self.info.classes[qualname] = described
            self.class_guards[qualname] = guard

    def _segment(self, node: ast.expr) -> str:
        """Source text of an expression, as written."""
        if node.__class__ is ast.Name:
            return node.id
        text = dotted(node)
        if text is not None:
            return text
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        start, end = node.col_offset, node.end_col_offset or 0
        lines = self.lines[first : last + 1]
        # Columns of the tree count UTF-8 bytes.
        if first == last and lines[0].isascii():
            return lines[0][start:end]
        pieces = [line.encode() for line in lines]
        pieces[-1] = pieces[-1][:end]
        pieces[0] = pieces[0][start:]
        return b"\n".join(pieces).decode()


def _sets_torch(text: str) -> bool:
    """Whether a text may change a setting of torch: a dotted assignment on its own line, or a config module."""
    if "_dynamo" in text or "_inductor" in text or _CONFIG.search(text) or _CONFIG_IMPORT.search(text):
        return True
    found = (match.start() for match in _SETTING.finditer(text))
    return any(not text[text.rfind("\n", 0, start) + 1 : start].strip() for start in found)


def _start(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", None)
    return decorators[0].lineno if decorators else node.lineno


def _kind(node: ast.stmt) -> str:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return "def"
    if isinstance(node, ast.ClassDef):
        return "class"
    return "import" if isinstance(node, ast.Import | ast.ImportFrom) else "code"


def _both(outer: str, inner: str) -> str:
    """The guard of a statement under two nested guards: the less likely one."""
    return outer if guard_rank(outer) > guard_rank(inner) or not inner else inner


def _typing_test(test: ast.expr) -> tuple[bool, bool]:
    """Whether a condition is false at run time because of TYPE_CHECKING, and whether it is negated."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        typing, negated = _typing_test(test.operand)
        return typing, typing and not negated
    if isinstance(test, ast.BoolOp):
        return any(_typing_test(value) == (True, False) for value in test.values), False
    return (dotted(test) or "").rpartition(".")[2] == "TYPE_CHECKING", False


def _blocks(node: ast.stmt) -> Iterator[tuple[list[ast.stmt], str]]:
    """The statement lists inside a compound statement, each with the guard it adds."""
    if isinstance(node, ast.Try) or node.__class__.__name__ == "TryStar":
        yield node.body, "then"  # type: ignore[attr-defined]
        for handler in node.handlers:  # type: ignore[attr-defined]
            yield handler.body, "except"
        yield node.orelse, "then"  # type: ignore[attr-defined]
        yield node.finalbody, ""  # type: ignore[attr-defined]
    elif isinstance(node, ast.With | ast.AsyncWith):
        yield node.body, ""
    elif isinstance(node, ast.For | ast.AsyncFor | ast.While):
        yield node.body, "then"
        yield node.orelse, "then"
    elif isinstance(node, ast.Match):
        for case in node.cases:
            yield case.body, "then"


def _targets(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """(name, binding kind) of every plain name a statement itself binds or deletes."""
    assigned = _assigned(node)
    kind = "assign" if isinstance(node, ast.Assign | ast.AnnAssign) else "other"
    for target in assigned:
        yield from ((name, kind) for name in _names(target))
    if isinstance(node, ast.Match):
        yield from ((name, "other") for case in node.cases for name in _captures(case.pattern))
    elif node.__class__.__name__ == "TypeAlias":
        yield node.name.id, "assign"  # type: ignore[attr-defined]


def _alias(node: ast.stmt) -> str:
    """The dotted name a plain assignment to one name gives a second name, else ""."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return dotted(node.value) or ""
    return ""


def _given(node: ast.stmt) -> list[tuple[str, str]]:
    """The attribute that a plain assignment of a name gives it to, with the name."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Name):
        return []
    return [(text, node.value.id) for t in node.targets if isinstance(t, ast.Attribute) and (text := dotted(t))]


def _assigned(node: ast.stmt) -> list[ast.expr]:
    if isinstance(node, ast.Assign | ast.Delete):
        return node.targets
    if isinstance(node, ast.AnnAssign):
        return [node.target] if node.value is not None else []
    if isinstance(node, ast.AugAssign | ast.For | ast.AsyncFor):
        return [node.target]
    if isinstance(node, ast.With | ast.AsyncWith):
        return [item.optional_vars for item in node.items if item.optional_vars is not None]
    return []


def _names(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        for item in target.elts:
            yield from _names(item)
    elif isinstance(target, ast.Starred):
        yield from _names(target.value)


def _captures(pattern: ast.pattern) -> Iterator[str]:
    for node in walk([pattern]):
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if isinstance(node, ast.pattern) and name:
            yield name


def _acts(body: list[ast.stmt]) -> bool:
    """Whether top-level code does more than define names; what handles a failed import does not count."""
    stack = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.For | ast.AsyncFor | ast.While | ast.Match):
            return True
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await):
            return True
        if isinstance(node, ast.If | ast.Try | ast.With | ast.AsyncWith):
            for block in ("body", "orelse", "finalbody"):
                stack.extend(getattr(node, block, ()))
    return False


def _exports(body: list[ast.stmt]) -> list[str] | None:
    """The literal value of __all__, None if there is none or any part of it is computed."""
    exports: list[str] | None = None
    for node in body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if dotted(target) == "__all__":
                exports = _strings(node.value)
                if exports is None:
                    return None
        elif (added := _added(node)) is not None:
            more = _strings(added)
            if exports is None or more is None:
                return None
            exports = exports + more
    return exports


def _added(node: ast.stmt) -> ast.expr | None:
    """What `__all__ += …`, `__all__.extend(…)` or `__all__.append(…)` adds, as an expression of strings."""
    if isinstance(node, ast.AugAssign) and dotted(node.target) == "__all__":
        return node.value
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and node.value.args:
        method, argument = dotted(node.value.func), node.value.args[0]
        if method == "__all__.extend":
            return argument
        if method == "__all__.append":
            return ast.List([argument], ast.Load())
    return None


def _strings(node: ast.expr | None) -> list[str] | None:
    value = literal(node)
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return list(value)
    return None
