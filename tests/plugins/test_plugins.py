"""Plugins: what an installed package brings works like what gblint brings itself, and a broken one is told plainly."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.conftest import spawn
from tests.plugins.conftest import EXAMPLE

MODEL = """\
import shop_native
import torch


@torch.compile
def step(x):
    shop_native.send("mean", x.mean())
    y = shop_native.fused_norm(x)
    if shop_native.overflows(y):
        y = y / 2
    shop_native.flush()
    return y
"""
FINDINGS = [("SHOP001", 7), ("GB0170", 9), ("GBL100", 11)]


def findings(result) -> list[tuple[str, int]]:
    return [(item["code"], item["location"]["row"]) for item in json.loads(result.out)]


def check(run, *arguments: str) -> list[tuple[str, int]]:
    result = run("check", "--output-format", "json", *arguments)
    assert result.code in (0, 1), result.err
    return findings(result)


def test_without_the_plugin_the_extension_is_a_closed_book(project) -> None:
    root = project({"model.py": MODEL})
    assert findings(spawn("check", "--output-format", "json", cwd=root)) == []


def test_rules_and_knowledge_of_a_plugin_find_what_gblint_cannot_know(project, with_shop) -> None:
    project({"model.py": MODEL})
    assert check(with_shop) == FINDINGS
    shown = with_shop("check").out
    assert "SHOP001 metric-call [hot]" in shown
    assert '`shop_native.send("mean", x.mean())` sends a tensor, and waits for it' in shown
    assert "see: https://wiki.example.org/metrics" in shown
    assert "`shop_native.flush()` calls `shop_native.flush`, which breaks the graph: writes what has piled up" in shown
    assert "gbl100.html" not in shown, "there is no page of PyTorch's about it"


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        (("--select", "SHOP001"), FINDINGS[:1]),
        (("--select", "SHOP"), FINDINGS[:1]),
        (("--select", "metric-call,declared-break"), [FINDINGS[0], FINDINGS[2]]),
        (("--select", "GB"), FINDINGS[1:]),
        (("--ignore", "SHOP,GBL100"), FINDINGS[1:2]),
        (("--per-file-ignores", "model.py:SHOP001"), FINDINGS[1:]),
    ],
)
def test_a_rule_of_a_plugin_is_selected_like_any(arguments, left, project, with_shop) -> None:
    project({"model.py": MODEL})
    assert check(with_shop, *arguments) == left


@pytest.mark.parametrize("comment", ["noqa: SHOP001", "gblint: ignore[SHOP001]", "gblint: ignore[metric-call] why"])
def test_a_rule_of_a_plugin_is_silenced_like_any(comment, project, with_shop) -> None:
    project({"model.py": MODEL.replace("x.mean())", f"x.mean())  # {comment}")})
    assert check(with_shop) == FINDINGS[1:]


def test_a_comment_that_silences_nothing_is_told(project, with_shop) -> None:
    project({"model.py": MODEL.replace("    return y", "    return y  # gblint: ignore[SHOP001]")})
    assert ("GBL001", 12) in check(with_shop)


def test_a_name_of_no_rule_is_an_error_with_the_plugin_as_without(project, with_shop) -> None:
    project({"model.py": MODEL})
    result = with_shop("check", "--select", "SHOPS")
    assert result.code == 2
    assert "no rule answers to `SHOPS`" in result.err
    assert spawn("check", "--select", "SHOP001", cwd=Path.cwd()).code == 2


def test_a_rule_of_a_plugin_is_listed_and_explained(project, with_shop) -> None:
    project({})
    assert "SHOP001  metric-call: a metric is sent from a compiled region" in with_shop("rules").out
    page = with_shop("explain", "shop001")
    assert page.code == 0
    assert "Send the metric from the training loop." in page.out
    assert "Puts the call under" in with_shop("explain", "guard-metric").out


def test_a_codemod_of_a_plugin_repairs(project, with_shop) -> None:
    root = project({"model.py": MODEL})
    done = with_shop("fix", "--unsafe-fixes", "--rule", "SHOP001")
    assert (
        '    if not torch.compiler.is_compiling():\n        shop_native.send("mean"' in (root / "model.py").read_text()
    )
    assert "1 graph break" in done.out + done.err
    assert check(with_shop) == [(code, row + 1) for code, row in FINDINGS[1:]]


def test_every_output_format_takes_what_has_no_page(project, with_shop) -> None:
    project({"model.py": MODEL})
    assert with_shop("check", "--output-format", "sarif:out.sarif", "--output-format", "markdown").code == 1
    (run,) = json.loads(Path("out.sarif").read_text())["runs"]
    pages = {rule["id"].partition("/")[0]: rule.get("helpUri") for rule in run["tool"]["driver"]["rules"]}
    assert pages["SHOP001"] == "https://wiki.example.org/metrics"
    assert pages["GBL100"] is None


# ------------------------------------------------------------------------------------------------------------ cache


def make_plugin(folder: Path, group: str, value: str, **modules: str) -> Path:
    """A package that is installed without pip: its folder, and what says that it is there."""
    about = folder / "acme-1.0.dist-info"
    about.mkdir(parents=True, exist_ok=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{group}]\nacme = {value}\n")
    (folder / "acme").mkdir(exist_ok=True)
    for name, text in {"__init__": "", **modules}.items():
        (folder / "acme" / f"{name}.py").write_text(text)
    return folder


def test_results_are_kept_for_the_plugins_that_there_were(project, with_shop, shop) -> None:
    root = project({"model.py": MODEL})
    assert check(with_shop) == FINDINGS
    assert findings(spawn("check", "--output-format", "json", cwd=root)) == []
    assert check(with_shop) == FINDINGS

    plugins = make_plugin(root / "site", "gblint.knowledge", "acme:TABLE", __init__="TABLE = {}\n")
    both = f"{shop}:{plugins}"
    spawned = lambda: findings(spawn("check", "--output-format", "json", "model.py", cwd=root, PYTHONPATH=both))  # noqa: E731
    assert spawned() == FINDINGS
    make_plugin(root / "site", "gblint.knowledge", "acme:TABLE",
                __init__="TABLE = {'shop_native.send': {'breaks': 'it waits'}}\n")  # fmt: skip
    assert spawned() == [("GBL100", 7), *FINDINGS[1:]], "an edit of a plugin counts at once"


# ------------------------------------------------------------------------------------------------------ broken ones

RULE = """
from gblint.rule_api import Rule, RuleMeta
class Acme(Rule):
    meta = RuleMeta("{code}", "{slug}", "x", "user-error", "X.")
"""


@pytest.mark.parametrize(
    ("group", "value", "text", "said"),
    [
        ("gblint.rules", "acme.gone:Acme", "", r"cannot be loaded: ModuleNotFoundError: No module named 'acme.gone'"),
        ("gblint.rules", "acme:Acme", "import nothing_like_this", r"cannot be loaded: ModuleNotFoundError"),
        ("gblint.rules", "acme:Acme", "1 / 0", r"cannot be loaded: ZeroDivisionError: division by zero"),
        ("gblint.rules", "acme:Acme", "Acme = 3", r"names no Rule"),
        ("gblint.rules", "acme", "", r"names no Rule"),
        ("gblint.rules", "acme:Acme", RULE.format(code="GBL123", slug="acme"), r"has a rule with the code GBL123"),
        ("gblint.rules", "acme:Acme", RULE.format(code="A1", slug="Bad Name"), r"the name Bad Name: a code is letters"),
        ("gblint.rules", "acme", RULE.format(code="GB0059", slug="print-call"), r"two rules .* GB0059 print-call"),
        ("gblint.rules", "acme:Acme", RULE.partition("    meta")[0] + "    pass", r"without `meta`: Acme"),
        ("gblint.codemods", "acme:Acme", "Acme = dict", r"names no Codemod"),
        ("gblint.knowledge", "acme:T", "T = {'a': {}}", r"is wrong: `a` is not a dotted name"),
        ("gblint.knowledge", "acme:T", "T = {'a.b': {'return': 'int'}}", r"key `return`; did you mean `returns`"),
        ("gblint.knowledge", "acme:T", "def T(): raise OSError('no table')", r"is wrong: no table"),
    ],
)  # fmt: skip
def test_a_broken_plugin_is_an_error_that_names_it(group, value, text, said, project) -> None:
    root = project({"model.py": MODEL})
    folder = make_plugin(root / "site", group, value, __init__=text)
    # What has to be repaired loads the codemods.
    command = ("fix", "--unsafe-fixes") if group == "gblint.codemods" else ("check",)
    result = spawn(*command, "model.py", cwd=root, PYTHONPATH=str(folder))
    if group == "gblint.codemods":
        (root / "model.py").write_text(MODEL.replace("shop_native.flush()", "print(y)"))
        result = spawn(*command, "model.py", cwd=root, PYTHONPATH=str(folder))
    assert result.code == 2, result.out
    assert re.search(said, result.err), result.err
    assert "Traceback" not in result.err
    if "two rules" not in said:
        assert f"the plugin acme ({value}) of acme 1.0" in result.err
        assert "hint: repair or uninstall acme" in result.err


def test_a_module_may_bring_several_rules(project) -> None:
    text = RULE.format(code="ACME001", slug="one") + RULE.format(code="ACME002", slug="two").replace("Acme", "Other")
    folder = make_plugin(project({}) / "site", "gblint.rules", "acme", __init__=text)
    listed = spawn("rules", cwd=folder, PYTHONPATH=str(folder)).out
    assert "ACME001  one: x" in listed
    assert "ACME002  two: x" in listed


def test_a_rule_that_fails_loses_its_answer_and_the_report_says_so(project) -> None:
    root = project({"model.py": MODEL.replace("shop_native.flush()", "print(y)")})
    text = RULE.format(code="ACME001", slug="acme") + "    def on_branch(self, event, context): return 1 / 0\n"
    text += "    calls = ('builtins.print',)\n    def on_call(self, event, context): return 1 / 0\n"
    folder = make_plugin(root / "site", "gblint.rules", "acme", __init__=text)
    result = spawn("check", "model.py", cwd=root, PYTHONPATH=str(folder))
    assert "GB0059 print-call" in result.out
    assert "rule ACME001 acme: ZeroDivisionError: division by zero" in result.out + result.err


def test_the_page_about_plugins_shows_the_example() -> None:
    page = (EXAMPLE.parents[1] / "plugins.md").read_text()
    points = re.findall(r"^\[project.entry-points.*\n.*$", (EXAMPLE / "pyproject.toml").read_text(), re.MULTILINE)
    assert len(points) == 3
    assert [point for point in points if point not in page] == []
    assert (EXAMPLE / "gblint_shop/functions.py").read_text().partition("\n\n")[2] in page
    program = re.search(r"^```python\n(import shop_native.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert program
    assert [line.partition("  #")[0].rstrip() for line in program[1].splitlines()] == MODEL.splitlines()


def test_knowledge_may_come_from_a_function(project) -> None:
    root = project({"model.py": MODEL})
    text = "def table():\n    return {'shop_native.*': {'breaks': 'native code'}}\n"
    folder = make_plugin(root / "site", "gblint.knowledge", "acme:table", __init__=text)
    result = spawn("check", "model.py", "--output-format", "json", cwd=root, PYTHONPATH=str(folder))
    assert findings(result) == [("GBL100", row) for row in (7, 8, 9, 11)]
