"""What the options of `gblint check` do to what is analysed and reported."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from gblint.analysis import Diagnostic, Stats
from gblint.cli.main import cli
from gblint.config import MIN_CONFIDENCE
from tests.conftest import finding


def found(result) -> list[tuple[str, int]]:
    return [(item["code"], item["location"]["row"]) for item in json.loads(result.out)]


def check(gblint, *arguments):
    return gblint("check", "--output-format", "json", *arguments)


def test_exit_codes(project, analyzer, gblint) -> None:
    path = project({"a.py": ""}) / "a.py"
    assert gblint("check").code == 0
    analyzer.findings = [finding(path)]
    assert gblint("check").code == 1
    assert gblint("check", "--exit-zero").code == 0
    assert gblint("check", "gone").code == 2


def test_a_file_that_cannot_be_analysed_is_reported(project, analyzer, gblint) -> None:
    path = project({"a.py": ""}) / "a.py"
    analyzer.diagnostics = [Diagnostic(str(path), 3, 7, "invalid-syntax", "invalid syntax")]
    result = check(gblint, "--select", "GB0170")
    assert result.code == 1
    assert found(result) == [("GBL000", 3)]


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        ([], ["GB0124", "GB0170"]),
        (["--select", "GB0170"], ["GB0170"]),
        (["--select", "GB01"], ["GB0124", "GB0170"]),
        (["--select", "GB0124,GB0170"], ["GB0124", "GB0170"]),
        (["--select", "GB0124", "--select", "GB0170"], ["GB0124", "GB0170"]),
        (["--ignore", "GB017"], ["GB0124"]),
        (["--select", "GB0124", "--extend-select", "GB0170"], ["GB0124", "GB0170"]),
        (["--per-file-ignores", "a.py:GB0170"], ["GB0124"]),
        (["--per-file-ignores", "b.py:GB0170"], ["GB0124", "GB0170"]),
        (["--per-file-ignores", "sub/*:GB01"], ["GB0124", "GB0170"]),
    ],
)
def test_choosing_rules(project, analyzer, gblint, arguments: list[str], codes: list[str]) -> None:
    path = project({"a.py": ""}) / "a.py"
    analyzer.findings = [finding(path, code="GB0124", name="read-tensor-value"), finding(path, 2)]
    assert [code for code, _ in found(check(gblint, *arguments))] == codes


def test_rules_are_chosen_per_file_by_the_nearest_settings(project, analyzer, gblint) -> None:
    root = project(
        {
            "gblint.toml": "ignore = ['GB0170']\nper-file-ignores = {'tests/' = ['GB0124']}",
            "a.py": "", "tests/b.py": "", "own/gblint.toml": "", "own/c.py": "",
        }
    )  # fmt: skip
    for name in ("a.py", "tests/b.py", "own/c.py"):
        path = root / name
        analyzer.findings += [finding(path, 1), finding(path, 2, code="GB0124", name="read-tensor-value")]
    items = json.loads(check(gblint).out)
    assert [(Path(i["filename"]).name, i["code"]) for i in items] == [
        ("a.py", "GB0124"), ("c.py", "GB0170"), ("c.py", "GB0124"),
    ]  # fmt: skip
    assert len(found(check(gblint, "--select", "GB0170"))) == 3, "the command line overrules the settings"


@pytest.mark.parametrize(
    ("arguments", "says", "hint"),
    [
        (["--select", "GB9999"], "no rule answers to `GB9999`", "gblint explain"),
        (["--ignore", "branch-on-tensr"], "no rule answers to `branch-on-tensr`", "branch-on-tensor"),
        (["--select", "E501"], "`E501` is neither a code", "--help"),
        (["--per-file-ignores", "nocolon"], "`nocolon` is not of the form PATTERN:RULE", ""),
        (["--min-confidence", "97"], "expected a number from 0 to 1", ""),
        (["--min-confidence", "high"], "expected a number from 0 to 1", ""),
        (["--target-torch", "two"], "expected a torch release", ""),
        (["--roots", "some"], "`some` is neither one of", ""),
        (["--roots", "all", "--roots", "auto"], "exclude each other", ""),
        (["--jobs", "0"], "0 is not in the range", ""),
        (["--output-format", "xml"], "'xml' is not one of", ""),
        (["--output-format", "sarif:"], "names no file after the colon", ""),
        (["--output-format", "sarif:no/such/folder/x"], "does not exist", ""),
        (["--output-format", "sarif:empty"], "'empty' is a directory", ""),
        (["--output-format", "json", "--output-format", "full"], "cannot go to one place", ""),
        (["--output-format", "json:x", "-o", "y"], "nothing for --output-file to hold", ""),
        (["--output-format", "json:x", "--output-format", "full", "-o", "./x"], "two reports cannot be written", ""),
        (["--output-format", "json:x", "--statistics", "--output-format", "sarif"], "--statistics has no format", ""),
        (["--output-file", "no/such/folder/x"], "does not exist", ""),
        (["--config", "gone.toml"], "no such settings file: gone.toml", ""),
        (["--config", "empty/pyproject.toml"], "has no [tool.gblint] table", ""),
        (["--config", "x", "--isolated"], "exclude each other", ""),
        (["-", "a.py"], "takes no other paths", ""),
        (["a.py", "--stdin-filename", "b.py"], "goes with `-`", ""),
        (["--slect", "GB"], "no such option", "--help"),
    ],
)
def test_what_is_wrong_is_said(project, analyzer, gblint, arguments: list[str], says: str, hint: str) -> None:
    project({"a.py": "", "empty/pyproject.toml": ""})
    result = gblint("check", *arguments)
    assert result.code == 2
    assert result.out == ""
    assert says in result.err
    assert hint in result.err
    assert result.err.startswith("gblint: error: ")
    assert len(result.err.splitlines()) <= 2


def test_errors_in_settings_name_file_and_key(project, analyzer, gblint) -> None:
    project({"a.py": "", "pyproject.toml": "[tool.gblint]\nmin_confidence = 1\n"})
    result = gblint("check")
    assert result.code == 2
    assert "pyproject.toml: unknown key `tool.gblint.min_confidence`" in result.err
    assert "did you mean `min-confidence`?" in result.err
    assert gblint("check", "--isolated").code == 0


def test_unknown_rules_in_settings_name_the_file(project, analyzer, gblint) -> None:
    project({"a.py": "", "gblint.toml": "select = ['no-such-rule']\n"})
    result = gblint("check")
    assert result.code == 2
    assert "gblint.toml: no rule answers to `no-such-rule`" in result.err


def test_a_package_named_by_its_folder_is_no_place_to_import_from(project, analyzer, gblint) -> None:
    root = project({"lib/one/__init__.py": "", "lib/one/a.py": "", "lib/two/__init__.py": ""})
    gblint("check", "--isolated", "lib/one", "lib/two")
    searched = analyzer.calls[0]["settings"].search_paths
    assert str(root / "lib") in searched
    assert str(root / "lib/one") not in searched


def test_minimum_confidence(project, analyzer, gblint) -> None:
    path = project({"a.py": ""}) / "a.py"
    levels = (MIN_CONFIDENCE - 0.01, MIN_CONFIDENCE, 0.9)
    analyzer.findings = [finding(path, row, confidence=level) for row, level in enumerate(levels, 1)]
    assert [row for _, row in found(check(gblint))] == [2, 3]
    assert [row for _, row in found(check(gblint, "--min-confidence", "0"))] == [1, 2, 3]
    assert [row for _, row in found(check(gblint, "--min-confidence", "0.9"))] == [3]
    assert f"1 below confidence {MIN_CONFIDENCE:.0%}" in gblint("check").out
    project({"gblint.toml": "min-confidence = 0.6"})
    assert [row for _, row in found(check(gblint))] == [3]


def test_hot_only(project, analyzer, gblint) -> None:
    path = project({"a.py": ""}) / "a.py"
    analyzer.findings = [finding(path, 1, hot=True), finding(path, 2)]
    assert [row for _, row in found(check(gblint, "--hot-only"))] == [1]
    assert "1 off the hot paths" in gblint("check", "--hot-only").out


def test_settings_reach_the_analyzer(project, analyzer, gblint) -> None:
    project(
        {
            "pyproject.toml": "[tool.gblint]\nroots = ['modules', 'a:f']\n[project]\ndependencies = ['torch==2.11']\n",
            "a.py": "", "src/b.py": "", ".venv/lib/python3.12/site-packages/x.py": "", ".venv/pyvenv.cfg": "",
        }
    )  # fmt: skip
    gblint("check", "a.py", "--jobs", "3")
    settings = analyzer.settings
    root = Path.cwd()
    assert (settings.roots_mode, settings.roots) == ("modules", ("a:f",))
    assert settings.target_torch == "2.11"
    assert settings.python == "3.12"
    assert settings.jobs == 3
    assert settings.search_paths == tuple(map(str, (root, root / "src", root / ".venv/lib/python3.12/site-packages")))
    (call,) = analyzer.calls
    assert call["report"] == [root / "a.py"]
    assert call["project"] == [root / "a.py", root / "src/b.py"]
    assert call["cache_dir"] == root / ".gblint_cache"


def test_options_overrule_settings(project, analyzer, gblint) -> None:
    project({"gblint.toml": "roots = 'modules'\ntarget-torch = '2.11'\ncache-dir = 'c'\n", "a.py": ""})
    gblint("check", "--roots", "explicit", "--roots", "a:Net", "--target-torch", "2.12", "--no-cache")
    settings = analyzer.settings
    assert (settings.roots_mode, settings.roots, settings.target_torch) == ("explicit", ("a:Net",), "2.12")
    assert analyzer.calls[0]["cache_dir"] is None
    gblint("check", "--cache-dir", "here")
    assert analyzer.calls[1]["cache_dir"] == Path.cwd() / "here"
    gblint("check")
    assert analyzer.calls[2]["cache_dir"] == Path.cwd() / "c"


def test_each_project_is_analysed_by_itself(project, analyzer, gblint) -> None:
    project({"one/pyproject.toml": "", "one/a.py": "", "two/gblint.toml": "roots = 'all'", "two/b.py": ""})
    gblint("check", ".")
    seen = [(sorted(p.name for p in c["project"]), c["settings"].roots_mode) for c in analyzer.calls]
    assert seen == [(["a.py"], "auto"), (["b.py"], "all")]


def test_files_of_no_project_make_up_one(project, analyzer, gblint) -> None:
    project({"one/a.py": "", "two/b.py": ""})
    gblint("check", "one", "two")
    (call,) = analyzer.calls
    assert [p.name for p in call["project"]] == ["a.py", "b.py"]


def test_exclude_on_the_command_line_is_relative_to_the_current_folder(project, analyzer, gblint, monkeypatch) -> None:
    root = project({"gblint.toml": "", "sub/gen/a.py": "", "sub/b.py": "", "gen/c.py": ""})
    monkeypatch.chdir(root / "sub")
    gblint("check", "..", "--extend-exclude", "gen/*.py")
    assert analyzer.reported() == {"b.py", "c.py"}


def test_comments_silence_and_unused_ones_are_reported(project, analyzer, gblint) -> None:
    path = project({"a.py": "if x: pass  # noqa: GB0170\ny = 1  # noqa: GB0124\nz = 1  # noqa: E501, W1\n"}) / "a.py"
    analyzer.findings = [finding(path, 1)]
    result = check(gblint)
    assert found(result) == [("GBL001", 2)]
    assert "1 silenced by comments" in gblint("check").out
    assert found(check(gblint, "--ignore", "GBL001")) == []
    assert found(check(gblint, "--select", "GB0170,GBL001")) == [], "the rule that comment names is off"


def test_no_comment_is_called_unused_where_nothing_was_analysed(project, analyzer, gblint) -> None:
    project({"a.py": "y = 1  # noqa: GB0124\n"})
    analyzer.stats = Stats(files=1)
    assert found(check(gblint)) == []


def test_output_file(project, analyzer, gblint) -> None:
    path = project({"a.py": ""}) / "a.py"
    analyzer.findings = [finding(path)]
    result = check(gblint, "--output-file", "report.json")
    assert (result.code, result.out) == (1, "")
    assert json.loads(Path("report.json").read_text())[0]["code"] == "GB0170"


def test_several_reports_at_once(project, analyzer, gblint) -> None:
    path = project({"a.py": ""}) / "a.py"
    analyzer.findings = [finding(path)]
    several = ["--output-format", "sarif:out.sarif", "--output-format", "concise", "--output-format", "json:out.json"]
    result = gblint("check", *several)
    assert (result.code, len(analyzer.calls)) == (1, 1)
    assert result.out.startswith("a.py:1:1: GB0170 ")
    assert json.loads(Path("out.json").read_text())[0]["code"] == "GB0170"
    assert json.loads(Path("out.sarif").read_text())["version"] == "2.1.0"
    assert gblint("check", *several, "-o", "out.txt").out == ""
    assert Path("out.txt").read_text() == result.out


def test_formats_are_completed() -> None:
    completed = ShellComplete(cli, {}, "gblint", "_GBLINT_COMPLETE").get_completions(["check", "--output-format"], "j")
    assert [item.value for item in completed] == ["json", "json-lines", "junit"]


def test_statistics(project, analyzer, gblint) -> None:
    path = project({"a.py": ""}) / "a.py"
    analyzer.findings = [finding(path, 1), finding(path, 2), finding(path, 3, code="GB0124", name="read-tensor-value")]
    assert gblint("check", "--statistics").out.startswith("2  GB0170  branch-on-tensor\n1  GB0124  read-tensor-value\n")
    assert json.loads(check(gblint, "--statistics").out)[0] == {
        "code": "GB0170", "name": "branch-on-tensor", "count": 2,
    }  # fmt: skip


def test_silence_never_looks_like_success(project, analyzer, gblint) -> None:
    project({"empty/x.txt": ""})
    result = gblint("check", "empty")
    assert result.code == 0
    assert "no Python files found under empty: nothing was checked" in result.err
    assert "no graph breaks" not in result.out
    project({"a.py": ""})
    analyzer.stats = Stats(files=1)
    result = gblint("check")
    assert "nothing is compiled in" in result.err
    assert "nothing was analysed" in result.out
    assert check(gblint).err == result.err


def test_a_release_nothing_is_known_of(project, analyzer, gblint) -> None:
    project({"a.py": ""})
    assert "nothing is known of torch 1.4, only of" in gblint("check", "--target-torch", "1.4").err
    assert gblint("check", "--target-torch", "2.13").err == ""


def test_quiet_and_verbose(project, analyzer, gblint) -> None:
    project({"a.py": ""})
    assert gblint("check", "--quiet").out == ""
    result = gblint("check", "--verbose")
    assert f"project {Path.cwd()}: 1 of 1 files checked" in result.err
    assert "no Python environment: libraries are not read" in result.err


def test_standard_input_stands_for_a_file(project, analyzer, gblint, monkeypatch) -> None:
    root = project({"pyproject.toml": "", "a.py": "old = 1\n", "b.py": ""})
    source = b"if new:  # here\n    pass\n"
    analyzer.findings = [finding(root / "a.py", 1)]
    for arguments in (["-", "--stdin-filename", "a.py"], ["--stdin-filename", "a.py"]):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(source)))
        result = gblint("check", *arguments)
        assert result.code == 1
        assert "if new:  # here" in result.out
        call = analyzer.calls[-1]
        assert call["overlay"] == {root / "a.py": source}
        assert call["report"] == [root / "a.py"]
        assert call["project"] == [root / "a.py", root / "b.py"]


def test_comments_in_standard_input_count(project, analyzer, gblint, monkeypatch) -> None:
    root = project({"a.py": "x = 1  # noqa: GB0170\n"})
    analyzer.findings = [finding(root / "a.py", 1)]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"x = 1\n")))
    assert gblint("check", "-", "--stdin-filename", "a.py").code == 1


def test_an_interrupt_is_no_traceback(project, analyzer, gblint, monkeypatch) -> None:
    project({"a.py": ""})

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gblint.checking.analyze", interrupt)
    result = gblint("check")
    assert (result.code, result.out) == (2, "")
    assert result.err == "\ngblint: error: interrupted, nothing is reported\n"


def test_a_bug_is_one_line(project, analyzer, gblint, monkeypatch) -> None:
    project({"a.py": ""})

    def fail(*_: object) -> None:
        raise ValueError("oops")

    monkeypatch.setattr("gblint.checking.analyze", fail)
    result = gblint("check")
    assert result.code == 2
    assert result.err.startswith("gblint: error: internal error: ValueError: oops\n")
