"""The formats that other programs read, each checked with its public schema or by a reader of it.

SARIF against the schema of the standard, `json` against ours, JUnit by a reader of it, Markdown by a renderer; for
GitHub's commands and GitLab's report, which have only documentation, its rules are written down here.
"""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from jsonschema import Draft4Validator, Draft202012Validator, FormatChecker
from junitparser import Error, Failure, JUnitXml
from markdown_it import MarkdownIt

from gblint.checking import Options, Outcome, Problem, check
from gblint.findings.finding import Edit, Fix, Reason, Step
from gblint.report import FORMATS, Style
from gblint.report.json import finding_data
from gblint.verify.matching import CONFIRMED, REFUTED, Judged
from gblint.verify.report import FORMATS as VERIFY_FORMATS
from gblint.verify.running import Ran
from gblint.verify.said import Said
from gblint.verify.verifying import Verified
from tests.conftest import finding

ROOT = Path(__file__).parents[2]
SARIF = Draft4Validator(
    json.loads((Path(__file__).parent / "schemas/sarif-2.1.0.json").read_text("utf-8")), format_checker=FormatChecker()
)
OUTPUT = Draft202012Validator(json.loads((ROOT / "docs/schema/output-1.json").read_text("utf-8")))
# What a user's string may hold, and what one or the other format takes for its own.
NASTY = "a|b <b>&\x1b[31m\x00\ufffe ]]> 100% *x* _y_ x[i](0) {0} @team #12 $z$ ~q~ \\| \"' 世界\n::error::\r\t\u2028."


@pytest.fixture
def folder(project, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    monkeypatch.delenv("CI_PROJECT_DIR", raising=False)
    return project({"src/my model.py": "", "src/clean.py": "", "train.py": ""})


def render(form: str, outcome: Outcome, summary: bool = False) -> str:
    return FORMATS[form](outcome, Style(summary=summary))


def outcome(folder: Path, **fields: Any) -> Outcome:
    """One of each: a repaired finding with its way and reasons, a plain one over two rows, two problems."""
    model, train = str(folder / "src/my model.py"), str(folder / "train.py")
    rich = finding(
        model, 7, column=5, end_column=19, hot=True, heat=24.0, confidence=0.97, message="`x[0]` is a tensor.",
        path=[Step("train.step", train, 20), Step("model.Net.forward", model, 7)],
        why=[Reason(6, "`gate` is a tensor"), Reason(1, "`router` is a module", train), Reason(0, "it is so")],
        library=Step("lib.ops.Op.run", "/lib/some ops.py", 31), advice="Use torch.where.",
        url="https://example.org/gb0170",
        fixes=(
            Fix("where", "unsafe", "both arms run", (Edit(model, 7, 1, 8, 1, "new\n"), Edit(train, 1, 1, 1, 1, "x\n"))),
            Fix("draft", "placeholder", "finish it", (Edit(model, 7, 1, 8, 1, "…\n"),)),
            Fix("told", "safe", "nothing to edit", ()),
        ),
    )  # fmt: skip
    plain = finding(model, 9, end_row=11, severity="info", consequence="masked", masked_by=7, **fields)
    problems = [
        Problem("GBL000", "invalid-syntax", "invalid syntax", train, 3, 9),
        Problem("GBL001", "unused-suppression", "this comment silences nothing", model, 2, severity="warning"),
    ]
    checked = [str(folder / "src/clean.py"), model, train]
    return Outcome(findings=[rich, plain], problems=problems, checked=checked, notes=["about roots"])


# ------------------------------------------------------------------------------------------------------------- json


def test_json_is_what_its_schema_says(folder: Path) -> None:
    Draft202012Validator.check_schema(OUTPUT.schema)
    everything = outcome(folder)
    items = json.loads(render("json", everything))
    OUTPUT.validate(items)
    assert [json.loads(line) for line in render("json-lines", everything).splitlines()] == items
    assert len(items) == 4
    assert render("json-lines", Outcome()) == ""


def test_the_schema_knows_every_key() -> None:
    entry = OUTPUT.schema["$defs"]["entry"]
    assert list(entry["properties"]) == entry["required"] == list(finding_data(finding()))


def test_the_schema_holds_for_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    found = check(Options(paths=("corpus/models",), no_cache=True, all_fixes=True))
    assert found.findings
    OUTPUT.validate(json.loads(render("json", found)))
    SARIF.validate(json.loads(render("sarif", found)))


# ------------------------------------------------------------------------------------------------------------ SARIF


def sarif(found: Outcome) -> dict[str, Any]:
    data = json.loads(render("sarif", found))
    SARIF.validate(data)
    (run,) = data["runs"]
    return run


def test_sarif(folder: Path) -> None:
    run = sarif(outcome(folder))
    unused, rich, plain, syntax = run["results"]
    assert [r["level"] for r in run["results"]] == ["warning", "error", "note", "error"]
    assert rich["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "src/my%20model.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 7, "startColumn": 5, "endLine": 7, "endColumn": 19},
    }
    assert rich["rank"] == 97.0
    assert rich["properties"]["hot"] is True
    assert plain["locations"][0]["physicalLocation"]["region"]["endLine"] == 11
    assert "codeFlows" not in plain
    assert {r["ruleId"] for r in (unused, syntax)} == {"GBL000/invalid-syntax", "GBL001/unused-suppression"}
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert note["message"]["text"] == "about roots"


def test_sarif_rules_say_what_they_are_about(folder: Path) -> None:
    run = sarif(outcome(folder, code="GB9999", name="not-ours"))
    rules = run["tool"]["driver"]["rules"]
    assert [rules[r["ruleIndex"]]["id"] for r in run["results"]] == [r["ruleId"] for r in run["results"]]
    by_name = {rule["name"]: rule for rule in rules}
    known = by_name["branch-on-tensor"]
    assert "**Why Dynamo breaks.**" in known["help"]["markdown"]
    assert "```python" in known["help"]["markdown"]
    assert known["helpUri"].startswith("https://")
    assert by_name["not-ours"] == {
        "id": "GB9999/not-ours", "name": "not-ours", "shortDescription": {"text": "GB9999 not-ours"},
    }  # fmt: skip


def test_sarif_shows_the_way_and_the_reasons(folder: Path) -> None:
    rich = sarif(outcome(folder))["results"][1]
    ((flow,),) = ([f["locations"] for f in c["threadFlows"]] for c in rich["codeFlows"])
    assert [(where(step["location"]), step["location"]["message"]["text"]) for step in flow] == [
        ("train.py:20", "step calls Net.forward"),
        ("src/my model.py:7", "`x[0]` is a tensor."),
    ]
    assert [(where(place), place["message"]["text"]) for place in rich["relatedLocations"]] == [
        ("src/my model.py:6", "`gate` is a tensor"),
        ("train.py:1", "`router` is a module"),
        ("file:///lib/some ops.py:31", "it happens in Op.run"),
    ]


def where(place: dict[str, Any]) -> str:
    physical = place["physicalLocation"]
    return f"{unquote(physical['artifactLocation']['uri'])}:{physical['region']['startLine']}"


def test_sarif_offers_the_repairs_that_can_be_made(folder: Path) -> None:
    (fix,) = sarif(outcome(folder))["results"][1]["fixes"]
    assert fix["description"]["text"] == "both arms run (where, unsafe)"
    model, train = fix["artifactChanges"]
    assert model["replacements"] == [
        {
            "deletedRegion": {"startLine": 7, "startColumn": 1, "endLine": 8, "endColumn": 1},
            "insertedContent": {"text": "new\n"},
        }
    ]
    assert train["artifactLocation"]["uri"] == "train.py"
    assert train["replacements"][0]["deletedRegion"]["endColumn"] == 1


def test_what_looks_like_a_link_in_code_is_none(folder: Path) -> None:
    text = sarif(Outcome(findings=[finding(folder / "train.py", message="`x[i](0)` and `y[i](k)`")]))["results"][0]
    assert text["message"]["text"] == "`x[i] (0)` and `y[i](k)`"


# ---------------------------------------------------------------------------------------------- the same, next time


def identities(form: str, found: Outcome) -> list[str]:
    data = json.loads(render(form, found))
    if form == "gitlab":
        return [issue["fingerprint"] for issue in data]
    return [result["partialFingerprints"]["gblint/v1"] for result in data["runs"][0]["results"]]


@pytest.mark.parametrize("form", ["gitlab", "sarif"])
def test_a_finding_is_the_same_after_lines_have_moved(folder: Path, form: str) -> None:
    def two(first: int, function: str = "model.f") -> Outcome:
        return Outcome(findings=[finding(folder / "train.py", first + n, function=function) for n in (0, 5)])

    before = identities(form, two(1))
    assert len(set(before)) == 2, "two breaks of one kind in one function are two"
    assert identities(form, two(101)) == before
    assert not set(identities(form, two(1, "model.g"))) & set(before)


def test_names_are_relative_to_the_checkout(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = outcome(folder)
    monkeypatch.chdir(folder / "src")
    assert "file=my model.py" in render("github", found)
    assert f"file={folder}/train.py" in render("github", found)
    for variable in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        with monkeypatch.context() as patch:
            patch.setenv(variable, str(folder))
            assert {issue["location"]["path"] for issue in json.loads(render("gitlab", found))} == {
                "src/my model.py", "train.py",
            }  # fmt: skip
    monkeypatch.setenv("GITHUB_WORKSPACE", str(folder / "elsewhere"))
    assert "file=my model.py" in render("github", found), "gblint runs outside of that"


# ----------------------------------------------------------------------------------------------------------- GitHub


def commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    """As the runner reads lines: level, properties and message; anything else is a line of the log."""
    read = []
    for line in text.split("\n")[:-1]:
        found = re.fullmatch(r"::(error|warning|notice) ((?:[A-Za-z]+=[^,:]*,?)+)::(.*)", line)
        assert found, line
        properties = dict(pair.split("=", 1) for pair in found[2].split(","))
        read.append((found[1], {key: unescaped(value) for key, value in properties.items()}, unescaped(found[3])))
    return read


def unescaped(text: str) -> str:
    for code, sign in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, sign)
    return text


def test_github(folder: Path) -> None:
    rich, plain, syntax, unused = commands(render("github", outcome(folder)))
    assert rich[:2] == (
        "error",
        {
            "file": "src/my model.py", "line": "7", "col": "5", "endColumn": "19", "title": "GB0170 branch-on-tensor",
        },
    )  # fmt: skip
    lines = rich[2].split("\n")
    assert lines[0] == "`x[0]` is a tensor."
    assert "instead: Use torch.where." in lines
    assert plain[0] == "notice"
    assert plain[1] == {
        "file": "src/my model.py", "line": "9", "endLine": "11", "title": "GB0170 branch-on-tensor",
    }  # fmt: skip
    assert (syntax[0], syntax[1]["file"], syntax[1]["col"], syntax[2]) == ("error", "train.py", "9", "invalid syntax")
    assert unused[0] == "warning"


def test_properties_of_github_cannot_be_added_by_a_name() -> None:
    ((_, properties, message),) = commands(
        render("github", Outcome(findings=[finding("/a,line=9::b%0A.py", message="50%25 of\n::set-env::x")]))
    )
    assert properties["file"] == "/a,line=9::b%0A.py"
    assert properties["line"] == "1"
    assert message.startswith("50%25 of ::set-env::x")


# ----------------------------------------------------------------------------------------------------------- GitLab


def test_gitlab(folder: Path) -> None:
    issues = json.loads(render("gitlab", outcome(folder)))
    for issue in issues:
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert not issue["location"]["path"].startswith(("/", "./"))
    assert len({issue["fingerprint"] for issue in issues}) == 4
    assert issues[1] | {"fingerprint": ""} == {
        "description": "GB0170 branch-on-tensor: `x[0]` is a tensor.",
        "check_name": "GB0170/branch-on-tensor",
        "fingerprint": "",
        "severity": "major",
        "location": {"path": "src/my model.py", "lines": {"begin": 7, "end": 7}},
    }
    assert json.loads(render("gitlab", Outcome())) == []


# ------------------------------------------------------------------------------------------------------------ JUnit


def test_junit(folder: Path) -> None:
    report = JUnitXml.fromstring(render("junit", outcome(folder)).encode())
    assert (report.tests, report.failures, report.errors) == (5, 3, 1)
    suites = {suite.name: suite for suite in report}
    assert list(suites) == ["src/clean.py", "src/my model.py", "train.py"]
    (clean,) = suites["src/clean.py"]
    assert clean.is_passed
    unused, rich, plain = suites["src/my model.py"]
    assert [rich.classname, rich.name] == ["src.my model", "GB0170 branch-on-tensor in Net.forward"]
    assert plain.name == "GB0170 branch-on-tensor in Net.forward (2)"
    (failure,) = rich.result
    assert isinstance(failure, Failure)
    assert (failure.message, failure.type) == ("`x[0]` is a tensor.", "error")
    assert failure.text.splitlines()[0] == "src/my model.py:7:5: `x[0]` is a tensor."
    assert "instead: Use torch.where." in failure.text
    assert unused.result[0].type == "warning"
    (broken,) = suites["train.py"]
    assert isinstance(broken.result[0], Error)


def test_junit_of_nothing() -> None:
    assert JUnitXml.fromstring(render("junit", Outcome()).encode()).tests == 0


# --------------------------------------------------------------------------------------------------------- Markdown


class Table(HTMLParser):
    """The texts of the cells of a page, row by row; `tags` that are in it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag == "td":
            self.rows[-1].append("")
        if tag == "br" and self._inside:
            self.rows[-1][-1] += "\n"
        self._inside = tag == "td" or (self._inside and tag != "table")

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "td"

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.rows[-1][-1] += data


def table(markdown: str) -> Table:
    return Table(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(markdown))


def test_markdown(folder: Path) -> None:
    text = render("markdown", outcome(folder), summary=True)
    assert text.startswith("### gblint\n\n**Found 2 graph breaks in 1 file (1 on hot paths, 1 masked by another), ")
    assert table(text).rows[1:] == [
        [
            "src/my model.py:7 in Net.forward",
            "GB0170 branch-on-tensor\nx[0] is a tensor.",
            "97% [hot ×24]",
            "both arms run (unsafe fix)",
        ],
        ["src/my model.py:9 in Net.forward", "GB0170 branch-on-tensor\nx is a tensor.", "100% masked", ""],
        ["train.py:3", "GBL000 invalid-syntax\ninvalid syntax", "", ""],
        ["src/my model.py:2", "GBL001 unused-suppression\nthis comment silences nothing", "", ""],
    ]
    assert "<sub>Looked at " in text
    assert "<sub>" not in render("markdown", outcome(folder))


def test_markdown_says_when_there_is_nothing() -> None:
    text = render("markdown", Outcome())
    assert "Nothing was found because nothing was analysed." in text
    assert "|" not in text


def test_a_comment_is_never_too_long_and_says_what_is_left_out(folder: Path) -> None:
    many = [finding(folder / "train.py", row, message="`" + "x[" * 500 + "`") for row in range(1, 201)]
    text = render("markdown", Outcome(findings=many), summary=True)
    assert len(text) < 65_536
    shown = len(table(text).rows) - 1
    assert 10 <= shown <= 50
    assert f"… and {200 - shown} more." in text
    assert len(table(render("markdown", Outcome(findings=many[:3]))).rows) == 4


# ---------------------------------------------------------------------------------------------------- whatever text


@pytest.mark.parametrize("message", [NASTY, f"`{NASTY}` is a tensor", f"`{NASTY}", "\ud800 \udce9", ""])
def test_every_format_holds_any_text(folder: Path, message: str) -> None:
    item = finding(
        "/tmp/caf\udce9 |<&%,:.py", message=message, function="f.<locals>.g", advice=message, url="https://e.org/(a) b",
        path=[Step(f"root.{message}", "", 1)], why=[Reason(1, message)],
        fixes=(Fix("one", "safe", message, (Edit("/tmp/a.py", 1, 1, 1, 1, message),)),),
    )  # fmt: skip
    problem = Problem("GBL000", "unreadable", message, "/tmp/caf\udce9.py", 1)
    found = Outcome(findings=[item], problems=[problem], checked=[item.filename], notes=[message])
    for form in FORMATS:
        assert not set(render(form, found, summary=True)) & set("\x00\x1b\r")
    OUTPUT.validate(json.loads(render("json", found)))
    assert sarif(found)["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].endswith(
        "/tmp/caf%E9%20%7C%3C%26%25%2C%3A.py"
    )
    assert len(commands(render("github", found))) == len(json.loads(render("gitlab", found))) == 2
    assert JUnitXml.fromstring(render("junit", found).encode()).tests == 2
    shown = table(render("markdown", found))
    assert [len(row) for row in shown.rows[1:]] == [4, 4]
    assert shown.tags <= {"h3", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "code", "a", "br", "sub"}


def test_markup_in_code_is_shown_as_it_is(folder: Path) -> None:
    code = "a|b <b> & *x* _y_ [t](u) \\| ~~q~~ $z$ &amp; @team #12"
    text = render("markdown", Outcome(findings=[finding(folder / "train.py", message=f"`{code}` breaks")]))
    assert table(text).rows[1][1] == f"GB0170 branch-on-tensor\n{code} breaks"
    assert "@team" not in text
    assert " #12" not in text


# ----------------------------------------------------------------------------------------------------- verification


def test_a_verification_is_reported_in_every_format(folder: Path) -> None:
    found = outcome(folder)
    confirmed, refuted = found.findings
    verified = Verified(
        found, Ran(Said(), 0, "exited", 1.0, [], True), [Judged(confirmed, CONFIRMED), Judged(refuted, REFUTED)]
    )
    assert list(VERIFY_FORMATS) == list(FORMATS)
    data = json.loads(VERIFY_FORMATS["sarif"](verified, Style()))
    SARIF.validate(data)
    (result,) = (r for r in data["runs"][0]["results"] if r["ruleId"].startswith("GB0"))
    assert result["message"]["text"] == "`x[0]` is a tensor. [confirmed]"
    lines = [json.loads(line) for line in VERIFY_FORMATS["json-lines"](verified, Style()).splitlines()]
    assert [line.get("verdict") for line in lines] == ["confirmed", "refuted", None, None]
