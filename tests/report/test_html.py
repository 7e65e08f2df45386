"""The page: what it holds, that nothing in it comes from elsewhere, and that no text from a user becomes markup."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from gblint.checking import Outcome, Problem
from gblint.findings.finding import Edit, Fix, Reason, Step
from gblint.fixing.edits import edited
from gblint.report import FORMATS, Style
from gblint.report.html import _difference
from gblint.verify.matching import CONFIRMED, MASKED, MISSED, REFUTED, UNREACHED, Judged
from gblint.verify.report import FORMATS as VERIFY_FORMATS
from gblint.verify.running import Ran
from gblint.verify.said import Recompile, Said
from gblint.verify.sites import Site
from gblint.verify.verifying import Verified
from tests.conftest import finding

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'><b>`bold`</b> {{ 7 * 7 }} {% raw %} &lt;"
VOID = {"meta", "input", "br", "img", "link", "hr"}


class Page(HTMLParser):
    """A page taken apart: elements with their attributes, the text of each class, unbalanced ends."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        self.elements.append((tag, given))
        if tag not in VOID:
            self._open.append((tag, given.get("class", "")))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> without a start"
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        self.texts += [(name, data) for tag, classes in self._open for name in (tag, *classes.split())]

    def text(self, name: str) -> str:
        """All text inside of elements of a tag or class."""
        return "".join(text for inside, text in self.texts if inside == name)

    def all(self, tag: str) -> Iterator[dict[str, str]]:
        return (attributes for name, attributes in self.elements if name == tag)


def render(outcome: Outcome, summary: bool = True) -> str:
    return FORMATS["html"](outcome, Style(summary=summary))


SOURCE = """\
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        gate = self.router(x)
\tif gate.sum() > 0:
            x = x * 2

        return x
"""


@pytest.fixture
def model(project: Any) -> Path:
    return project({"model.py": SOURCE}) / "model.py"


def test_a_finding_with_its_source_reasons_and_repair(model: Path) -> None:
    fix = Fix("where", "unsafe", "both arms run", (Edit(str(model), 6, 1, 8, 1, "    x = torch.where(g, x * 2, x)\n"),))
    item = finding(
        model, 6, column=5, end_row=6, end_column=19, message="`gate.sum() > 0` is a tensor", hot=True, heat=16,
        why=[Reason(5, "`gate` is a tensor")], fixes=(fix,), confidence=0.97, url="https://example.org/gb0170",
    )  # fmt: skip
    page = Page(render(Outcome(findings=[item])))
    (row,) = [a for a in page.all("details") if "finding" in a.get("class", "")]
    facts = {
        "data-rule": "GB0170 branch-on-tensor",
        "data-file": "model.py",
        "data-hot": "hot",
        "data-confidence": "97",
    }
    assert row.items() >= facts.items()
    assert page.text("message") == "gate.sum() > 0 is a tensor"
    assert "gate.sum() > 0" in page.text("code")
    assert page.text("mark") == "gate.sum() > 0"
    assert page.text("reason") == "gate is a tensor"
    assert [text for name, text in page.texts if name == "removed"] == [
        "-    if gate.sum() > 0:", "-            x = x * 2",
    ]  # fmt: skip
    assert page.text("added") == "+    x = torch.where(g, x * 2, x)"
    assert "https://example.org/gb0170" in {a.get("href") for a in page.all("a")}
    assert "16" in page.text("hot")


def test_nothing_is_fetched_and_only_its_own_script_may_run(model: Path) -> None:
    text = render(Outcome(findings=[finding(model, 6)]))
    page = Page(text)
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"link", "img", "iframe", "object", "embed", "base"}
    assert all("src" not in attributes and "style" not in attributes for _, attributes in page.elements)
    assert not [key for _, attributes in page.elements for key in attributes if key.startswith("on")]
    (policy,) = [a["content"] for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none';")
    for tag in ("script", "style"):
        (body,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert base64.b64encode(hashlib.sha256(body.encode()).digest()).decode() in policy
        assert not re.search(r"https?://|url\(|@import", body)


@pytest.mark.parametrize("text", [HOSTILE, f"`{HOSTILE}`", "\u202e\x1b[31m\x00\r\n\ud800 \udce9", ""])
def test_no_text_becomes_markup(project: Any, text: str) -> None:
    name = '"><script>alert(2)<b>.py'
    folder = project({"plain.py": ""})
    source = f"x = 1\n# {HOSTILE}\ny = 2\n".encode()
    overlay = {str(folder / name): source}
    item = finding(
        folder / name, 2, end_column=99, message=text, code=text, name=text, function=f"m.{text}", root=f"m.{text}",
        why=[Reason(1, text), Reason(3, text)], path=[Step(text, name, 1)], advice=text, owner=text,
        url=f"javascript:{text}",
        fixes=(Fix(text, text, text, (Edit(str(folder / name), 1, 1, 2, 1, f"{text}\n"),)),), refusals=((text, text),),
    )  # fmt: skip
    problem = Problem("GBL000", text, text, name, 1)
    written = render(Outcome(findings=[item], problems=[problem], notes=[text], overlay=overlay))
    page = Page(written)
    assert [tag for tag, _ in page.elements].count("script") == 1
    assert not {"img", "b"} & {tag for tag, a in page.elements if a or tag == "img"}
    assert not [key for _, attributes in page.elements for key in attributes if key.startswith("on")]
    assert not [a for a in page.all("a") if not a["href"].startswith(("#", "https://"))]
    assert not set(written) & set("\x00\x1b\r\u202e")
    written.encode("utf-8")
    if text:
        assert HOSTILE in page.text("code")
    if text == HOSTILE:
        assert HOSTILE.replace("`", "") in page.text("message")


def test_nothing_found_is_said(model: Path) -> None:
    page = Page(render(Outcome()))
    assert "Nothing was found because nothing was analysed." in page.text("main")
    assert not list(page.all("nav"))


def test_quiet_leaves_the_summary_out(model: Path) -> None:
    found = Outcome(findings=[finding(model, 6)])
    assert "Looked at" in render(found)
    assert "Looked at" not in render(found, summary=False)


def test_findings_stand_under_their_root_by_how_often_they_are_met(model: Path) -> None:
    def at(row: int, root: str, **fields: Any) -> Any:
        return finding(model, row, root=f"model.{root}", function=f"model.{root}", **fields)

    found = Outcome(findings=[at(4, "B.f"), at(5, "A.f"), at(6, "A.f", hot=True), at(7, "A.f", consequence="masked")])
    page = Page(render(found))
    assert re.findall(r"\w\.f", page.text("nav")) == ["A.f", "B.f"]
    assert [text for name, text in page.texts if name == "h3"] == [
        "Hot: on the path of every call", "Not on the path of every call",
        "Masked: these show once the break before them is gone", "Not on the path of every call",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "edits",
    [
        [(1, 1, 1, 1, "import math\n"), (20, 1, 21, 1, "changed\n"), (22, 3, 22, 5, "")],
        [(40, 1, 41, 1, "last\n")],
        [(41, 1, 41, 1, "more\n")],
        [(3, 2, 5, 4, "joined")],
    ],
)
def test_a_difference_says_all_that_edits_change_and_nothing_else(edits: list[Any]) -> None:
    lines = [f"row {n}" for n in range(1, 41)]
    given = [Edit("m.py", *edit) for edit in edits]
    whole = edited("".join(f"{line}\n" for line in lines).encode(), given).decode().splitlines()
    rows = list(_difference("m.py", [*lines, ""], given))
    assert {text[1:] for kind, text in rows if kind == "removed"} == set(lines) - set(whole)
    assert {text[1:] for kind, text in rows if kind == "added"} == set(whole) - set(lines)
    assert len(rows) < 24


def test_edits_that_do_not_fit_the_source_show_no_difference() -> None:
    assert list(_difference("m.py", ["a"], [Edit("m.py", 7, 1, 8, 1, "b\n")])) == [("file", "m.py")]


# ----------------------------------------------------------------------------------------------------- after a run


def test_a_verified_page_shows_verdicts_what_dynamo_said_and_before_and_after(model: Path) -> None:
    site = Site("GB0170", "branching", str(model), 6, "forward", reason="Branching: <b>on</b> `x`", count=3)
    verdicts = (CONFIRMED, MISSED, MASKED, UNREACHED, REFUTED)
    judged = [Judged(finding(model, 5 + n), verdict, site) for n, verdict in enumerate(verdicts)]
    said = Said(recompiles={Recompile("forward", str(model), 4, "x changed"): 2}, compiled=4, graphs=3)
    verified = Verified(
        Outcome(findings=[j.finding for j in judged]), Ran(said, 0, "exited", 1.0, [], True), judged,
        change=(("model.py:6 GB0170", "3", "gone"), ("graphs", "7", "3")),
    )  # fmt: skip
    page = Page(VERIFY_FORMATS["html"](verified, Style()))
    rows = [a for a in page.all("details") if "finding" in a.get("class", "")]
    assert sorted(row["data-verdict"] for row in rows) == sorted(verdicts)
    assert "Branching: <b>on</b> x" in page.text("dd")
    assert "refuted: Dynamo traced this, and the graph did not break" in page.text("dd")
    assert "Dynamo compiled 4 frames to 3 graphs" in page.text("header")
    assert "model.py:6 GB01703gone" in "".join(page.text("change").split("\n")).replace("  ", "")
    assert [text for name, text in page.texts if name == "changed"] == ["gone", "3"]
