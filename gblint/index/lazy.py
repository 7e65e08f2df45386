"""Tables by which packages import their names on first use."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gblint.index.walk import dotted, literal, walk

_STRUCTURE = "_import_structure"
_DEFINER = "define_import_structure"
_Assignment = ast.Assign | ast.AnnAssign | ast.AugAssign
_ALL = re.compile(rb"\n__all__\s*\+?=\s*[\[(]([^\])]*)")
_STRING = re.compile(rb"""["'](\w+)["']""")
_REQUIRED = re.compile(rb"\n@requires\b[^@]*?\n(?:class|def) (\w+)")


def lazy_names(body: list[ast.stmt]) -> dict[str, str]:
    """Public name → "submodule", or "submodule:attribute" where the two names differ.

    Understood: `_import_structure` (submodule → names) however it is filled at module level, tables used by a
    module `__getattr__` (name → module or (module, attribute)), and `lazy_loader.attach(…, submod_attrs=…)`.
    """
    found: dict[str, str] = {}
    has_getattr = any(isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in body)
    for node in _simple(body):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            _assigned(node, has_getattr, found)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            _called(node.value, found)
    return found


def lazy_folder(body: list[ast.stmt]) -> str:
    """Folder whose modules a `define_import_structure(…)` package exports: "." for its own, "" for none.

    transformers.utils.import_utils builds the names of such a package from the `__all__` of the modules below.
    """
    for node in walk(list(_simple(body))):
        if isinstance(node, ast.Call) and node.args and (dotted(node.func) or "").endswith(_DEFINER):
            constants = (part for part in walk([node.args[0]]) if isinstance(part, ast.Constant))
            return ".".join(part.value for part in constants if isinstance(part.value, str)) or "."
    return ""


def exported_names(data: bytes) -> list[str]:
    """Names a module gives to a `define_import_structure` package, read off its bytes without parsing it.

    These are the strings of `__all__` and the definitions under `@requires(…)`. Thousands of files are looked at.
    """
    names: list[bytes] = _REQUIRED.findall(data) if b"@requires" in data else []
    for listed in _ALL.findall(data):
        names.extend(_STRING.findall(listed))
    return [name.decode("ascii") for name in names]


def _simple(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Simple statements at module level, those in if, try and with blocks included."""
    for node in body:
        if isinstance(node, ast.If | ast.Try | ast.With):
            for block in ("body", "orelse", "finalbody"):
                yield from _simple(getattr(node, block, []))
        else:
            yield node


def _assigned(node: _Assignment, has_getattr: bool, found: dict[str, str]) -> None:
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    if isinstance(node.value, ast.Call):
        _attached(node.value, found)
    elif isinstance(target, ast.Subscript) and dotted(target.value) == _STRUCTURE:
        _structure({literal(target.slice): literal(node.value)}, found)
    elif isinstance(target, ast.Name) and isinstance(node.value, ast.Dict):
        if target.id == _STRUCTURE:
            _structure(_entries(node.value), found)
        elif has_getattr or "lazy" in target.id.lower():
            _table(_entries(node.value), found)


def _called(call: ast.Call, found: dict[str, str]) -> None:
    function = call.func
    if not isinstance(function, ast.Attribute) or not call.args:
        return
    owner, argument = function.value, call.args[0]
    if function.attr == "update" and dotted(owner) == _STRUCTURE and isinstance(argument, ast.Dict):
        _structure(_entries(argument), found)
    elif function.attr in ("extend", "append") and isinstance(owner, ast.Subscript):
        if dotted(owner.value) == _STRUCTURE:
            value = literal(argument)
            _structure({literal(owner.slice): [value] if isinstance(value, str) else value}, found)


def _attached(call: ast.Call, found: dict[str, str]) -> None:
    if (dotted(call.func) or "").rpartition(".")[2] != "attach":
        return
    for keyword in call.keywords:
        if keyword.arg == "submod_attrs" and isinstance(keyword.value, ast.Dict):
            _structure(_entries(keyword.value), found)


def _entries(node: ast.Dict) -> dict[object, object]:
    """The literal entries of a dict display; what is computed is left out."""
    keys = (literal(key) if isinstance(key, ast.Constant) else None for key in node.keys)
    return {key: literal(value) for key, value in zip(keys, node.values, strict=True) if key is not None}


def _structure(table: dict[object, object], found: dict[str, str]) -> None:
    for submodule, names in table.items():
        if isinstance(submodule, str) and isinstance(names, list | tuple | set):
            found.update((name, submodule) for name in names if isinstance(name, str))


def _table(table: dict[object, object], found: dict[str, str]) -> None:
    for name, value in table.items():
        if not isinstance(name, str):
            continue
        if isinstance(value, str):
            found[name] = value
        elif isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
            if len(value) == 2 and "." in value[0]:
                found[name] = value[0] if value[1] == name else ":".join(value)
            else:
                found.update((part, name) for part in value)
