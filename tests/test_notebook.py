"""Notebooks: their code as Python source, findings by cell, and repairs that change nothing else."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gblint.notebook import Cells, NotebookError, notebook_with, python_of
from tests.conftest import Result, Write

Gblint = Callable[..., Result]


def notebook(cells: Iterable[tuple[str, str]], language: str = "python", indent: int | None = 1) -> bytes:
    """A notebook as Jupyter writes it, from kinds and texts of cells."""
    content: dict[str, Any] = {
        "cells": [
            {"cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True)}
            | ({"execution_count": None, "outputs": []} if kind == "code" else {})
            for kind, text in cells
        ],
        "metadata": {"language_info": {"name": language}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return (json.dumps(content, indent=indent, ensure_ascii=False) + "\n").encode()


F = "!pip install torch\n@torch.compile\ndef f(x):\n    print(x)\n    if x.sum() > 0:\n        x = -x\n    return x"
MODEL = [
    ("markdown", "# A model\n\nIt has print(x) in it, and grüße"),
    ("code", "%matplotlib inline\nimport torch\nfiles = !ls"),
    ("code", F),
    ("code", ""),
    ("code", "%%bash\nif [ -f x ]; then echo; fi"),
    ("code", "%%time\ny = f(torch.ones(3))\ny?"),
]  # fmt: skip


def places(result: Result) -> set[tuple[str, int, int]]:
    """Code, cell and row of all that was reported as JSON."""
    return {(f["code"], f["cell"], f["location"]["row"]) for f in json.loads(result.out)}


def test_findings_are_in_cells(project: Write, gblint: Gblint) -> None:
    root = project({"pyproject.toml": "", "nb.ipynb": notebook(MODEL)})
    result = gblint("check", "--output-format", "concise", ".")
    assert result.code == 1
    assert "nb.ipynb:cell 3:4:5: GB0059" in result.out
    assert "nb.ipynb:cell 3:5:8: GB0170" in result.out
    assert "in 1 file" in result.out
    full = gblint("check").out
    assert "  4 |     print(x)" in full
    assert "path: f (here); the root is compiled" in full
    entries = json.loads(gblint("check", "--output-format", "json").out)
    assert {entry["filename"] for entry in entries} == {str(root / "nb.ipynb")}
    assert {(e["code"], e["cell"], e["location"]["row"]) for e in entries} == {("GB0059", 3, 4), ("GB0170", 3, 5)}
    edits = [edit for e in entries if e["fix"] for edit in e["fix"]["edits"]]
    assert edits
    assert {edit["cell"] for edit in edits} == {3}


@pytest.mark.parametrize("form", ["github", "gitlab", "sarif", "junit"])
def test_services_are_told_the_file_and_the_cell(project: Write, gblint: Gblint, form: str) -> None:
    project({"pyproject.toml": "", "nb.ipynb": notebook(MODEL)})
    out = gblint("check", "--output-format", form).out
    assert "cell 3, row 4: " in out
    assert "nb.ipynb:cell" not in out.replace("cell 3, row", "")


def test_a_repair_changes_the_source_of_its_cell_alone(project: Write, gblint: Gblint) -> None:
    before = notebook(MODEL)
    root = project({"pyproject.toml": "", "nb.ipynb": before})
    result = gblint("fix", "--unsafe-fixes", "nb.ipynb")
    after = (root / "nb.ipynb").read_bytes()
    assert "Fixed" in result.err
    assert after != before
    old, new = json.loads(before), json.loads(after)
    changed = [n for n, (a, b) in enumerate(zip(old["cells"], new["cells"], strict=True), 1) if a != b]
    assert changed == [3]
    source = "".join(new["cells"][2]["source"])
    assert source.startswith("!pip install torch\n")
    for cell in new["cells"]:
        cell["source"] = []
    for cell in old["cells"]:
        cell["source"] = []
    assert new == old
    lines = before.decode().splitlines()
    kept = [line for line in after.decode().splitlines() if line in lines]
    assert len(kept) >= len(lines) - 6  # rows of the file, as they were written
    assert not places(gblint("check", "--output-format", "json"))


def test_repairs_are_listed_by_cell_and_shown_as_a_difference(project: Write, gblint: Gblint) -> None:
    project({"pyproject.toml": "", "nb.ipynb": notebook(MODEL)})
    result = gblint("fix", "--unsafe-fixes", "--diff", "nb.ipynb")
    assert "nb.ipynb:cell 3:4: GB0059" in result.err
    assert "-    print(x)" in result.out.split("\n")


@pytest.mark.parametrize("indent", [None, 1, 4])
def test_what_is_not_repaired_is_not_rewritten(project: Write, gblint: Gblint, indent: int | None) -> None:
    data = notebook(MODEL, indent=indent)
    root = project({"pyproject.toml": "", "nb.ipynb": data})
    gblint("fix", "--rule", "GB0036", "nb.ipynb")
    assert (root / "nb.ipynb").read_bytes() == data


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{"cells": [', "not valid JSON"),
        (b"print(1)", "not valid JSON"),
        (b"[]", "it has no `cells`"),
        (b'{"worksheets": []}', "it has no `cells`"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_what_is_no_notebook_is_said(project: Write, gblint: Gblint, content: bytes, says: str) -> None:
    project({"pyproject.toml": "", "nb.ipynb": content, "other.py": "import torch\n"})
    result = gblint("check", "--output-format", "concise", ".")
    assert result.code == 1
    assert "nb.ipynb:1:" in result.out
    assert "GBL000 invalid-notebook is not a notebook" in result.out
    assert says in result.out


def test_a_syntax_error_is_in_its_cell(project: Write, gblint: Gblint) -> None:
    project({"pyproject.toml": "", "nb.ipynb": notebook([("code", "x = 1"), ("code", "y = 2\nz = = 3")])})
    assert "nb.ipynb:cell 2:2:" in gblint("check", "--output-format", "concise").out


def test_comments_and_other_languages(project: Write, gblint: Gblint) -> None:
    silenced = [(kind, text.replace("print(x)", "print(x)  # noqa: GB0059")) for kind, text in MODEL]
    root = project({"pyproject.toml": "", "nb.ipynb": notebook(silenced), "r.ipynb": notebook(MODEL, "R")})
    assert places(gblint("check", "--output-format", "json")) == {("GB0170", 3, 5)}
    gblint("check", "--add-noqa", "nb.ipynb")
    assert gblint("check", "nb.ipynb").code == 0
    cell = json.loads((root / "nb.ipynb").read_bytes())["cells"][2]["source"]
    assert any("# gblint: ignore[branch-on-tensor]" in line for line in cell)


COMPILES = "f = torch.compile(helper)"


def test_a_notebook_uses_the_project_and_is_no_module_of_it(project: Write, gblint: Gblint) -> None:
    project(
        {
            "pyproject.toml": "",
            "helper.py": "def helper(x):\n    print(x)\n    return x\n",
            "nb.ipynb": notebook([("code", "import torch\nfrom helper import helper"), ("code", COMPILES)]),
            "train.py": "import torch\nimport nb\n\ntorch.compile(nb.f)\n",
        }
    )  # fmt: skip
    out = gblint("check", "--output-format", "concise", "helper.py").out
    assert "helper.py:2:5: GB0059" in out


def test_a_notebook_on_standard_input(project: Write) -> None:
    root = project({"pyproject.toml": ""})
    command = [
        sys.executable,
        "-m",
        "gblint",
        "check",
        "--output-format",
        "concise",
        "--stdin-filename",
        "nb.ipynb",
        "-",
    ]
    done = subprocess.run(command, input=notebook(MODEL), capture_output=True, cwd=root, check=False)
    assert b"nb.ipynb:cell 3:4:5: GB0059" in done.stdout
    done = subprocess.run(command, input=b"{", capture_output=True, cwd=root, check=False)
    assert done.returncode == 2
    assert b"not valid JSON" in done.stderr


LINES = st.one_of(
    st.sampled_from(
        ["x = 1", "    y = 2", "%magic -a b", "!ls -l \\", "  | wc", "a = %time f()", "b = !ls", "f?", "?f", "%%bash"]
    ),
    st.sampled_from(
        ["%%time", "if x:", "s = '''", "'''", "t = (1", "     % 2)", "# why?", "g()  # why?", "# %% cell 2"]
    ),
    st.sampled_from(["# %%% cell 9", "é = 'ü'", "", "await z", "\t%cd .."]),
)
TEXTS = st.lists(LINES, max_size=6).map("\n".join)


@given(st.lists(st.tuples(st.sampled_from(["code", "markdown"]), TEXTS), max_size=5), st.sampled_from([None, 1]))
def test_source_goes_there_and_back(cells: list[tuple[str, str]], indent: int | None) -> None:
    data = notebook(cells, indent=indent)
    source = python_of(data)
    assert notebook_with(data, source) == data
    code = [(n, text) for n, (kind, text) in enumerate(cells, 1) if kind == "code"]
    assert [(n, text.decode()) for n, text in Cells(source).texts()] == code
    rows = source.decode().split("\n")
    for n, text in code:  # a row of a cell is a row of the source
        starts = [row for row in range(1, len(rows) + 1) if Cells(source).place(row)[0] == n]
        assert len(starts) >= len(text.split("\n"))


@given(st.lists(TEXTS, min_size=1, max_size=4), st.data())
def test_an_edit_lands_in_its_cell(texts: list[str], data: st.DataObject) -> None:
    before = notebook([("code", text) for text in texts])
    source = python_of(before).decode()
    number = data.draw(st.integers(1, len(texts)))
    row = next(r for r in range(1, source.count("\n") + 2) if Cells(source.encode()).place(r) == (number, 1))
    lines = source.split("\n")
    # The head of a cell counts as its first row, too: what is inserted belongs behind it.
    lines.insert(row, "new = 'row'")
    after = json.loads(notebook_with(before, "\n".join(lines).encode()))
    found = ["".join(cell["source"]) for cell in after["cells"]]
    assert found == [f"new = 'row'\n{text}" if n == number else text for n, text in enumerate(texts, 1)]


def test_ipython_is_set_aside_without_moving_rows() -> None:
    text = "%load_ext x\nx = (1\n     % 2)\nif x:\n    %time f()\n    y = !ls\nf?\n!a \\\n  b\nprint('50%?')"
    source = python_of(notebook([("code", text)])).decode()
    tree = ast.parse(source)
    assert len(source.split("\n")) == len(text.split("\n")) + 2
    assert "x = (1\n     % 2)" in source
    assert any(isinstance(node, ast.If) for node in tree.body)
    assert "print('50%?')" in source.split("\n")


def test_an_empty_file_has_no_cells(project: Write, gblint: Gblint) -> None:
    project({"pyproject.toml": "", "nb.ipynb": b"", "a.py": "x = 1\n"})
    assert gblint("check").code == 0


def test_an_edit_may_not_take_cells_away() -> None:
    data = notebook([("code", "a = 1"), ("code", "b = 2")])
    with pytest.raises(NotebookError):
        notebook_with(data, b"# %% cell 1\na = 1\nb = 2\n")


def test_escapes_and_strings_stay_as_they_are() -> None:
    cell = b'{"source": "a = \\u0022\\u00fc\\u0022\\nb = 1", "cell_type": "code"}'
    data = b'{"nbformat": 4, "cells": [' + cell + b'], "metadata": {}}'
    assert notebook_with(data, python_of(data)) == data
    new = notebook_with(data, python_of(data).replace(b"b = 1", "b = 'ö'".encode()))
    assert new.isascii()
    assert json.loads(new)["cells"][0]["source"] == "a = \"ü\"\nb = 'ö'"
