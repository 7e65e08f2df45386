"""Verdicts: what confirms, refutes, masks a prediction, what is missed, and in what order they are reported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gblint.checking import Options, Outcome, Scope
from gblint.environment import Environment
from gblint.findings.finding import Finding
from gblint.report.style import Style
from gblint.verify import report
from gblint.verify.matching import CONFIRMED, MASKED, MISSED, REFUTED, UNREACHED, Judged, judge
from gblint.verify.rows import Rows, rows_of
from gblint.verify.running import EXITED, Ran
from gblint.verify.said import RESUMES, SKIPS, Break, Frame, Message, Said
from gblint.verify.sites import Site, is_yours, sites, within
from gblint.verify.verifying import compare
from tests.conftest import Write, finding

SOURCE = """\
import torch


@torch.compile(
    backend="eager",
)
def f(x):
    y = torch.add(
        x,
        x.sum().item(),
    )
    for _ in range(2):
        print(x.tolist(), x.item())
    if y > 0:
        x = x + 1
    return [
        g(a)
        for a in x
    ]


def g(x):
    with open("a") as file, \\
            lock:
        return x.item()
"""


@pytest.fixture
def model(project: Write) -> Path:
    return project({"model.py": SOURCE}) / "model.py"


def site(file: Path, row: int, code: str, effect: str = RESUMES, **more: object) -> Site:
    fields = {"name": "x", "function": "f", "count": 1, "compile_ids": [], "effect": effect, **more}
    return Site(code=code, filename=str(file), row=row, **fields)


def at(file: Path, row: int, code: str, end: int = 0) -> Finding:
    return finding(file, row, code=code, end_row=end or row)


def verdicts(judged: list[Judged]) -> list[tuple[int, str, str]]:
    return [(j.finding.row, j.finding.code, j.verdict) for j in judged]


# --------------------------------------------------------------------------------------------------------- verdicts


def test_confirmed_refuted_not_reached_and_missed(model: Path) -> None:
    findings = [at(model, 10, "GB0124"), at(model, 14, "GB0170"), at(model, 25, "GB0124")]
    found = [site(model, 10, "GB0124"), site(model, 13, "GB0059")]
    judged = judge(findings, found, {str(model): [8, 9, 10, 13, 14]})
    assert verdicts(judged) == [
        (10, "GB0124", CONFIRMED),
        (14, "GB0170", REFUTED),
        (25, "GB0124", UNREACHED),
        (13, "GB0059", MISSED),
    ]
    assert judged[0].site is found[0]
    assert judged[3].finding.confidence == 1.0
    assert (judged[3].finding.column, judged[3].finding.end_column) == (9, 36)


def test_a_statement_of_several_rows_is_one_place(model: Path) -> None:
    judged = judge([at(model, 8, "GB0124")], [site(model, 10, "GB0124")], {str(model): [8, 10]})
    assert verdicts(judged) == [(8, "GB0124", CONFIRMED)]
    other = judge([at(model, 8, "GB0170")], [site(model, 10, "GB0124")], {str(model): [8, 10]})
    assert verdicts(other) == [(8, "GB0170", REFUTED), (10, "GB0124", MISSED)]


def test_comprehensions_decorators_and_heads(model: Path) -> None:
    pairs = [(16, 17, "GB0124"), (4, 7, "GB0003"), (23, 24, "GB0142")]
    for foretold, observed, code in pairs:
        judged = judge([at(model, foretold, code)], [site(model, observed, code)], {})
        assert verdicts(judged) == [(foretold, code, CONFIRMED)]
    body = judge([at(model, 23, "GB0124")], [site(model, 25, "GB0124")], {str(model): [23, 25]})
    assert [j.verdict for j in body] == [REFUTED, MISSED]  # the head of a with statement is not its body


def test_another_id_in_the_rows_of_a_finding(model: Path) -> None:
    (judged,) = judge([at(model, 14, "GB0170")], [site(model, 14, "GB0033")], {str(model): [14]})
    assert (judged.verdict, judged.note) == (CONFIRMED, "Dynamo calls it GB0033")


def test_an_id_that_was_reported_around_it_is_right_too(model: Path) -> None:
    (judged,) = judge([at(model, 13, "GB7000")], [site(model, 13, "GB0059", SKIPS, wraps=("GB7000",))], {})
    assert (judged.verdict, judged.note) == (CONFIRMED, "")


def test_one_break_confirms_by_id_before_it_confirms_another_id(model: Path) -> None:
    findings = [at(model, 14, "GB0170"), at(model, 14, "GB0033")]
    judged = judge(findings, [site(model, 14, "GB0033")], {str(model): [14]})
    assert [j.verdict for j in judged] == [REFUTED, CONFIRMED]
    assert judged[0].note == "the graph does break there, but as GB0033"


def test_masked_where_dynamo_gave_the_function_up(model: Path) -> None:
    findings = [at(model, 13, "GB0109"), at(model, 14, "GB0170"), at(model, 25, "GB0124")]
    found = [site(model, 13, "GB0059", SKIPS, count=2)]
    taken = at(model, 13, "GB0059")
    judged = judge([taken, *findings], found, {str(model): [8, 13]})
    assert [j.verdict for j in judged] == [CONFIRMED, MASKED, MASKED, UNREACHED]
    assert judged[1].note == "Dynamo gives the function up at row 13 (GB0059)"


def test_files_may_go_by_other_names(model: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(model.parent, target_is_directory=True)
    judged = judge([at(model, 14, "GB0170")], [site(link / "model.py", 14, "GB0170")], {})
    assert [j.verdict for j in judged] == [CONFIRMED]
    (refuted,) = judge([at(model, 14, "GB0170")], [], {str(link / "model.py"): [14]})
    assert refuted.verdict == REFUTED


def test_a_file_that_cannot_be_parsed_is_matched_by_rows(project: Write) -> None:
    file = project({"broken.py": "def f(:\n"}) / "broken.py"
    judged = judge([at(file, 3, "GB0170"), at(file, 4, "GB0059")], [site(file, 3, "GB0170")], {str(file): [4]})
    assert [j.verdict for j in judged] == [CONFIRMED, REFUTED]


def test_rows() -> None:
    rows = Rows(SOURCE)
    assert [rows.statement(row) for row in (5, 7, 9, 12, 13, 17, 24, 25)] == [
        (4, 7),
        (4, 7),
        (8, 11),
        (12, 12),
        (13, 13),
        (16, 19),
        (23, 24),
        (25, 25),
    ]
    assert (rows.function(13), rows.function(1)) == ((4, 19), (0, 0))
    nested = Rows("def a():\n    def b():\n        pass\n    x = 1\n")
    assert [nested.function(row) for row in (1, 3, 4)] == [(1, 4), (2, 3), (1, 4)]


def test_rows_of_a_file_that_changes(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("f(\n    1)\n")
    assert rows_of(str(file)).statement(2) == (1, 2)
    file.write_text("f(1)\ng()\n")
    assert rows_of(str(file)).statement(2) == (2, 2)
    assert rows_of(str(tmp_path / "absent.py")).statement(2) == (2, 2)
    assert rows_of("a\0b").lines == []


# ----------------------------------------------------------------------------------------------------------- places


def test_whose_file_it_is(tmp_path: Path) -> None:
    assert is_yours("/home/me/project/model.py")
    for other in (
        "<string>",
        "",
        "/home/me/.venv/lib/python3.11/site-packages/timm/layers.py",
        "/usr/lib/python3/dist-packages/numpy/core.py",
        "/usr/lib/python3.11/copy.py",
        "/src/pytorch/torch/nn/functional.py",
    ):
        assert not is_yours(other)
    library = tmp_path / "site-packages" / "timm"
    owner = within([str(tmp_path / "train.py")], [library])
    assert owner(str(library / "layers.py"))
    assert owner(str(tmp_path / "train.py"))
    assert not owner(str(tmp_path / "site-packages" / "other" / "a.py"))
    assert not within((), [tmp_path])(str(library / "layers.py"))


def test_a_break_of_no_row_of_yours_is_the_librarys(tmp_path: Path) -> None:
    library = Frame("/venv/lib/python3.11/site-packages/lib/a.py", 3, "run")
    inner = Frame("/venv/lib/python3.11/site-packages/torch/nn/functional.py", 9, "f")
    said = Said(breaks=[Break(Message("GB0124", title="t", stack=(library, inner)))])
    (found,) = sites(said)
    assert (found.owner, found.row, found.library) == ("library", 3, inner)


# ----------------------------------------------------------------------------------------------------------- report


def ran(file: Path, *breaks: tuple[int, str, str, int, str], traced: tuple[int, ...] = ()) -> Ran:
    events = [
        Break(
            Message(
                code, (), f"kind {code}", "why", category=category, effect=effect, stack=(Frame(str(file), row, "f"),)
            ),
            count,
            compile_ids=["0/0"],
        )
        for row, code, effect, count, category in breaks
    ]
    return Ran(
        Said(events, traced={str(file): set(traced)}, torch="2.13.0", compiled=3, graphs=2), 0, EXITED, 1.0, [], True
    )


def outcome(file: Path, *findings: Finding) -> Outcome:
    scope = Scope(file.parent, 1, 1, Options(), Environment("3.11", (), ""), None)
    return Outcome(findings=list(findings), scopes=[scope])


def compared(file: Path, run: Ran, *findings: Finding, **options: object):
    return compare(Options(paths=(str(file),), isolated=True, **options), outcome(file, *findings), run)


def test_order_to_fix_in(model: Path) -> None:
    run = ran(
        model,
        (8, "GB0001", RESUMES, 1, "supportable"),
        (12, "GB0002", RESUMES, 9, "cascade"),
        (13, "GB0003", SKIPS, 1, "fundamental"),
        (14, "GB0004", RESUMES, 5, "supportable"),
        (15, "GB0005", RESUMES, 1, "user-error"),
    )
    text = report.render_concise(compared(model, run), Style(summary=False))
    assert [line.split()[1] for line in text.splitlines()] == ["GB0003", "GB0004", "GB0005", "GB0001", "GB0002"]


def test_reports_in_all_formats(model: Path) -> None:
    run = ran(model, (13, "GB0059", SKIPS, 3, "supportable"), (10, "GB0124", RESUMES, 1, ""), traced=(10, 13, 14))
    foretold = (at(model, 13, "GB0059"), at(model, 14, "GB0170"), at(model, 24, "GB0170"))
    result = compared(model, run, *foretold)
    full = report.render(result, Style())
    assert "model.py:13:1 GB0059 branch-on-tensor 99% CONFIRMED [3 times]" in full.replace("100%", "99%")
    assert "model.py:10:9 GB0124 kind-gb0124 MISSED [once]" in full
    assert "Refuted: traced, and the graph did not break" in full
    assert "Verified: 1 confirmed, 1 missed, 1 not reached, 1 refuted." in full
    assert full.index("GB0124 kind-gb0124 ") > full.index("CONFIRMED")
    table = [line.split() for line in full.splitlines() if line.startswith("GB")]
    assert table == [
        ["GB0059", "branch-on-tensor", "1", "·", "·", "·", "·"],
        ["GB0124", "kind-gb0124", "·", "1", "·", "·", "·"],
        ["GB0170", "branch-on-tensor", "·", "·", "·", "1", "1"],
    ]
    data = json.loads(report.render_json(result, Style()))
    assert [(f["code"], f["verdict"]) for f in data["findings"]] == [
        ("GB0059", "confirmed"),
        ("GB0124", "missed"),
        ("GB0170", "not-reached"),
        ("GB0170", "refuted"),
    ]
    assert data["findings"][0]["observed"]["count"] == 3
    assert data["rules"][0] == {
        "rule": "GB0059 branch-on-tensor",
        "confirmed": 1,
        "missed": 0,
        "masked": 0,
        "not-reached": 0,
        "refuted": 0,
    }
    assert (data["run"]["torch"], data["run"]["exit_code"], data["eager_run"]) == ("2.13.0", 0, None)
    assert data["not_shown"] == {"below_min_confidence": 0, "silenced": 0}
    assert (data["kept"], data["notes"]) == ({}, [])


def test_low_confidence_is_shown_only_when_it_comes_true(model: Path) -> None:
    low = [finding(model, row, code=code, confidence=0.3) for row, code in ((13, "GB0059"), (14, "GB0170"))]
    result = compared(model, ran(model, (13, "GB0059", SKIPS, 1, ""), traced=(13, 14)), *low)
    assert [(j.finding.row, j.verdict, j.low) for j in result.judged] == [(13, CONFIRMED, True)]
    assert [j.finding.row for j in result.unshown] == [14]
    assert "(below the minimum confidence)" in report.render(result, Style())
    shown = compared(model, ran(model, traced=(13, 14)), *low, min_confidence=0.0)
    assert [j.verdict for j in shown.judged] == [REFUTED, REFUTED]


def test_silenced_breaks_are_counted_not_missed(project: Write) -> None:
    source = "def f(x):\n    print(x)  # noqa: GB0059\n    x.item()\n"
    file = project({"model.py": source, "gblint.toml": 'ignore = ["GB0124"]\n'}) / "model.py"
    run = ran(file, (2, "GB0059", RESUMES, 1, ""), (3, "GB0124", RESUMES, 1, ""))
    result = compare(Options(paths=(str(file),)), outcome(file), run)
    assert (result.judged, result.silenced) == ([], 2)
    assert "2 breaks silenced" in report.render(result, Style())


def test_breaks_elsewhere_are_told_apart(project: Write) -> None:
    folder = project({"a.py": "x\n", "b.py": "x\n"})
    run = ran(folder / "b.py", (1, "GB0059", RESUMES, 1, ""))
    result = compared(folder / "a.py", run)
    assert [s.filename for s in result.elsewhere] == [str(folder / "b.py")]
    assert result.judged == []
    assert "1 break in files that were not named: b.py:1 GB0059." in report.render(result, Style())


def test_a_file_edited_since_is_said(model: Path) -> None:
    run = ran(model, traced=(13,))
    run.said.texts[str(model), 13] = "print(x.tolist(), x.item())"
    assert compared(model, run).outcome.notes == []
    run.said.texts[str(model), 14] = "if y > 1:"
    (note,) = compared(model, run).outcome.notes
    assert note.startswith(f"{model} is not what was run")


# ---------------------------------------------------------------------------------------------------------- command


def test_the_command_needs_a_command(model: Path, gblint: Callable) -> None:
    result = gblint("verify", model)
    assert result.code == 2
    assert "there is no command to run" in result.err
    assert gblint("check", model, "--verify", "").code == 2
    assert "No closing quotation" in gblint("check", model, "--verify", "python 'x").err
    assert "--verify excludes" in gblint("check", model, "--verify", "x", "--statistics").err
    assert "standard input" in gblint("verify", "-", "--", "true").err


def test_what_is_not_options_goes_to_the_command(model: Path, gblint: Callable) -> None:
    result = gblint("verify", model, "-n", "--", "no-such-program", "--select", "-q", "--", "x")
    assert result.code == 2
    assert "running `no-such-program --select -q -- x`" in result.err
    assert "there is no program `no-such-program`" in result.err
