"""A comment for a pull request: the counts, and a table of what is worth fixing first."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from gblint.checking import Outcome, Problem
from gblint.findings.finding import Finding
from gblint.report import summary
from gblint.report.full import heat
from gblint.report.order import by_worth
from gblint.report.style import Style, in_checkout, percent, plural, printable, short

_MOST_ROWS = 50
_MOST = 60_000  # characters; GitHub takes a comment of 65,536
_LONGEST = 300  # characters of one message
_HEAD = "| where | graph break | sure | what to do |\n|---|---|---|---|\n"
# What could be markup, a mention or a reference. An entity is never taken for markup, and an empty comment after @ or #
# keeps a service from looking further.
_SPECIAL = str.maketrans(
    {sign: f"&#{ord(sign)};" for sign in "&<>\\`*_[]|~$"} | {"@": "@<!-- -->", "#": "&#35;<!-- -->"}
)


def render(outcome: Outcome, style: Style) -> str:
    """The comment; how much did not fit is said below the table."""
    headline, *notes = summary.render(outcome, Style()).splitlines()
    text = f"### gblint\n\n**{text_of(headline)}**\n"
    rows = list(_rows(outcome))
    if rows:
        shown = _that_fit(rows)
        text += f"\n{_HEAD}{''.join(shown)}"
        if len(rows) > len(shown):
            text += f"\n… and {plural(len(rows) - len(shown), 'more', 'more')}.\n"
    if style.summary:
        text += f"\n<sub>{'<br>'.join(map(text_of, notes))}</sub>\n"
    return text


def _rows(outcome: Outcome) -> Iterator[str]:
    for finding in by_worth(outcome.findings):
        marks = [percent(finding.confidence), heat(finding) if finding.hot else ""]
        if finding.consequence == "masked":
            marks.append("masked")
        if finding.reach > 1:
            marks.append(plural(finding.reach, "root"))
        yield _row(finding, " ".join(mark for mark in marks if mark), _advice(finding))
    for problem in outcome.problems:
        yield _row(problem, "", "")


def _that_fit(rows: list[str]) -> list[str]:
    shown: list[str] = []
    left = _MOST
    for row in rows[:_MOST_ROWS]:
        left -= len(row)
        if left < 0:
            break
        shown.append(row)
    return shown


def _row(item: Finding | Problem, sure: str, advice: str) -> str:
    place = f"{printable(in_checkout(item.filename))}:{item.row}"
    function = f" in {code_of(short(item.function))}" if isinstance(item, Finding) and item.function else ""
    rule = text_of(f"{item.code} {item.name}")
    if isinstance(item, Finding) and item.url:
        rule = f"[{rule}]({quote(item.url, safe=':/?#&=%')})"
    return f"| {code_of(place)}{function} | {rule}<br>{text_of(item.message)} | {text_of(sure)} | {advice} |\n"


def _advice(finding: Finding) -> str:
    fix = finding.fix
    if fix is not None:
        return f"{text_of(fix.message)} ({text_of(fix.applicability)} fix)"
    return text_of(finding.advice)


def text_of(text: str) -> str:
    """Text in which backquotes mark code, as everywhere in gblint; where they are not paired they are only signs."""
    text = printable(text)
    paired = text.count("`") % 2 == 0
    if len(text) > _LONGEST:
        text = text[: _LONGEST - 1] + "…"
    if not paired:
        return text.translate(_SPECIAL)
    parts = text.split("`")  # where code was cut, it goes on to the end
    return "".join(code_of(part) if i % 2 else part.translate(_SPECIAL) for i, part in enumerate(parts))


def code_of(text: str) -> str:
    """Code in a cell of a table: in backquotes it could not have every sign there is."""
    return f"<code>{text.translate(_SPECIAL)}</code>"
