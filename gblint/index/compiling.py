"""Where a file asks torch to compile something, and which torch settings it changes."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import NamedTuple

from gblint.index.imports import imported
from gblint.index.model import CompileSite, FunctionInfo, ModuleInfo
from gblint.index.walk import dotted, literal, walk

_COMPILERS = frozenset({"torch.compile", "torch._dynamo.optimize"})
_PARTIALS = frozenset({"functools.partial", "functools.partialmethod"})
_CONFIGS = tuple(f"torch.{owner}.config" for owner in ("_dynamo", "_inductor", "_functorch", "compiler"))
# Keywords by which a `compile` method gives away that it is not nn.Module.compile.
_FOREIGN_KEYWORDS = frozenset({"optimizer", "loss", "metrics", "flags", "compile_kwargs"})


class TorchUse(NamedTuple):
    """Compile sites and (dotted setting, source text of the value, row) of one file, in source order."""

    sites: list[CompileSite]
    settings: list[tuple[str, str, int]]


def torch_use(tree: ast.Module, closed: Collection[ast.AST], info: ModuleInfo) -> TorchUse:
    """Find compile sites and torch settings.

    closed: function definitions known to hold neither, which are not searched; info: the index so far.
    """
    finder = _Finder()
    for node in walk(tree.body, closed):
        finder.collect(node)
    finder.finish(info.package)
    sites = [CompileSite(row, kind, _holder(row, info.functions)) for row, kind in sorted(finder.sites())]
    return TorchUse(sites, sorted(finder.settings, key=lambda setting: setting[2]))


def _holder(row: int, functions: list[FunctionInfo]) -> str:
    return next((function.qualname for function in functions if function.start <= row <= function.end), "")


class _Finder:
    def __init__(self) -> None:
        self.imports: dict[str, str] = {}
        self.compilers: set[str] = set()  # names that an assignment makes stand for torch.compile
        self.calls: list[ast.Call] = []
        self.decorators: list[ast.expr] = []
        self.import_nodes: list[ast.Import | ast.ImportFrom] = []
        self.assignments: list[tuple[list[ast.expr], ast.expr]] = []
        self.settings: list[tuple[str, str, int]] = []

    def collect(self, node: ast.AST) -> None:
        if isinstance(node, ast.Call):
            self.calls.append(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self.decorators.extend(node.decorator_list)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            self.import_nodes.append(node)
        elif isinstance(node, ast.Assign):
            self.assignments.append((node.targets, node.value))
        elif isinstance(node, ast.AugAssign | ast.AnnAssign) and node.value is not None:
            self.assignments.append(([node.target], node.value))

    def finish(self, package: str) -> None:
        """Once all imports are known, wherever they stand, read assignments and calls."""
        for node in sorted(self.import_nodes, key=lambda node: -node.col_offset):
            self.imports.update((name.name, name.dotted) for name in imported(node, package))
        for targets, value in self.assignments:
            self._assign(targets, value)
        for call in self.calls:
            self._setting_call(call)

    def sites(self) -> Iterator[tuple[int, str]]:
        decorating = {id(node): node for node in self.decorators}
        for node in self.decorators:
            inner = node.func if isinstance(node, ast.Call) else node
            if self._is_compiler(inner) or self._is_partial(node):
                yield node.lineno, "decorator"
        for call in self.calls:
            if id(call) in decorating:
                continue
            if self._is_compiler(call.func):
                yield call.lineno, "call"
            elif self._is_partial(call):
                yield call.lineno, "partial"
            elif self._is_method(call):
                yield call.lineno, "method"

    def _expand(self, node: ast.AST) -> str:
        text = dotted(node)
        if text is None:
            return ""
        head, _, rest = text.partition(".")
        target = self.imports.get(head, head)
        return f"{target}.{rest}" if rest else target

    def _is_compiler(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Name) and node.id in self.compilers:
            return True
        return self._expand(node) in _COMPILERS

    def _is_partial(self, node: ast.AST) -> bool:
        if not isinstance(node, ast.Call) or self._expand(node.func) not in _PARTIALS:
            return False
        return bool(node.args) and self._is_compiler(node.args[0])

    def _is_method(self, call: ast.Call) -> bool:
        """x.compile(…) where nothing says that x is a pattern, a module of Python or a Keras model."""
        function = call.func
        if not isinstance(function, ast.Attribute) or function.attr != "compile":
            return False
        if isinstance(function.value, ast.Name) and function.value.id in self.imports:
            return False
        if any(keyword.arg in _FOREIGN_KEYWORDS for keyword in call.keywords):
            return False
        return not (call.args and isinstance(call.args[0], ast.Constant | ast.JoinedStr))

    def _assign(self, targets: list[ast.expr], value: ast.expr) -> None:
        compiles = self._is_compiler(value) or self._is_partial(value)
        for target in targets:
            if compiles and isinstance(target, ast.Name):
                self.compilers.add(target.id)
            elif isinstance(target, ast.Attribute):
                self._setting(self._expand(target), value, target.lineno)

    def _setting(self, name: str, value: ast.expr, row: int) -> None:
        if not name.startswith("torch."):
            return
        values = value.elts if isinstance(value, ast.Set | ast.List | ast.Tuple) else [value]
        self.settings.extend((name, ast.unparse(item), row) for item in values)

    def _setting_call(self, call: ast.Call) -> None:
        """config.patch(…), setattr(config, …), and add / update of the sets a config holds."""
        name = self._expand(call.func)
        owner, _, method = name.rpartition(".")
        if name == "setattr" and len(call.args) == 3:
            config = self._expand(call.args[0])
            if config in _CONFIGS:
                self._named_setting(config, call.args[1], call.args[2])
        elif owner in _CONFIGS and method == "patch":
            self._patch(owner, call)
        elif owner.startswith(_CONFIGS) and method in ("add", "update") and call.args:
            self._setting(owner, call.args[0], call.lineno)

    def _patch(self, config: str, call: ast.Call) -> None:
        for keyword in call.keywords:
            if keyword.arg:
                self._setting(f"{config}.{keyword.arg}", keyword.value, call.lineno)
        first = call.args[0] if call.args else None
        if isinstance(first, ast.Dict):
            for key, value in zip(first.keys, first.values, strict=True):
                self._named_setting(config, key, value)
        elif len(call.args) == 2:
            self._named_setting(config, first, call.args[1])

    def _named_setting(self, config: str, name: ast.expr | None, value: ast.expr) -> None:
        attribute = literal(name)
        if isinstance(attribute, str):
            self._setting(f"{config}.{attribute}", value, value.lineno)
