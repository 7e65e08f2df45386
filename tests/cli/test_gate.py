"""`gblint check` that reports only what is new: baselines, and the options beside them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gblint.analysis import Diagnostic, Stats
from tests.conftest import finding, spawn

MODEL = """\
import torch
from tools import shout


class Net(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        shout(x)
        return -x


net = torch.compile(Net())
"""
TOOLS = "def shout(x):\n    print(x)\n    print(x, x)\n"


def rows(result) -> list[tuple[str, int]]:
    return [(Path(item["filename"]).name, item["location"]["row"]) for item in json.loads(result.out)]


def check(gblint, *arguments):
    return gblint("check", "--no-cache", "-j", "1", "--output-format", "json", *arguments)


def entries(path: str = "base.json") -> list[tuple[str, str, int]]:
    items = json.loads(Path(path).read_text())["findings"]
    return [(item["file"], item["name"], item["count"]) for item in items]


# -------------------------------------------------------------------------------------------------- on real source


def test_a_baseline_survives_a_hundred_lines_and_a_renamed_neighbour(project, gblint) -> None:
    root = project({"pyproject.toml": "", "model.py": MODEL, "tools.py": TOOLS, "beside.py": "x = 1\n"})
    assert len(rows(check(gblint))) == 3
    assert check(gblint, "--baseline", "base.json", "--update-baseline").code == 0
    recorded = [("model.py", "branch-on-tensor", 1), ("tools.py", "print-call", 2)]
    assert entries() == recorded

    (root / "model.py").write_text("# a line\n" * 100 + MODEL)
    (root / "beside.py").rename(root / "elsewhere.py")
    result = gblint("check", "--no-cache", "-j", "1", "--baseline", "base.json")
    assert result.code == 0
    assert "Not shown: 3 in the baseline." in result.out
    assert "no longer needed" not in result.out

    (root / "tools.py").write_text(TOOLS + "    print(-x)\n")
    result = check(gblint, "--baseline", "base.json")
    assert result.code == 1
    assert rows(result) == [("tools.py", 4)], "the surplus is the last by row"

    (root / "tools.py").write_text("def shout(x):\n    print(x)\n")
    result = gblint("check", "--no-cache", "-j", "1", "--baseline", "base.json")
    assert result.code == 0
    assert "1 entry of the baseline is no longer needed: --update-baseline drops it." in result.out
    assert entries() == recorded, "nothing is written unless that is asked for"
    assert "1 dropped" in check(gblint, "--baseline", "base.json", "--update-baseline").err
    assert entries() == [("model.py", "branch-on-tensor", 1), ("tools.py", "print-call", 1)]


def test_the_name_of_a_module_does_not_count(project, gblint) -> None:
    root = project({"src/pkg/__init__.py": "", "src/pkg/model.py": MODEL, "src/pkg/tools.py": TOOLS})
    check(gblint, "src/pkg", "--baseline", "base.json", "--update-baseline")
    assert ("src/pkg/model.py", "branch-on-tensor", 1) in entries()
    (root / "src/pkg/__init__.py").unlink()
    result = check(gblint, "src/pkg/model.py", "--baseline", "base.json")
    assert rows(result) == []
    assert rows(check(gblint, "src/pkg/model.py")) == [("model.py", 7)]


def test_comments_are_added_and_silence(project, gblint) -> None:
    root = project({"model.py": MODEL, "tools.py": TOOLS})
    result = check(gblint, "--add-noqa=known since May", "model.py", "tools.py")
    assert (result.code, rows(result)) == (0, [])
    assert "put 3 comments in 2 files, for 3 findings" in result.err
    assert "if x.sum() > 0:  # gblint: ignore[branch-on-tensor] known since May\n" in (root / "model.py").read_text()
    assert rows(check(gblint)) == []
    assert rows(check(gblint, "--ignore-noqa")) == [("model.py", 7), ("tools.py", 2), ("tools.py", 3)]


# ------------------------------------------------------------------------------------------------ on made-up findings


def test_the_file_is_stable_with_an_entry_a_line(project, analyzer, gblint) -> None:
    root = project({"b/model.py": "", "a.py": ""})
    analyzer.findings = [finding(root / "b/model.py", 9), finding(root / "b/model.py", 2), finding(root / "a.py", 5)]
    check(gblint, "--baseline", "base.json", "--update-baseline")
    written = Path("base.json").read_text()
    assert written.splitlines() == [
        "{",
        '  "version": 1,',
        '  "findings": [',
        '    {"file":"a.py","function":"model.Net.forward","code":"GB0170","name":"branch-on-tensor","count":1},',
        '    {"file":"b/model.py","function":"Net.forward","code":"GB0170","name":"branch-on-tensor","count":2}',
        "  ]",
        "}",
    ]
    stat = os.stat("base.json")
    check(gblint, "--baseline", "base.json", "--update-baseline")
    assert os.stat("base.json").st_mtime_ns == stat.st_mtime_ns, "what does not change is not written"


def test_the_ratchet_takes_nothing_new_unless_told(project, analyzer, gblint) -> None:
    path = project({"a.py": ""}) / "a.py"
    analyzer.findings = [finding(path, 1), finding(path, 2)]
    check(gblint, "--baseline", "base.json", "--update-baseline")
    other = finding(path, 4, code="GB0124", name="read-tensor-value")
    analyzer.findings = [*(finding(path, row) for row in (3, 1, 2)), other]
    result = check(gblint, "--baseline", "base.json", "--update-baseline")
    assert result.code == 1
    assert rows(result) == [("a.py", 3), ("a.py", 4)]
    assert "2 graph breaks are not in base.json, which only shrinks: --accept-new adds what is new" in result.err
    assert entries() == [("a.py", "branch-on-tensor", 2)]
    result = check(gblint, "--baseline", "base.json", "--update-baseline", "--accept-new")
    assert (result.code, rows(result)) == (0, [])
    assert "records 4 findings: 2 added, 0 dropped" in result.err
    assert entries() == [("a.py", "read-tensor-value", 1), ("a.py", "branch-on-tensor", 3)]
    analyzer.findings = []
    assert "records 0 findings: 0 added, 4 dropped" in check(gblint, "--baseline", "base.json", "--update-baseline").err
    assert entries() == []


def test_what_was_not_looked_at_is_not_called_gone(project, analyzer, gblint) -> None:
    root = project({"a.py": "", "b.py": "", "c.py": ""})
    names = ("a.py", "b.py", "c.py")
    analyzer.findings = whole = [finding(root / name, confidence=0.9) for name in names]
    update = ("--baseline", "base.json", "--update-baseline")
    check(gblint, *update)
    before = entries()
    assert len(before) == 3

    for off in (["--ignore", "GB0170"], ["--hot-only"], ["--owner", "library"], ["--min-confidence", "1"]):
        assert rows(check(gblint, *off, "--isolated")) == [], off
        check(gblint, *off, *update)
        assert entries() == before, off
    analyzer.findings = whole[:1]
    check(gblint, "a.py", *update)
    assert entries() == before, "other files"
    analyzer.findings = whole[1:]
    analyzer.diagnostics = [Diagnostic(str(root / "a.py"), 1, 1, "invalid-syntax", "invalid syntax")]
    check(gblint, *update)
    assert entries() == before, "a file that could not be analysed"
    analyzer.diagnostics = []
    analyzer.findings, analyzer.stats = [], Stats(files=1)
    check(gblint, *update)
    assert entries() == before, "nothing is compiled"
    (root / "c.py").unlink()
    analyzer.findings, analyzer.stats = whole, Stats(files=1, roots=1)
    check(gblint, "a.py", *update)
    assert [file for file, _, _ in entries()] == ["a.py", "b.py"], "a file that is gone needs no entry"


def test_the_baseline_of_the_settings(project, analyzer, gblint, monkeypatch) -> None:
    settings = "[tool.gblint]\nbaseline = 'ci/base.json'\n"
    root = project({"one/pyproject.toml": settings, "one/a.py": "", "two/b.py": "", "one/ci/x": ""})
    analyzer.findings = [finding(root / "one/a.py"), finding(root / "two/b.py")]
    result = gblint("check")
    assert result.code == 2
    assert "no such baseline" in result.err
    assert rows(check(gblint, "--update-baseline")) == [("b.py", 1)]
    assert entries("one/ci/base.json") == [("../a.py", "branch-on-tensor", 1)]
    monkeypatch.chdir(root / "one")
    assert rows(check(gblint, ".", "../two")) == [("b.py", 1)]
    assert rows(check(gblint, "--isolated")) == [("a.py", 1)]
    assert 'baseline = "ci/base.json"' in gblint("config").out


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is not a baseline of gblint"),
        ("[]", "is not a baseline of gblint"),
        ('{"version": 2, "rows": []}', "has version 2 of the format, this gblint knows version 1"),
        ('{"version": 1}', "is not a baseline of gblint"),
        ('{"version": 1, "findings": [{"file": "a.py"}]}', "is not a baseline of gblint"),
        (
            '{"version":1,"findings":[{"file":"a.py","function":"f","code":"GB0170","name":"n","count":0}]}',
            "a count of 0 for n in a.py",
        ),
        (b"\xff\xfe", "is not a baseline of gblint"),
        ("<<<<<<< ours\n", "is not a baseline of gblint"),
    ],
)
def test_a_wrong_file_is_an_error_and_stays(project, analyzer, gblint, content: str | bytes, says: str) -> None:
    root = project({"a.py": "", "base.json": content})
    analyzer.findings = [finding(root / "a.py")]
    before = (root / "base.json").read_bytes()
    for more in ([], ["--update-baseline"], ["--update-baseline", "--accept-new"]):
        result = check(gblint, "--baseline", "base.json", *more)
        assert result.code == 2
        assert says in result.err
        assert len(result.err.splitlines()) <= 2
        assert (root / "base.json").read_bytes() == before
    assert sorted(path.name for path in root.iterdir()) == ["a.py", "base.json"]


def test_a_baseline_that_cannot_be_written(project, analyzer, gblint, monkeypatch) -> None:
    root = project({"a.py": "", "folder/x": ""})
    analyzer.findings = [finding(root / "a.py")]
    for name, says in (("gone/base.json", "No such file or directory"), ("folder", "is a directory")):
        result = check(gblint, "--baseline", name, "--update-baseline")
        assert result.code == 2
        assert says in result.err

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    check(gblint, "--baseline", "base.json", "--update-baseline")
    before = Path("base.json").read_bytes()
    analyzer.findings = []
    monkeypatch.setattr("os.replace", full)
    for name in ("base.json", "new.json"):
        result = check(gblint, "--baseline", name, "--update-baseline")
        assert result.code == 2
        assert "No space left on device" in result.err
    assert Path("base.json").read_bytes() == before
    assert sorted(path.name for path in root.iterdir()) == ["a.py", "base.json", "folder"]


def test_entries_that_a_merge_doubled_count_once(project, analyzer, gblint) -> None:
    path = project({"a.py": ""}) / "a.py"
    entry = '{"file":"a.py","function":"model.Net.forward","code":"GB0170","name":"branch-on-tensor","count":%d}'
    Path("base.json").write_text('{"version": 1, "findings": [' + entry % 2 + ",\n" + entry % 1 + "]}")
    analyzer.findings = [finding(path, 1), finding(path, 2), finding(path, 3)]
    assert rows(check(gblint, "--baseline", "base.json")) == [("a.py", 3)]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--update-baseline"], "--update-baseline needs --baseline FILE"),
        (["--accept-new"], "--accept-new goes with --update-baseline"),
        (["--baseline", "b", "--verify", "true"], "--baseline excludes --verify"),
        (["--new-since", "HEAD", "--diff"], "--new-since excludes --diff"),
        (["--add-noqa", "--diff"], "--add-noqa excludes --diff"),
        (["--baseline", "b", "--compare-torch", "2.15"], "--baseline excludes --compare-torch"),
        (["--add-noqa", "--update-baseline", "--baseline", "b"], "excludes --new-since and --add-noqa"),
        (["--add-noqa=one # two"], "a reason is one line without `#`"),
        (["--add-noqa=one\ntwo"], "a reason is one line without `#`"),
        (["--owner", "mine"], "'mine' is not one of"),
    ],
)
def test_what_does_not_go_together_is_said(project, analyzer, gblint, arguments: list[str], says: str) -> None:
    project({"a.py": ""})
    result = gblint("check", *arguments)
    assert (result.code, result.out) == (2, "")
    assert says in result.err


def test_owner(project, analyzer, gblint) -> None:
    path = project({"a.py": ""}) / "a.py"
    analyzer.findings = [finding(path, 1), finding(path, 2, owner="library")]
    assert rows(check(gblint)) == [("a.py", 1), ("a.py", 2)]
    assert rows(check(gblint, "--owner", "yours")) == [("a.py", 1)]
    assert rows(check(gblint, "--owner", "library")) == [("a.py", 2)]
    assert "1 in code of others than --owner names" in gblint("check", "--owner", "yours").out


def test_comments_can_be_ignored(project, analyzer, gblint) -> None:
    path = project({"a.py": "x = 1  # noqa: GB0170\ny = 2  # gblint: ignore\n"}) / "a.py"
    analyzer.findings = [finding(path, 1)]
    assert rows(check(gblint)) == [("a.py", 2)], "the second comment silences nothing"
    assert rows(check(gblint, "--ignore-noqa")) == [("a.py", 1)]


def test_a_path_after_add_noqa_is_a_path(project, analyzer, gblint) -> None:
    root = project({"a.py": "x = 1\n", "b.py": "x = 1\n"})
    analyzer.findings = [finding(root / "a.py"), finding(root / "b.py")]
    assert gblint("check", "--add-noqa", "a.py").code == 0
    assert (root / "a.py").read_text() == "x = 1  # gblint: ignore[branch-on-tensor]\n"
    assert (root / "b.py").read_text() == "x = 1\n"


def test_a_finding_that_no_comment_can_silence_is_reported(project, analyzer, gblint) -> None:
    root = project({"a.py": "x = 1  # gblint: noqa: GB0124\n"})
    before = (root / "a.py").read_text()
    analyzer.findings = [finding(root / "a.py", 1)]
    result = gblint("check", "--add-noqa", "--ignore", "GBL001")
    assert result.code == 1
    assert "1 finding could not be given a comment" in result.err
    assert "a.py:1:1 GB0170" in result.out
    assert (root / "a.py").read_text() == before


def test_comments_are_added_to_what_a_baseline_leaves(project, analyzer, gblint) -> None:
    path = project({"a.py": "x = 1\ny = 2\n"}) / "a.py"
    analyzer.findings = [finding(path, 1)]
    check(gblint, "--baseline", "base.json", "--update-baseline")
    analyzer.findings = [finding(path, 1), finding(path, 2)]
    check(gblint, "--baseline", "base.json", "--add-noqa")
    assert path.read_text() == "x = 1\ny = 2  # gblint: ignore[branch-on-tensor]\n"


def test_files_and_settings_are_shown(project, analyzer, gblint) -> None:
    project({"gblint.toml": "exclude = ['gen']\nmin-confidence = 0.3\n", "a.py": "", "b/c.py": "", "gen/d.py": ""})
    result = gblint("check", "--show-files")
    assert (result.code, result.out) == (0, f"a.py\n{Path('b/c.py')}\n")
    result = gblint("check", "b", "--show-settings", "--min-confidence", "0.7")
    assert result.code == 0
    assert f"# settings: {Path.cwd() / 'gblint.toml'}" in result.out
    assert "min-confidence = 0.7" in result.out
    assert not analyzer.calls


def test_quiet_says_nothing_of_an_update(project) -> None:
    root = project({"model.py": MODEL, "tools.py": TOOLS})
    arguments = ("check", "-n", "-j", "1", "--baseline", "base.json", "--update-baseline", "--quiet")
    result = spawn(*arguments, cwd=root)
    assert (result.code, result.out, result.err) == (0, "", "")
    assert len(entries()) == 2
