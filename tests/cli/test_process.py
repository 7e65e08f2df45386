"""gblint as a process of its own, on input that is broken, hostile or large."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import Result, spawn

MODEL = """
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        return -x

net = torch.compile(Net())
"""


def check(root: Path, *arguments: str, stdin: bytes = b"", **variables: str) -> Result:
    return spawn("check", "--no-cache", "-j", "1", *arguments, cwd=root, stdin=stdin, **variables)


def clean(result: Result) -> None:
    """Whatever happens: an exit code that means something, and no traceback."""
    assert result.code in (0, 1, 2), result.err
    assert "Traceback" not in result.err
    assert "internal error" not in result.err + result.out


BROKEN = {
    "syntax": ("def f(:\n", "invalid-syntax"),
    "python2": ("print 'hello'\nexec 'x'\n", "invalid-syntax"),
    "undecodable": (b"x = '\xff'\n", "bad-encoding"),
    "nul": (b"x = 1\0\n", "bad-encoding"),
    "unknown-coding": (b"# -*- coding: klingon -*-\n", "bad-encoding"),
    "deep": ("x = " + "(" * 5000 + ")" * 5000 + "\n", "invalid-syntax"),
    "huge": (b"#" * 10_500_000, "too-large"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_file_is_reported_and_the_rest_analysed(project, kind: str) -> None:
    content, name = BROKEN[kind]
    root = project({"model.py": MODEL, "broken.py": content})
    result = check(root, "--output-format", "json")
    clean(result)
    assert result.code == 1
    items = json.loads(result.out)
    assert [(i["code"], i["name"]) for i in items if i["filename"].endswith("broken.py")] == [("GBL000", name)]
    assert [i["code"] for i in items if i["filename"].endswith("model.py")] == ["GB0170"]


HARMLESS = {
    "bom": b"\xef\xbb\xbfx = 1\n",
    "latin-1": "# -*- coding: latin-1 -*-\nx = 'é'\n".encode("latin-1"),
    "empty": b"",
    "crlf": b"x = 1\r\ny = 2\r\n",
    "no-line-end": b"x = 1",
    "form-feed": b"\x0cx = 1\n",
    "lone-surrogate": b"x = '\\ud800'\n",
    "deep-sum": b"x = " + b"1 + " * 500 + b"1\n",
}


@pytest.mark.parametrize("kind", HARMLESS)
def test_an_unusual_file_is_no_problem(project, kind: str) -> None:
    root = project({"model.py": MODEL, "odd.py": HARMLESS[kind]})
    result = check(root, "--output-format", "json")
    clean(result)
    assert [i["code"] for i in json.loads(result.out)] == ["GB0170"], result.out


def test_a_break_in_an_unusual_file_is_found(project) -> None:
    source = MODEL.replace("x.sum()", "(x + 1).sum()").replace("\n", "\r\n")
    root = project({"model.py": b"\xef\xbb\xbf" + source.encode()})
    result = check(root, "--output-format", "json")
    (item,) = json.loads(result.out)
    assert item["location"] == {"row": 6, "column": 12}


def test_a_very_long_file(project) -> None:
    root = project({"model.py": MODEL + "x = 1\n" * 100_000})
    result = check(root)
    clean(result)
    assert result.code == 1


CHAINS = {
    "and": " and ".join(["x"] * 800),
    "conditional": "x if x else " * 2_900 + "x",
    "sum": "x" + " + x" * 2_000,
    "assignment": "x = " * 1_500 + "x",
}


@pytest.mark.parametrize("kind", CHAINS)
def test_a_chain_of_thousands_is_analysed_and_costs_nothing_else(project, kind: str) -> None:
    body = f"    print(x)\n    y = {CHAINS[kind]}\n    return y.item()\n"
    source = f"import torch\n\n@torch.compile\ndef step(x: torch.Tensor):\n{body}"
    root = project({"model.py": MODEL, "deep.py": source})
    result = check(root, "--output-format", "concise", "--roots", "all")
    clean(result)
    assert result.code == 1
    assert "model.py:6:12: GB0170" in result.out
    fixed = spawn("fix", "--no-cache", "-j", "1", "--unsafe-fixes", "--diff", cwd=root)
    clean(fixed)
    assert ("deep.py" in fixed.out) == (kind == "assignment"), "what is nested so deeply is not repaired"


def test_an_unreadable_file(project) -> None:
    root = project({"model.py": MODEL, "secret.py": "x = 1\n"})
    (root / "secret.py").chmod(0)
    if os.access(root / "secret.py", os.R_OK):  # the superuser reads everything: a link to nowhere is as unreadable
        (root / "secret.py").unlink()
        (root / "secret.py").symlink_to("gone")
    result = check(root, "model.py", "secret.py", "--output-format", "json")
    clean(result)
    assert {(i["code"], i["name"]) for i in json.loads(result.out)} == {
        ("GB0170", "branch-on-tensor"), ("GBL000", "unreadable"),
    }  # fmt: skip


def test_names_that_are_no_text(project) -> None:
    root = project({"model.py": MODEL})
    name = b"caf\xe9.py"
    try:
        (Path(os.fsdecode(os.fsencode(root) + b"/" + name))).write_text(MODEL)
    except OSError:
        pytest.skip("this file system takes only text for names")
    for form in ("full", "concise", "json"):
        result = spawn("check", "--output-format", form, cwd=root)
        clean(result)
        assert result.code == 1
        assert "caf\\xe9.py" in result.out.replace("\\\\", "\\")
        assert "its name is not valid text" in result.out
        assert "GB0170" in result.out


@pytest.mark.parametrize(
    ("files", "arguments", "says"),
    [
        ({}, ["gone.py"], "no such file or directory: gone.py"),
        ({"a.py": "", "pyproject.toml": "[tool.gblint\n"}, [], "is not valid TOML"),
        ({"a.py": "", "pyproject.toml": b"\x00\xff"}, [], "is not valid TOML"),
        ({"a.py": "", "gblint.toml": "x = " + "[" * 100_000}, [], "nested too deeply"),
        ({"a.py": "", "gblint.toml": "roots = 3\n"}, [], "`roots`: expected a list of strings"),
    ],
)
def test_errors_are_one_line_and_exit_2(project, files, arguments: list[str], says: str) -> None:
    result = check(project(files), *arguments)
    assert result.code == 2
    assert result.out == ""
    assert says in result.err
    assert result.err.startswith("gblint: error: ")
    assert "Traceback" not in result.err


def test_a_folder_without_python(project) -> None:
    result = check(project({"docs/a.md": ""}), "docs")
    assert result.code == 0
    assert "no Python files found under docs: nothing was checked" in result.err


def test_a_symlink_loop(project) -> None:
    root = project({"pkg/model.py": MODEL})
    (root / "pkg/loop").symlink_to("..")
    result = check(root)
    clean(result)
    assert result.out.count("GB0170") == 1


def test_standard_input(project) -> None:
    root = project({"model.py": "x = 1\n", "pyproject.toml": ""})
    result = check(root, "-", "--stdin-filename", "model.py", stdin=MODEL.encode())
    clean(result)
    assert result.code == 1
    assert "model.py:6:12 GB0170" in result.out
    assert "if x.sum() > 0:" in result.out


@pytest.mark.parametrize("stdin", [b"", b"\xff\xfe\x00", b"def f(:\n", b"\0"])
def test_bad_standard_input(project, stdin: bytes) -> None:
    result = check(project({}), "-", stdin=stdin)
    clean(result)
    assert result.code == (1 if stdin else 0)


def test_a_reader_that_leaves_early(project) -> None:
    body = "".join(f"        if x.sum() > {n}:\n            x = x + {n}\n" for n in range(3000))
    root = project({"model.py": MODEL.replace("        if x.sum() > 0:\n            return x\n", body)})
    process = subprocess.Popen(
        [sys.executable, "-m", "gblint", "check", "--no-cache", "-j", "1"],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout
    assert process.stderr
    process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(timeout=120) == 1
    assert "Traceback" not in err
    assert "Broken" not in err


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c(project, jobs: str) -> None:
    source = MODEL + "".join(
        f"\nclass Net{n}(torch.nn.Module):\n    def forward(self, x):\n        return x + {n}\n" for n in range(3000)
    )
    root = project({f"model{n}.py": source.replace("> 0", f"> {n}") for n in range(8)})
    process = subprocess.Popen(
        [sys.executable, "-m", "gblint", "check", "--no-cache", "-j", jobs, "--roots", "all"],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    time.sleep(3)
    os.killpg(process.pid, signal.SIGINT)  # what a terminal sends: to all processes of the job
    out, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert out == b""
    assert err.decode().strip() == "gblint: error: interrupted, nothing is reported"


def test_colours_only_where_they_are_wanted(project) -> None:
    root = project({"model.py": MODEL})
    assert "\x1b[" not in check(root).out
    assert "\x1b[" in check(root, FORCE_COLOR="1").out
    assert "\x1b[" not in check(root, FORCE_COLOR="1", NO_COLOR="1").out
    assert "\x1b[" not in check(root, "gone", FORCE_COLOR="1", NO_COLOR="1").err


def test_a_terminal_that_cannot_show_everything(project) -> None:
    root = project({"model.py": MODEL.replace("x.sum() > 0:", "x.sum() > 0:  # 世界")})
    result = check(root, PYTHONIOENCODING="latin-1", PYTHONUTF8="0")
    clean(result)
    assert "if x.sum() > 0:  # \\u4e16\\u754c" in result.out
