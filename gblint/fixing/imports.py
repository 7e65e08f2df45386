"""Names of other modules in a file: what a name means there, how to write one, and new import statements."""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING

from gblint.findings.finding import Edit
from gblint.source import decode

if TYPE_CHECKING:
    from gblint.fixing.site import Site
    from gblint.index.model import Binding, ModuleInfo


def meaning(module: ModuleInfo, name: str) -> str:
    """The dotted name that an imported name stands for; "" if it is bound in another way, or in several."""
    found = {_target(b) for b in module.bindings.get(name, ()) if b.guard != "typing"}
    return found.pop() if len(found) == 1 else ""


def _target(binding: Binding) -> str:
    if binding.kind != "import" or binding.attr == "*":
        return ""
    return f"{binding.target}.{binding.attr}" if binding.attr else binding.target


def refer(site: Site, dotted: str, outside: bool) -> tuple[str, list[Edit]]:
    """See `Site.refer`."""
    parts = dotted.split(".")
    if not outside and site.imports_here(parts[0]):
        return dotted, []
    for count in range(len(parts), 0, -1):  # the longest part that has a name here gives the shortest text
        base = ".".join(parts[:count])
        for name in _names_of(site, base, outside):
            return ".".join([name, *parts[count:]]), []
    top = parts[0]
    known = site.module.bindings.get(top, ())
    if not all(b.guard == "typing" and (b.target, b.attr) == (top, "") for b in known) or (
        not outside and site.binds(top)
    ):
        from gblint.fixing.site import Refusal

        raise Refusal(f"`{top}` means something else in this file")
    return dotted, [add(site.module, site.lines, top)]


def _names_of(site: Site, dotted: str, outside: bool) -> list[str]:
    """Names of the file that always mean a module or a member of one, shortest first."""
    found = []
    for name, bindings in site.module.bindings.items():
        always = bindings and all(b.guard in ("", "then") for b in bindings)
        if always and meaning(site.module, name) == dotted and (outside or not site.binds(name)):
            found.append(name)
    return sorted(found, key=lambda n: (len(n), n))


def add(module: ModuleInfo, lines: list[str], name: str) -> Edit:
    """An `import name` line among the imports at the top of the file, where isort would have it."""
    row, text = _place(module, lines, name)
    return Edit(module.path, row, 1, row, 1, text)


def _place(module: ModuleInfo, lines: list[str], name: str) -> tuple[int, str]:
    statement = f"import {name}\n"
    top = [(start, end) for start, end, kind in _head(module) if kind == "import"]
    if not top:
        row = first_row(lines)
        blank = "" if row > len(lines) or not lines[row - 1].strip() else "\n"
        return row, f"{statement}{blank}"
    wanted = (_section(name), 0, name.lower())
    before = None
    for start, end in top:
        key = _key("\n".join(lines[start - 1 : end]))
        if key is not None and key < wanted:
            before = (start, end, key)
    if before is None:
        start = top[0][0]
        same = _key("\n".join(lines[start - 1 : top[0][1]]))
        return start, statement if same is not None and same[0] == wanted[0] else statement + "\n"
    _, end, key = before
    if key[0] == wanted[0]:
        return end + 1, statement
    for start, last in top:
        following = _key("\n".join(lines[start - 1 : last]))
        if start > end and following is not None and following[0] == wanted[0]:
            return start, statement
    return end + 1, "\n" + statement  # the first of its section, behind an earlier section


def _head(module: ModuleInfo) -> list[tuple[int, int, str]]:
    """The statements up to the first definition."""
    head = []
    for start, end, kind in module.statements:
        if kind in ("def", "class"):
            break
        head.append((start, end, kind))
    return head


def _key(text: str) -> tuple[int, int, str] | None:
    """Where an import statement belongs: section, plain imports first, name."""
    try:
        (node,) = ast.parse(text.strip()).body
    except (SyntaxError, ValueError):
        return None
    if isinstance(node, ast.Import):
        return (_section(node.names[0].name), 0, node.names[0].name.lower())
    if isinstance(node, ast.ImportFrom):
        if node.level:
            return (4, 1, node.module or "")
        return (_section(node.module or ""), 1, (node.module or "").lower())
    return None


def _section(name: str) -> int:
    top = name.partition(".")[0]
    if top == "__future__":
        return 0
    return 1 if top in sys.stdlib_module_names else 2


def first_row(lines: list[str]) -> int:
    """The row where code of a file may start: behind comments at the top and the docstring."""
    try:
        body = ast.parse("\n".join(lines)).body
    except (SyntaxError, ValueError):
        body = []
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        if isinstance(body[0].value.value, str):
            return (body[0].end_lineno or 0) + 1
    row = 1
    while row <= len(lines) and lines[row - 1].startswith("#"):
        row += 1
    return row


def behind_imports(module: ModuleInfo, lines: list[str], text: str) -> Edit:
    """See `Site.at_module_level`."""
    imports = [end for _, end, kind in _head(module) if kind == "import"]
    if not imports:
        row = first_row(lines)
        return Edit(module.path, row, 1, row, 1, text)
    row = imports[-1] + 1
    return Edit(module.path, row, 1, row, 1, f"\n{text}")


def unused_after(path: str, before: bytes, after: bytes) -> list[Edit]:
    """Edits that take out the import statements of a file (as it was before) of which nothing is used any more after a
    change that removed their last use. An `__init__.py` is left alone: it imports for others."""
    if path.endswith("__init__.py"):
        return []
    old, new = ast.parse(before), ast.parse(after)
    lost = _used(old) - _used(new)
    if not lost or "__all__" in _used(new) | {n.id for n in ast.walk(new) if isinstance(n, ast.Name)}:
        return []
    text = decode(after).text
    lines = decode(before).text.splitlines()
    edits = []
    for node in old.body:
        if (
            not isinstance(node, ast.Import | ast.ImportFrom)
            or node.lineno != node.end_lineno
            or "#" in lines[node.lineno - 1]
        ):
            continue
        names = [alias.asname or alias.name.partition(".")[0] for alias in node.names]
        if len(names) == 1 and names[0] in lost and len(re.findall(rf"(?<!\.)\b{re.escape(names[0])}\b", text)) <= 1:
            end = node.lineno + (2 if _leaves_a_gap(lines[node.lineno - 1], text.split("\n")) else 1)
            edits.append(Edit(path, node.lineno, 1, end, 1, ""))
    return edits


def _leaves_a_gap(statement: str, lines: list[str]) -> bool:
    """Whether blank rows, or the start of the text and a blank row, would meet if a row went."""
    rows = [r for r, line in enumerate(lines) if line.rstrip("\r") == statement]
    if len(rows) != 1 or rows[0] + 1 >= len(lines):
        return False
    (row,) = rows
    return (row == 0 or not lines[row - 1].strip()) and not lines[row + 1].strip()


def _used(tree: ast.Module) -> set[str]:
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
