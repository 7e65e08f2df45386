"""An import that may fail is made when the module is loaded.

What it does:
    Moves an import with its `except ImportError` from a traced function to the top of the file. Where the `try` does
    more than set names, the import alone moves, the name is None where it failed, and the function asks for that.
Applicability:
    Unsafe: the import happens when the file is loaded, whether or not the function is called, and what runs behind it
    in the `try` no longer has its errors caught.
Preconditions:
    The import is the first statement of a `try` that handles ImportError alone, without `else` and `finally`. The names
    it binds are bound nowhere else in the function or the file.
"""

from __future__ import annotations

import libcst as cst

from gblint.codemod_api import (
    Codemod,
    CodemodMeta,
    Declined,
    Example,
    Repair,
    Site,
    changed_names,
    require,
    walk,
)

ERRORS = frozenset({"ImportError", "ModuleNotFoundError"})
MESSAGE = "import when the module is loaded, not when the function is called"


class HoistImport(Codemod):
    """Moves imports that may fail to module level."""

    meta = CodemodMeta(
        name="hoist-import",
        summary="import at module level",
        fixes=("missing-import",),
        rank=30,
    )
    EXAMPLES = (
        Example(
            """
import torch


@torch.compile
def fused(x):
    try:
        import kernels_that_are_not_here as kernels
    except ImportError:
        kernels = None
    return x * 2 if kernels is None else kernels.run(x)


print("checksum", fused(torch.ones(2)).sum().item())
""",
            """
import torch

try:
    import kernels_that_are_not_here as kernels
except ImportError:
    kernels = None


@torch.compile
def fused(x):
    return x * 2 if kernels is None else kernels.run(x)


print("checksum", fused(torch.ones(2)).sum().item())
""",
            "unsafe",
        ),
        Example(
            """
import functools

import torch
import torch.nn.functional as F


@functools.lru_cache
def fast_attention():
    try:
        from attention_that_is_not_here import attention

        return attention
    except (ImportError, ModuleNotFoundError):
        # torch has one too
        return None


@torch.compile
def attend(q):
    return (fast_attention() or F.scaled_dot_product_attention)(q, q, q)


print("checksum", attend(torch.ones(1, 2, 2)).sum().item())
""",
            """
import functools

import torch
import torch.nn.functional as F

try:
    from attention_that_is_not_here import attention
except ImportError:
    attention = None


@functools.lru_cache
def fast_attention():
    if attention is not None:
        return attention
    else:
        # torch has one too
        return None


@torch.compile
def attend(q):
    return (fast_attention() or F.scaled_dot_product_attention)(q, q, q)


print("checksum", attend(torch.ones(1, 2, 2)).sum().item())
""",
            "unsafe",
        ),
    )
    DECLINES = (
        Declined(
            """
import torch

@torch.compile
def fused(x):
    try:
        import kernels_that_are_not_here as kernels
    except Exception as error:
        return x * len(str(error))
    return kernels.run(x)

fused(torch.ones(2))
""",
            "more than an ImportError",
        ),
        Declined(
            """
import torch

@torch.compile
def fused(x, kernels=None):
    try:
        import kernels_that_are_not_here as kernels
    except ImportError:
        pass
    return x * 2 if kernels is None else kernels.run(x)

fused(torch.ones(2))
""",
            "`kernels` is bound elsewhere too",
        ),
        Declined(
            """
import torch

@torch.compile
def bare(x):
    import kernels_that_are_not_here
    return x * 2

@torch.compile
def second(x):
    try:
        x = x + 1
        import kernels_that_are_not_here
    except ImportError:
        x = x * 2
    return x

@torch.compile
def dotted(x):
    try:
        import kernels_that_are_not_here.fused
    except ImportError:
        x = x * 2
    return x

@torch.compile
def otherwise(x):
    try:
        import kernels_that_are_not_here
    except ImportError:
        x = x * 2
    else:
        x = x * 3
    return x

@torch.compile
def several(x):
    try:
        import kernels_that_are_not_here
    except ImportError:
        x = x * 2
    except ValueError:
        x = x * 3
    return x

@torch.compile
def one_line(x):
    try:
        import kernels_that_are_not_here
    except ImportError: x = x * 2
    return x

@torch.compile
def named(x):
    try:
        import kernels_that_are_not_here
    except ImportError as error:
        x = x * len(str(error))
    return x

@torch.compile
def every(x):
    try:
        import kernels_that_are_not_here
    except:
        x = x * 2
    return x

@torch.compile
def some(x):
    try:
        import kernels_that_are_not_here
    except (ImportError, ValueError):
        x = x * 2
    return x

for f in (bare, second, dotted, otherwise, several, one_line, named, every, some):
    f(torch.ones(2))
""",
            "the `try` has several handlers",
        ),
    )

    def repair(self, site: Site) -> Repair | None:
        line = site.statement(site.node)
        attempt = site.enclosing(line, cst.Try)
        require(attempt is not None, "the import is not in a `try`: without the package the program fails in any case")
        assert attempt is not None
        first = attempt.body.body[0]
        require(first is line and isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1,
                "the import is not the first statement of its `try`")  # fmt: skip
        require(not self._is_dotted(attempt), "the import binds the first part of a dotted name")
        require(attempt.orelse is None and attempt.finalbody is None, "the `try` has an `else` or `finally`")
        require(len(attempt.handlers) == 1, "the `try` has several handlers")
        (handler,) = attempt.handlers
        require(self._import_errors(handler), "the `try` catches more than an ImportError")
        require(isinstance(handler.body, cst.IndentedBlock), "the handler stands on the line of its `except`")
        if self._only_names(attempt):
            return self._whole(site, attempt)
        return self._import_alone(site, attempt, handler)

    def _is_dotted(self, attempt: cst.Try) -> bool:
        imports = (n for n in walk(attempt) if isinstance(n, cst.Import))
        return any(isinstance(a.name, cst.Attribute) and a.asname is None for n in imports for a in n.names)

    def _import_errors(self, handler: cst.ExceptHandler) -> bool:
        kinds = handler.type
        if handler.name is not None or kinds is None:
            return False
        parts = [e.value for e in kinds.elements] if isinstance(kinds, cst.Tuple) else [kinds]
        return all(isinstance(p, cst.Name) and p.value in ERRORS for p in parts)

    def _only_names(self, attempt: cst.Try) -> bool:
        """Whether a `try` does nothing but import and set plain variables to constants, all of them in either case."""
        blocks = [attempt.body, attempt.handlers[0].body]
        if not all(self._sets_names(block) for block in blocks):
            return False
        return changed_names([blocks[0]]) == changed_names([blocks[1]])

    def _sets_names(self, block: cst.BaseSuite) -> bool:
        small = [s for line in block.body for s in (line.body if isinstance(line, cst.SimpleStatementLine) else [line])]
        return all(isinstance(s, cst.Import | cst.ImportFrom) or self._sets_constant(s) for s in small)

    def _sets_constant(self, small: cst.CSTNode) -> bool:
        constant = cst.SimpleString | cst.BaseNumber
        return (
            isinstance(small, cst.Assign)
            and all(isinstance(t.target, cst.Name) for t in small.targets)
            and (isinstance(small.value, constant) or getattr(small.value, "value", "") in ("None", "True", "False"))
        )

    def _whole(self, site: Site, attempt: cst.Try) -> Repair:
        self._require_unbound(site, attempt, changed_names([attempt]))
        edits = [site.at_module_level(site.body_text([attempt], "")), site.remove(attempt)]
        return Repair("unsafe", MESSAGE, edits)

    def _import_alone(self, site: Site, attempt: cst.Try, handler: cst.ExceptHandler) -> Repair:
        line, *rest = attempt.body.body
        assert isinstance(line, cst.SimpleStatementLine)
        names = sorted(changed_names([line]))
        self._require_unbound(site, line, set(names))
        lines = [s for s in rest if isinstance(s, cst.SimpleStatementLine | cst.BaseCompoundStatement)]
        unset = " = ".join([*names, "None"])
        moved = f"try:\n    {site.text(line).strip()}\nexcept ImportError:\n    {unset}\n"
        found = site.body_text(lines, site.step) if lines else f"{site.step}pass\n"
        missing = self._rows(site, handler)
        text = f"if {names[0]} is not None:\n{found}else:\n{missing}"
        return Repair("unsafe", MESSAGE, [site.at_module_level(moved), site.replace_lines(attempt, attempt, text)])

    def _rows(self, site: Site, handler: cst.ExceptHandler) -> str:
        """The handler's body with the comments above its first statement, in a block of its own."""
        body = [s for s in handler.body.body if isinstance(s, cst.SimpleStatementLine | cst.BaseCompoundStatement)]
        text = site.body_text(body, site.step)
        first = site.span(body[0])[0]
        above = site.lines[site.span(handler)[0] : first - 1]
        return "".join(f"{site.step}{row.strip()}\n" if row.strip() else "\n" for row in above) + text

    def _require_unbound(self, site: Site, within: cst.CSTNode, names: set[str]) -> None:
        """Refuse if a name is bound outside of the statement: at module level it would be another variable."""
        first, _, last, _ = site.span(within)
        last = max(last, site.last_row(within))
        for name in sorted(names):
            outside = [n for n in site.stores(name) if not first <= site.span(n)[0] <= last]
            parameter = name in site.parameters()
            require(not (outside or parameter or name in site.module.bindings), f"`{name}` is bound elsewhere too")
