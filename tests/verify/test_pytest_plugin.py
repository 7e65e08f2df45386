"""The gate at test time: runs of pytest in processes of their own, with real torch, held against a baseline."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import tomli

from gblint.gate.keys import Key
from gblint.verify.rows import Rows
from gblint.verify.said import Collector, Frame, Message, Recompile, Said
from gblint.verify.suite import met

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
# The plugin of this checkout, whether it is installed or not.
PLUGIN = ("-p", "no:gblint", "-p", "gblint.pytest_plugin", "-p", "no:cacheprovider")
MODEL = """\
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        x = x + 1
        print("one")
        return x * 2
"""
TESTS = """\
import torch
import model

def test_net():
    net = torch.compile(model.Net(), backend="eager")
    assert net(torch.ones(3)).sum() == 12

def test_again():
    net = torch.compile(model.Net(), backend="eager")
    assert net(torch.ones(3)).sum() == 12
"""
ENTRY = {"file": "model.py", "function": "Net.forward", "code": "GB0059", "name": "graph-break", "count": 1}


def write(pytester: pytest.Pytester, model: str = MODEL, tests: str = TESTS, **entry: object) -> None:
    (pytester.path / "conftest.py").write_text("", "utf-8")
    (pytester.path / "model.py").write_text(model, "utf-8")
    (pytester.path / "test_net.py").write_text(tests, "utf-8")
    if entry:
        content = {"version": 1, "findings": [entry]}
        (pytester.path / "breaks.json").write_text(json.dumps(content), "utf-8")


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_subprocess(*PLUGIN, *arguments, timeout=300)


def entries(pytester: pytest.Pytester) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads((pytester.path / "breaks.json").read_text("utf-8"))["findings"]
    return found


def test_a_new_break_fails_the_run_with_its_own_line(pytester: pytest.Pytester) -> None:
    write(pytester, **ENTRY)
    (pytester.path / "model.py").write_text(MODEL.replace("return", 'print("two")\n        return'), "utf-8")
    result = run(pytester, "--gblint-breaks=breaks.json")
    assert result.ret == 1
    result.assert_outcomes(passed=2)
    out = result.stdout.str()
    assert "new graph breaks (gblint)" in out
    assert "model.py:7 GB0059" in out, "of two in a function the last one is new"
    assert '7 |         print("two")' in out
    assert "model.py:6 " not in out
    assert "path: test_net:6 → forward:7\n" in out, "pytest's own rows are not in it"
    assert "1 break is not in breaks.json. To record them: --gblint-update-baseline --gblint-accept-new." in out


def test_a_baseline_is_written_and_holds_when_lines_move(pytester: pytest.Pytester) -> None:
    write(pytester)
    result = run(pytester, "--gblint-breaks=breaks.json", "--gblint-update-baseline")
    assert result.ret == 0
    assert entries(pytester) == [ENTRY]
    result.stdout.fnmatch_lines(["breaks.json records 1 now: 1 added, 0 dropped."])
    (pytester.path / "model.py").write_text("# a line\n" * 100 + MODEL, "utf-8")
    result = run(pytester, "--gblint-breaks=breaks.json")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["1 graph break and 0 recompiled functions met, none of them new."])


def test_what_is_gone_is_told_and_dropped_but_not_by_half_a_run(pytester: pytest.Pytester) -> None:
    write(pytester, model=MODEL.replace('print("one")', "pass"), **ENTRY)
    result = run(pytester, "--gblint-breaks=breaks.json")
    assert result.ret == 0
    told = "1 entry of the baseline is no longer needed: --gblint-update-baseline drops it."
    result.stdout.fnmatch_lines([told])
    half = run(pytester, "--gblint-breaks=breaks.json", "--gblint-update-baseline", "-k", "again")
    assert entries(pytester) == [ENTRY]
    half.stdout.fnmatch_lines(["Nothing was dropped, since only some tests were chosen."])
    assert run(pytester, "--gblint-breaks=breaks.json", "--gblint-update-baseline").ret == 0
    assert entries(pytester) == []


def test_a_baseline_only_shrinks_unless_it_is_told_to_grow(pytester: pytest.Pytester) -> None:
    write(pytester, **(ENTRY | {"code": "GB0001"}))
    options = ("--gblint-breaks=breaks.json", "--gblint-update-baseline")
    assert run(pytester, *options).ret == 1
    assert entries(pytester) == []
    assert run(pytester, *options, "--gblint-accept-new").ret == 0
    assert entries(pytester) == [ENTRY]


def test_a_function_that_is_compiled_again_is_new_with_the_guard_that_failed(pytester: pytest.Pytester) -> None:
    tests = TESTS + "    net(torch.ones(3, dtype=torch.int32))\n"
    write(pytester, tests=tests, **ENTRY)
    result = run(pytester, "--gblint-breaks=breaks.json", "-k", "again")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["model.py:4 recompile Net.forward *", "*failed guard: *dtype mismatch*"])


def test_workers_of_xdist_are_heard(pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    write(pytester, **(ENTRY | {"code": "GB0001"}))
    result = run(pytester, "--gblint-breaks=breaks.json", "-n2")
    assert result.ret == 1
    result.assert_outcomes(passed=2)
    assert result.stdout.str().count("model.py:6 GB0059") == 1


def test_torch_may_be_there_before_the_plugin(pytester: pytest.Pytester) -> None:
    write(pytester, **(ENTRY | {"code": "GB0001"}))
    (pytester.path / "early.py").write_text("import torch\n", "utf-8")
    result = pytester.runpytest_subprocess("-p", "early", *PLUGIN, "--gblint-breaks=breaks.json", timeout=300)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["model.py:6 GB0059*"])


def test_failing_tests_stay_failing_tests(pytester: pytest.Pytester) -> None:
    write(pytester, tests="def test_bad():\n    assert 0\n", **ENTRY)
    result = run(pytester, "--gblint-breaks=breaks.json")
    assert result.ret == 1
    result.assert_outcomes(failed=1)
    out = result.stdout.str()
    assert "no longer needed" not in out, "a test that failed may not have got there"
    assert "Nothing was compiled in this run" in out


def test_a_compiler_that_is_off_is_told(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    write(pytester, tests="def test_good():\n    pass\n", **ENTRY)
    monkeypatch.setenv("TORCH_COMPILE_DISABLE", "1")
    result = run(pytester, "--gblint-breaks=breaks.json")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["Nothing was compiled*TORCH_COMPILE_DISABLE is set*"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--gblint-breaks=none.json"], "no such baseline: *none.json (--gblint-update-baseline writes it)"),
        (["--gblint-breaks=no/b.json", "--gblint-update-baseline"], "the folder of *b.json does not exist"),
        (["--gblint-breaks=model.py"], "*model.py is not a baseline of gblint*"),
        (["--gblint-update-baseline"], "--gblint-update-baseline goes with --gblint-breaks=FILE"),
        (["--gblint-breaks=b.json", "--gblint-accept-new"], "--gblint-accept-new goes with --gblint-update-baseline"),
    ],
)
def test_wrong_options_are_errors_before_any_test_runs(
    pytester: pytest.Pytester, options: list[str], message: str
) -> None:
    write(pytester)
    result = run(pytester, *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: *{message}"])
    assert "Traceback" not in result.stderr.str()


def test_without_the_option_nothing_is_loaded(pytester: pytest.Pytester) -> None:
    names = "[n for n in sys.modules if n == 'torch' or n.startswith('gblint.') and n != 'gblint.pytest_plugin']"
    test = f"def test():\n    assert {names} == []\n    assert 'TORCH_TRACE' not in os.environ\n"
    write(pytester, tests=f"import sys, os\n\n{test}")
    result = run(pytester)
    result.assert_outcomes(passed=1)
    assert "gblint" not in result.stdout.str().partition("test session starts")[2].replace(str(pytester.path), "")


def test_pytest_finds_the_plugin_of_an_installed_gblint() -> None:
    points = tomli.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    assert points == {"pytest11": {"gblint": "gblint.pytest_plugin"}}
    done = subprocess.run([sys.executable, "-c", "import gblint.pytest_plugin"], check=False)
    assert done.returncode == 0


# --------------------------------------------------------------------------------------------------- without a run


def test_rows_have_the_qualified_names_of_their_functions() -> None:
    inner = "    def f(self):\n        def g():\n            return 1\n        return g\n"
    rows = Rows(f"x = 1\nclass A:\n    @wrap\n{inner}\ny = 2\n")
    assert [rows.name(row) for row in range(1, 10)] == [
        "", "", "A.f", "A.f", "A.f.<locals>.g", "A.f.<locals>.g", "A.f", "", "",
    ]  # fmt: skip


def test_rows_are_counted_and_not_how_often_they_are_met(tmp_path: Path) -> None:
    file = tmp_path / "pkg/m.py"
    file.parent.mkdir()
    file.write_text("def f():\n    a\n    b\n\ndef g():\n    c\n", "utf-8")
    collector = Collector()
    for row in (2, 2, 3, 6):
        collector.add(Message(code="GB0059", title="print", stack=(Frame(str(file), row, "f"),)))
    collector.add(Message(code="GB0059", title="print", stack=(Frame("/usr/lib/python3.11/site-packages/t.py", 1),)))
    for reason in ("x", "y"):
        collector.recompile(Recompile("f", str(file), 1, reason))
    found = list(met(collector.done(), tmp_path))
    broken = Key("pkg/m.py", "f", "GB0059", "graph-break")
    assert [item.key for item in found if item.site] == [broken, broken, broken._replace(function="g")]
    (again,) = [item for item in found if not item.site]
    assert (again.key.code, again.key.function, again.guards, again.count) == ("recompile", "f", ("x", "y"), 2)
    assert list(met(Said(), tmp_path)) == []
