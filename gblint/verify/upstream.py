"""A break that is Dynamo's, written up so that it can be pasted into an issue. Nothing is sent."""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence

from gblint.registry import load_rules
from gblint.report.style import short
from gblint.verify.log_report import CATEGORIES, EFFECTS, times
from gblint.verify.rows import rows_of
from gblint.verify.said import Said
from gblint.verify.sites import Site

THEIRS = ("supportable", "dynamo-bug")
_MOST_ROWS = 60
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def write_up(code: str, found: Sequence[Site], said: Said) -> str:
    """Markdown about all places of an id: what Dynamo says, a program that shows it, where it was met.

    found: places with this id, at least one.
    """
    site = found[0]
    parts = [f"# Graph break {code}: {_line(site.reason.partition(':')[0])}", _said(site), _versions(said)]
    example = _example(code)
    if example:
        parts.append(f"## To reproduce\n\nA program that breaks with the same id:\n\n{_fenced(example)}")
    parts.append("## Where it was met\n\n" + "\n".join(_where(each) for each in found))
    code_text = _function(site)
    if code_text:
        parts.append(f"The function at the first of these:\n\n{_fenced(code_text)}")
    if not example:
        parts.append("No smaller program is known for this id: cut the function down until it still breaks.")
    return "\n\n".join(parts) + "\n"


def _said(site: Site) -> str:
    lines = ["## What Dynamo says", "", _line(site.reason)]
    lines += [f"- hint: {_line(hint)}" for hint in site.hints]
    lines += ["", f"Effect: {EFFECTS.get(site.effect, site.effect)}."]
    if site.category:
        lines.append(f"Kind: {CATEGORIES[site.category]}.")
    return "\n".join(lines)


def _versions(said: Said) -> str:
    torch = said.torch or "not in the log: say it yourself"
    return f"## Versions\n\n- torch: {_line(torch)}\n- platform: {platform.system()} {platform.machine()}"


def _example(code: str) -> str:
    rule = next((rule for rule in load_rules() if rule.meta.code == code and rule.BREAKS), None)
    return rule.BREAKS[0].strip("\n") if rule else ""


def _where(site: Site) -> str:
    inside = f", in {_line(short(site.library.function))} of a library" if site.library else ""
    return f"- {_line(site.function)}, row {site.row}{inside}: {times(site.count)}"


def _function(site: Site) -> str:
    """The text of the function, without the path of the file: that is nobody's business upstream."""
    rows = rows_of(site.filename)
    first, last = rows.function(site.row)
    if not first or last - first >= _MOST_ROWS:
        first, last = rows.statement(site.row)
    return "\n".join(rows.lines[first - 1 : last])


def _fenced(text: str) -> str:
    longest = max((len(run) for run in re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}python\n{_UNSAFE.sub('?', text)}\n{fence}"


def _line(text: str) -> str:
    return _UNSAFE.sub("?", " ".join(text.split()))
