"""The index of one file: what it binds, defines, imports and asks torch for."""

from __future__ import annotations

import ast
import textwrap
from collections import Counter

import pytest

from gblint.index.build import build_index
from gblint.index.model import Binding, ModuleInfo
from gblint.index.walk import walk


def index(text: str, name: str = "pkg.mod", package: str = "pkg") -> ModuleInfo:
    return build_index(textwrap.dedent(text), "/p/pkg/mod.py", name, package, "d")


def imports(info: ModuleInfo) -> dict[str, tuple[str, str]]:
    return {name: (bound[-1].target, bound[-1].attr) for name, bound in info.bindings.items()}


def test_imports_bind_absolute_names() -> None:
    info = index(
        """
        import a.b, c.d as e
        from x.y import z as w, v
        from . import sibling
        from .near import thing
        from .. import climbs
        from other import *
        """
    )
    assert imports(info) == {
        "a": ("a", ""),
        "e": ("c.d", ""),
        "w": ("x.y", "z"),
        "v": ("x.y", "v"),
        "sibling": ("pkg", "sibling"),
        "thing": ("pkg.near", "thing"),
        "climbs": ("", "climbs"),
        "*": ("other", "*"),
    }
    assert info.stars == ["other"]


def test_relative_import_from_a_deep_package() -> None:
    info = index("from ...top.part import name\nfrom ... import whole", "a.b.c.m", "a.b.c")
    assert imports(info) == {"name": ("a.top.part", "name"), "whole": ("a", "whole")}


def test_imports_inside_functions_do_not_bind_module_names() -> None:
    info = index("def f():\n    import torch\n    from a import b\n")
    assert list(info.bindings) == ["f"]
    assert info.imports_torch


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import torch", True),
        ("from torch.nn import functional as F", True),
        ("import numpy\n'''import torch'''", False),
        ("import torchvision", False),
    ],
)
def test_imports_torch(text: str, expected: bool) -> None:
    assert index(text).imports_torch is expected


def test_guards() -> None:
    info = index(
        """
        import typing
        if typing.TYPE_CHECKING:
            from a import A
            try:
                from t import T
            except ImportError:
                from dummies import T
        else:
            from b import B
        if not typing.TYPE_CHECKING:
            C = 1
        if has_c():
            D = 1
        elif other():
            D = 2
        else:
            D = 3
        try:
            import fast
        except ImportError:
            fast = None
        else:
            E = 1
        finally:
            G = 1
        with context() as H:
            I = 1
        for J in range(3):
            K = 1
        """
    )
    guards = {name: [(b.kind, b.guard) for b in bound] for name, bound in info.bindings.items()}
    assert guards == {
        "typing": [("import", "")],
        "A": [("import", "typing")],
        "T": [("import", "typing")],
        "B": [("import", "")],
        "C": [("assign", "")],
        "D": [("assign", "then"), ("assign", "else"), ("assign", "else")],
        "fast": [("import", "then"), ("assign", "except")],
        "E": [("assign", "then")],
        "G": [("assign", "")],
        "H": [("other", "")],
        "I": [("assign", "")],
        "J": [("other", "")],
        "K": [("assign", "then")],
    }


def test_targets_of_all_sorts() -> None:
    info = index(
        """
        a, (b, *c) = f()
        d: int = 1
        e: int
        g += 1
        del a
        if (h := f()) and (lambda: (i := 1)):
            pass
        match f():
            case [j, *k]:
                pass
            case {"x": m, **n}:
                pass
            case str() as o:
                pass
        x.attribute = y[0] = 1
        """
    )
    kinds = {name: [b.kind for b in bound] for name, bound in info.bindings.items()}
    assert kinds == {
        "a": ["assign", "other"],
        "b": ["assign"],
        "c": ["assign"],
        "d": ["assign"],
        "g": ["other"],
        "h": ["other"],
        **{name: ["other"] for name in "jkmno"},
    }


def test_functions_and_classes() -> None:
    info = index(
        """
        @decorate(
            "é", option=1
        )
        def f(x=default()):
            def inner():
                yield 1
            return self.a.b(inner()).c(x[0].d())

        class Outer(Base, generic[int], metaclass=Meta):
            size: int = 3
            name: "str"
            limit = 4

            async def m(self):
                await self.helper()
                yield 1

            class Inner:
                def m(self): pass
        """
    )
    by_name = {function.qualname: function for function in info.functions}
    assert list(by_name) == ["f", "Outer.m", "Outer.Inner.m"]
    f, m = by_name["f"], by_name["Outer.m"]
    assert (f.start, f.end, f.owner, f.is_generator) == (2, 8, "", False)
    assert f.decorators == ('decorate(\n    "é", option=1\n)',)
    assert (m.is_async, m.is_generator, m.owner) == (True, True, "Outer")
    outer = info.classes["Outer"]
    assert outer.bases == ("Base", "generic[int]")
    assert outer.keywords == (("metaclass", "Meta"),)
    assert outer.annotations == {"size": ("int", True), "name": ('"str"', False)}
    assert list(outer.bindings) == ["size", "limit", "Inner"]
    assert outer.bindings["Inner"] == [Binding("class", 19, 20, "", "Outer.Inner")]
    assert info.functions[outer.methods["m"]].qualname == "Outer.m"
    assert info.bindings["Outer"][0].target == "Outer"


def test_definitions_under_conditions_prefer_the_usual_branch() -> None:
    info = index(
        """
        class C:
            if fast:
                def m(self): return 1
            else:
                def m(self): return 2
            @property
            def p(self): return 1
            @p.setter
            def p(self, value): pass
            def twice(self): return 1
            def twice(self): return 2
        """
    )
    methods = info.classes["C"].methods
    assert {name: info.functions[i].start for name, i in methods.items()} == {"m": 4, "p": 7, "twice": 12}
    assert len(info.functions) == 6


def test_statements_and_scripts() -> None:
    text = '"""doc"""\nimport a\n\n@d\nclass C: pass\nx = f(1)\n'
    library = index(text + 'try:\n    import q\nexcept E:\n    log("no q")\n')
    assert library.statements == [
        (1, 1, "code"),
        (2, 2, "import"),
        (4, 5, "class"),
        (6, 6, "code"),
        (7, 10, "code"),
    ]
    assert not library.is_script


@pytest.mark.parametrize(
    "text",
    [
        "run()",
        "for x in y: pass",
        "if x:\n    run()",
        "def f(): pass\nif __name__ == '__main__':\n    pass",
        "import torch\ncompiled = torch.compile(f)",
    ],
)
def test_is_script(text: str) -> None:
    assert index(text).is_script


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("__all__ = ['a', 'b']", ["a", "b"]),
        ("__all__ = ('a',)\n__all__ += ['b']\n__all__.extend(['c'])\n__all__.append('d')", ["a", "b", "c", "d"]),
        ("__all__ = other.__all__ + ['a']", None),
        ("__all__ = ['a']\n__all__ += other.__all__", None),
        ("x = 1", None),
    ],
)
def test_exports(text: str, expected: list[str] | None) -> None:
    assert index(text).exports == expected


def test_names_rebound_through_global() -> None:
    info = index("x = y = 1\ndef f():\n    if x:\n        global x, y\n        x = 2\n")
    assert info.globals_written == ("x", "y")


def test_names_given_to_attributes_of_others() -> None:
    info = index("import a\na.B.c = f\na.d = a.e = g\na.h = f()\nx = f\ndef f():\n    a.i = f\n")
    assert info.given == (("a.B.c", "f"), ("a.d", "g"), ("a.e", "g"))


def test_a_name_means_the_same_whatever_ends_the_rows() -> None:
    info = index("import a\r\n@d(\r\n 1)\r\ndef f():\r\n    pass\r\n")
    assert info.functions[0].decorators == ("d(\n 1)",)
    assert (info.rows, info.functions[0].start, info.functions[0].end) == (5, 2, 5)


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("x = 1\nprint 'python 2'\n", 2),
        ("def f(:\n", 1),
        ("if True:\npass\n", 2),
        ("x = 1\n\tx = 2\n", 2),
    ],
)
def test_syntax_errors_are_told_with_their_row(text: str, row: int) -> None:
    info = index(text)
    assert info.error
    assert (info.error_row, info.error_kind, info.bindings, info.statements) == (row, "invalid-syntax", {}, [])


@pytest.mark.parametrize("text", ["(" * 5000 + ")" * 5000, "x = " + "-" * 200_000 + "1", "a = '\0'"])
def test_hostile_text_is_an_error_and_no_crash(text: str) -> None:
    assert build_index(text, "/p/m.py", "m", "", "").error_kind == "invalid-syntax"


def test_long_elif_chain() -> None:
    branches = "".join(f"elif c == {i}:\n    x{i} = 1\n" for i in range(600))
    info = index("if c:\n    pass\n" + branches)
    assert not info.error
    assert info.bindings["x599"][0].guard == "else"


def test_invalid_escapes_do_not_warn(recwarn: pytest.WarningsRecorder) -> None:
    assert not index(r"x = '\d'").error
    assert not recwarn.list


def test_walk_visits_what_ast_walk_visits() -> None:
    text = textwrap.dedent(
        """
        async def f(a, /, b: int = 1, *c, d=2, **e) -> str:
            async with x as y, z: await w
            async for i in j: continue
            return {**a, 'b': lambda q: [g async for g in h if g]}
        class C(B, k=v):
            global n
            try: raise E from e
            except* (A, B) as ex: del a.b, c[1:2, ...]
            finally: assert x, f"{y!r:>{w}}"
        match x:
            case C(1, k=None) | [_, *rest] | {"a": True, **r} if (m := 1): pass
        """
        if hasattr(ast, "TryStar")
        else "match x:\n    case C(1, k=None) | [_, *rest] | {'a': True, **r} if (m := 1): pass\n"
    )
    tree = ast.parse(text)
    skipped = (ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context, ast.alias, ast.Module)
    expected = Counter(type(node) for node in ast.walk(tree) if not isinstance(node, skipped))
    assert Counter(type(node) for node in walk(tree.body)) == expected
