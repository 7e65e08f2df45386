"""How findings look in each format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gblint.analysis import Stats
from gblint.checking import Outcome, Problem, Scope
from gblint.findings.finding import Edit, Fix, Reason, Step
from gblint.report import FORMATS, Style
from gblint.report.order import by_worth
from tests.conftest import finding

SOURCE = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        gate = self.router(x)
\tif gate.sum() > 0:
            print("世界", x)
        y = f(
            x,
        )
        return y
"""


@pytest.fixture
def model(project) -> Path:
    return project({"model.py": b"", "train.py": ""}) / "model.py"


def render(form: str, outcome: Outcome, colour: bool = False, summary: bool = False) -> str:
    return FORMATS[form](outcome, Style(colour, summary))


def write(model: Path, source: str = SOURCE) -> None:
    model.write_text(source, encoding="utf-8")


def test_the_full_report_of_a_finding(model: Path) -> None:
    write(model)
    item = finding(
        model, 7, column=5, end_column=19, message="The condition depends on a tensor.", hot=True, heat=24.0,
        confidence=0.97, path=[Step("train.step", str(model.parent / "train.py"), 20), Step("model.Net.call", "", 3)],
        why=[Reason(6, "`gate` is a tensor"), Reason(1, "`router` is a module", str(model.parent / "train.py"))],
        advice="Use torch.where.", url="https://example.org/gb0170", root_kind="assumed",
        library=Step("lib.ops.Op.run", "/lib/ops.py", 31),
        fixes=(Fix("where-for-branch", "unsafe", "keep both arms; both run now", ()),),
    )  # fmt: skip
    assert render("full", Outcome(findings=[item])) == (
        """\
Hot: on the path of every call

model.py:7:5 GB0170 branch-on-tensor [hot ×24] 97%
  The condition depends on a tensor.
    |
  7 |     if gate.sum() > 0:
    |        ^^^^^^^^^^^^^^
  because: `gate` is a tensor (row 6)
  because: `router` is a module (train.py:1)
  path: step (train.py:20) → Net.call:3 → Net.forward (here); the root is assumed to be compiled
  library: it happens in Op.run (/lib/ops.py:31)
  cost: the graph is split here; about 24 times per call
  instead: Use torch.where.
  fix [unsafe]: keep both arms; both run now (where-for-branch)
  see: https://example.org/gb0170

"""
    )


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"refusals": (("where", "`y` is read later"), ("cond", "no"))}, "  no fix: `y` is read later (where)"),
        (
            {"refusals": (("gblint", "it goes with the break in the loop"),)},
            "  no fix: it goes with the break in the loop",
        ),
        ({}, "  no fix: none was looked for"),
        ({"owner": "library"}, "  no fix: the break is in code of a library, which gblint does not edit"),
    ],
)
def test_a_finding_without_a_repair_says_why(model: Path, fields: dict[str, object], line: str) -> None:
    write(model)
    assert line in render("full", Outcome(findings=[finding(model, 7, **fields)])).splitlines()


def excerpt_of(model: Path, row: int, column: int, end_row: int, end_column: int, **fields) -> list[str]:
    item = finding(model, row, column=column, end_row=end_row, end_column=end_column, **fields)
    lines = render("full", Outcome(findings=[item])).splitlines()
    return [line for line in lines if "|" in line]


def test_wide_characters_are_underlined_where_they_are(model: Path) -> None:
    write(model)
    assert excerpt_of(model, 8, 13, 8, 27) == [
        "    |",
        '  8 |             print("世界", x)',
        "    |             ^^^^^^^^^^^^^^^^",
    ]


def test_a_span_of_several_rows_has_a_bar(model: Path) -> None:
    write(model)
    assert excerpt_of(model, 9, 13, 11, 10) == [
        "     |",
        "   9 | |         y = f(",
        "  10 | |             x,",
        "  11 | |         )",
        "     |",
    ]


def test_a_long_span_is_cut(model: Path) -> None:
    write(model, "f(\n" + "    x,\n" * 100 + ")\n")
    shown = excerpt_of(model, 1, 1, 102, 2)
    assert len(shown) == 8
    assert shown[-3:] == ["    … |", "  102 | | )", "      |"]


def test_a_long_line_is_cut_round_the_span(model: Path) -> None:
    write(model, "x" * 5000 + "here" + "y" * 5000 + "\n")
    _, line, under = excerpt_of(model, 1, 5001, 1, 5005)
    assert len(line) < 200
    assert line[under.index("^") : under.rindex("^") + 1] == "here"


@pytest.mark.parametrize("span", [(99, 1, 99, 2), (0, 0, 0, 0)])
def test_a_span_outside_the_file_has_no_excerpt(model: Path, span) -> None:
    write(model)
    assert excerpt_of(model, *span) == []


def test_source_cannot_steer_the_terminal(model: Path) -> None:
    write(model, "x = '\x1b[31m\x07\u202e'\n")
    item = finding(model, message="`\x1b]0;title\x07` is\na tensor")
    for form in ("full", "concise"):
        text = render(form, Outcome(findings=[item]))
        assert not set(text) & set("\x1b\x07\u202e")
    assert "is a tensor" in text


def test_a_file_that_is_gone_has_no_excerpt(model: Path) -> None:
    model.unlink()
    assert "|" not in render("full", Outcome(findings=[finding(model)]))


def test_concise_lines(model: Path) -> None:
    items = [
        finding(model, 7, column=5, hot=True, confidence=0.97),
        finding(model, 8, column=9, consequence="masked", masked_by=7, confidence=1.0),
        finding("/elsewhere/b.py", 1, confidence=0.999),
    ]
    problems = [Problem("GBL000", "invalid-syntax", "invalid syntax", str(model), 3, 9)]
    assert render("concise", Outcome(findings=items, problems=problems)).splitlines() == [
        "model.py:7:5: GB0170 branch-on-tensor `x` is a tensor. [97% hot]",
        "/elsewhere/b.py:1:1: GB0170 branch-on-tensor `x` is a tensor. [99%]",
        "model.py:8:9: GB0170 branch-on-tensor `x` is a tensor. [100% masked]",
        "model.py:3:9: GBL000 invalid-syntax invalid syntax",
    ]


def test_json(model: Path) -> None:
    item = finding(
        model, 41, column=12, end_column=27, confidence=0.97, hot=True, heat=24.0, category="fundamental",
        path=[Step("pkg.Net.forward", "/a.py", 20)], why=[Reason(38, "`gate` is a tensor"), Reason(1, "t", "/b.py")],
        url="https://example.org", noqa_row=43, refusals=(("cond", "no"),),
        fixes=(Fix("a", "safe", "m", (Edit("/b.py", 1, 2, 3, 4, "new"),)), Fix("b", "display", "n", ())),
    )  # fmt: skip
    problem = Problem("GBL000", "invalid-syntax", "invalid syntax", str(model), 3, 9)
    first, second = json.loads(render("json", Outcome(findings=[item], problems=[problem])))
    assert second == {
        "code": "GB0170",
        "name": "branch-on-tensor",
        "message": "`x` is a tensor.",
        "filename": str(model),
        "location": {"row": 41, "column": 12},
        "end_location": {"row": 41, "column": 27},
        "confidence": 0.97,
        "severity": "error",
        "consequence": "splits-graph",
        "hot": True,
        "heat": 24.0,
        "owner": "yours",
        "category": "fundamental",
        "function": "model.Net.forward",
        "root": "model.Net.forward",
        "path": [{"function": "pkg.Net.forward", "filename": "/a.py", "row": 20}],
        "why": [{"row": 38, "text": "`gate` is a tensor"}, {"row": 1, "text": "t", "filename": "/b.py"}],
        "fix": {
            "codemod": "a",
            "applicability": "safe",
            "message": "m",
            "edits": [
                {
                    "content": "new",
                    "filename": "/b.py",
                    "location": {"row": 1, "column": 2},
                    "end_location": {"row": 3, "column": 4},
                }
            ],
        },
        "url": "https://example.org",
        "noqa_row": 43,
        "root_kind": "explicit",
        "masked_by": None,
        "library": None,
        "advice": "",
        "alternatives": [{"codemod": "b", "applicability": "display", "message": "n", "edits": []}],
        "declined": [{"codemod": "cond", "reason": "no"}],
        "certainty": 1.0,
        "guards": 0,
        "cell": None,
        "inline": 0,
        "reach": 0,
        "frees": 0,
    }
    assert first.keys() == second.keys()
    assert (first["code"], first["location"], first["consequence"]) == ("GBL000", {"row": 3, "column": 9}, None)


def test_json_takes_any_text(model: Path) -> None:
    item = finding("/tmp/caf\udce9.py", message="'\ud800'")
    (shown,) = json.loads(render("json", Outcome(findings=[item])))
    assert (shown["filename"], shown["message"]) == ("/tmp/caf\\xe9.py", "'\\ud800'")


def test_order_of_worth() -> None:
    best_first = [
        finding("b.py", 9, hot=True, confidence=0.95, consequence="frame-falls-back"),
        finding("b.py", 8, hot=True, confidence=0.97, heat=24.0),
        finding("b.py", 1, hot=True, confidence=0.97),
        finding("a.py", 5, hot=True, confidence=0.5, consequence="frame-falls-back"),
        finding("a.py", 1, confidence=0.99),
        finding("a.py", 3, hot=True, consequence="masked"),
    ]
    assert by_worth(reversed(best_first)) == best_first


def test_findings_of_a_file_stay_together() -> None:
    items = [finding("a.py", 1, confidence=0.9), finding("b.py", 1, confidence=0.8), finding("a.py", 2, confidence=0.4)]
    assert [(f.filename, f.row) for f in by_worth(items)] == [("a.py", 1), ("a.py", 2), ("b.py", 1)]


def test_the_summary_says_what_was_looked_at(model: Path) -> None:
    outcome = Outcome(
        findings=[finding(model, hot=True), finding(model, consequence="frame-falls-back"),
                  finding(model, consequence="masked")],
        problems=[Problem("GBL001", "unused-suppression", "", "a.py", 1), Problem("GBL000", "x", "", "a.py", 1)],
        stats=Stats(files=3, functions=1200, roots=3, explicit_roots=1, assumed_roots=2, unresolved=4, cut=1,
                    internal=["a.py f: oops"]),
        scopes=[Scope(Path.cwd(), 9, 3, None, None, None, 3)],  # type: ignore[arg-type]
        doubtful=[finding(model)] * 5, cold=6, silenced=7, min_confidence=0.35,
    )  # fmt: skip
    assert "".join(render("concise", outcome, summary=True).splitlines(True)[5:]) == (
        "Found 3 graph breaks in 1 file (1 on hot paths, 1 frame falls back to eager, 1 masked by another), "
        "1 place that could not be analysed, 1 unused suppression.\n"
        "Not shown: 5 below confidence 35% (--min-confidence 0 shows them), 6 off the hot paths, "
        "7 silenced by comments.\n"
        "Looked at 3 files of a project of 9, 1,200 functions from 3 roots "
        "(1 compiled in the source or named, 2 assumed to be compiled).\n"
        "4 called names could not be resolved, 1 function ran out of budget, 1 internal error: "
        "breaks behind them can be missing.\n"
        "internal error: a.py f: oops\n"
    )


def test_the_summary_says_when_roots_are_assumptions() -> None:
    outcome = Outcome(stats=Stats(files=1, functions=1, roots=1, assumed_roots=1))
    text = render("full", outcome, summary=True)
    assert "Found no graph breaks." in text
    assert "No torch.compile was found, so these roots are assumptions" in text


def test_colours_change_nothing_but_colours(model: Path) -> None:
    import click

    write(model)
    outcome = Outcome(findings=[finding(model, 7, column=2, end_column=9)], stats=Stats(roots=1))
    for form in ("full", "concise"):
        coloured = render(form, outcome, colour=True, summary=True)
        assert coloured != click.unstyle(coloured) == render(form, outcome, summary=True)
