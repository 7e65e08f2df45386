"""The commands beside `check`, and the entrance."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import gblint as package
from gblint.config import read_config


def test_version_and_help(gblint) -> None:
    assert gblint("--version").out == f"gblint {package.__version__}\n"
    assert "Predict where torch.compile breaks its graph." in gblint("--help").out
    assert "--min-confidence" in gblint("check", "-h").out


def test_version_imports_nothing_heavy() -> None:
    code = (
        "import sys, gblint.cli.main as m; m.run(['--version']);"
        "print(sorted({'libcst', 'rich', 'msgspec', 'pathspec', 'networkx', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("arguments", "says", "hint"),
    [
        (["chekc"], "no such command: chekc", "did you mean `check`?"),
        (["."], "no such command: .", "to check a path: gblint check ."),
        (["--wrong"], "no such option '--wrong'", "gblint --help"),
        (["explain", "GB9999"], "no such rule: GB9999", "lists the rules"),
        (["explain", "branch-on-tensr"], "no such rule", "branch-on-tensor"),
        (["config", "gone"], "no such file or directory: gone", ""),
    ],
)
def test_what_is_wrong_is_said(project, gblint, arguments: list[str], says: str, hint: str) -> None:
    project({})
    result = gblint(*arguments)
    assert result.code == 2
    assert says in result.err
    assert hint in result.err


def test_explain(gblint) -> None:
    listed = gblint("explain").out
    assert "GB0170  branch-on-tensor: " in listed
    page = gblint("explain", "branch-on-tensor").out
    assert page.startswith("GB0170 branch-on-tensor\n=======")
    assert "Why Dynamo breaks:" in page
    assert "Instead: " in page
    assert page in gblint("explain", "gb0170").out


def test_rules(gblint) -> None:
    listed = gblint("rules").out
    assert listed == gblint("explain").out
    rules = json.loads(gblint("rules", "--output-format", "json").out)
    assert [f"{r['code']}  {r['name']}: {r['summary']}" for r in rules] == listed.splitlines()
    (printing,) = [r for r in rules if r["name"] == "print-call"]
    assert "reorder-logging" in printing["codemods"]
    assert printing["url"].endswith("/gb0059.html")
    assert all(r["advice"] and r["torch"] for r in rules)


def test_config_shows_what_holds(project, gblint) -> None:
    project(
        {
            "gblint.toml": "min-confidence = 0.5\nroots = ['all', 'a:b']\nper-file-ignores = {'x y' = ['GB0170']}\n",
            "sub/a.py": "",
        }
    )
    out = gblint("config", "sub/a.py").out
    assert f"# settings: {Path.cwd() / 'gblint.toml'}" in out
    assert "min-confidence = 0.5" in out
    shown = read_config(project({"shown/gblint.toml": out}) / "shown/gblint.toml")
    original = read_config(Path("gblint.toml"))
    assert shown is not None
    assert original is not None
    for key in shown.__struct_fields__[2:]:
        assert getattr(shown, key) == getattr(original, key)


def test_clean(project, gblint) -> None:
    project({"gblint.toml": "", ".gblint_cache/CACHEDIR.TAG": "", ".gblint_cache/x.db": "", "mine/x": ""})
    assert "deleted" in gblint("clean").out
    assert not Path(".gblint_cache").exists()
    assert "there is no cache" in gblint("clean").out
    result = gblint("clean", "--cache-dir", "mine")
    assert result.code == 2
    assert Path("mine/x").exists()
