"""How many roots a root cause breaks, and how many would be clean without it."""

from __future__ import annotations

import json
from typing import Any

import pytest

MODEL = """
    import torch

    def helper(x):
        print("shape")
        return x + 1

    class A(torch.nn.Module):
        def forward(self, x):
            return helper(x)

    class B(torch.nn.Module):
        def forward(self, x):
            return helper(x) * 2

    class C(torch.nn.Module):
        def forward(self, x):
            if x.sum() > 0:
                x = x + 1
            return helper(x)

    class D(torch.nn.Module):
        def forward(self, x):
            return x * 2
"""
OTHER = """
    import torch
    from model import helper

    class E(torch.nn.Module):
        def forward(self, x):
            return helper(x) - 1
"""
HELPER, BRANCH = ("GB0059", 5), ("GB0170", 18)


def reaches(gblint, *arguments: str) -> dict[tuple[str, int], tuple[int, int]]:
    """(roots broken, roots that would be clean) by code and row."""
    found: list[dict[str, Any]] = json.loads(gblint("check", "--output-format", "json", *arguments).out)
    return {(f["code"], f["location"]["row"]): (f["reach"], f["frees"]) for f in found}


def test_a_helper_of_many_roots(project, gblint) -> None:
    project({"model.py": MODEL})
    assert reaches(gblint, "-n") == {HELPER: (3, 2), BRANCH: (1, 0)}


def test_roots_of_other_files_count(project, gblint) -> None:
    project({"model.py": MODEL, "other.py": OTHER})
    wanted = {HELPER: (4, 3), BRANCH: (1, 0)}
    assert reaches(gblint, "-n") == wanted
    assert reaches(gblint, "-n", "model.py") == wanted


def test_breaks_of_other_files_keep_roots_from_being_clean(project, gblint) -> None:
    project({"model.py": MODEL, "other.py": f"{OTHER.replace('- 1', '- len(str(x))')}\n"})
    assert reaches(gblint, "-n", "model.py") == {HELPER: (4, 2), BRANCH: (1, 0)}


def test_what_is_off_or_silenced_does_not_count_as_a_break(project, gblint) -> None:
    project({"model.py": MODEL})
    assert reaches(gblint, "-n", "--ignore", "GB0170") == {HELPER: (3, 3)}
    project({"model.py": MODEL.replace("> 0:", "> 0:  # noqa: GB0170")})
    assert reaches(gblint, "-n") == {HELPER: (3, 3)}


def test_it_depends_on_neither_cache_nor_processes(project, gblint) -> None:
    files = {f"part{n}.py": OTHER.replace("class E", f"class E{n}") for n in range(12)}
    project({"model.py": MODEL, **files})
    alone = reaches(gblint, "-n", "-j", "1")
    assert alone[HELPER] == (15, 14)
    assert reaches(gblint, "-n", "-j", "2") == alone
    assert reaches(gblint, "-j", "2") == alone, "fills the cache"
    assert reaches(gblint, "-j", "1") == alone, "reads it"


def test_what_is_compiled_once_is_one_root(project, gblint) -> None:
    project({
        "model.py": MODEL,
        "run.py": """
            import torch
            from model import A, B

            a, b = torch.compile(A()), torch.compile(B())
            for _ in range(3):
                a(torch.ones(2))
            a(torch.ones(3))
            b(torch.ones(2))
        """,
    })  # fmt: skip
    assert reaches(gblint, "-n") == {HELPER: (2, 2)}
    assert "1 root cause breaks 2 of 2 roots." in gblint("check", "-n").out


def test_a_break_in_a_library_is_one_cause_of_all_calls(project, gblint) -> None:
    caller = """
        import torch
        from lib import show

        class {name}(torch.nn.Module):
            def forward(self, x):
                return show(x)
    """
    project({
        "venv/pyvenv.cfg": "version = 3.11\n",
        "venv/lib/python3.11/site-packages/lib/__init__.py": "def show(x):\n    print('x')\n    return x\n",
        "gblint.toml": 'python = "venv"\n',
        "a.py": caller.format(name="A"),
        "b.py": caller.format(name="B"),
    })  # fmt: skip
    found = json.loads(gblint("check", "-n", "--output-format", "json").out)
    assert [(f["location"]["row"], f["owner"], f["library"]["row"], f["reach"], f["frees"]) for f in found] == [
        (7, "library", 2, 2, 2), (7, "library", 2, 2, 2),
    ]  # fmt: skip
    assert "1 root cause breaks 2 of 2 roots." in gblint("check", "-n").out


def test_it_is_said_and_sorted_by(project, gblint) -> None:
    project({
        "model.py": MODEL + """
    class Z(torch.nn.Module):
        def forward(self, x):
            y = x * 2
            print(y)
            return y
    """
    })  # fmt: skip
    text = gblint("check", "-n", "--select", "GB0059").out
    many, one = (text.index(f"model.py:{row}:") for row in (5, 29))
    assert many < one
    assert text.count("reach: ") == 1
    assert "reach: breaks 3 roots, all of which would be clean without it" in text
    assert "2 root causes break 4 of 5 roots; without model.py:5 alone, 3 of these would be clean." in text


@pytest.mark.parametrize(
    ("form", "text"), [("markdown", "3 roots"), ("html", ">3 roots</span>"), ("sarif", '"reach": 3')]
)
def test_other_reports(project, gblint, form: str, text: str) -> None:
    project({"model.py": MODEL})
    assert text in gblint("check", "-n", "--output-format", form).out
