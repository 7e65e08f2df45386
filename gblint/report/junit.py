"""JUnit's XML: each file checked is a suite, each finding in it a test that failed; without one a test has passed.

A finding is named without its row, so that a service which keeps the history of tests knows it after lines have moved.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from xml.etree import ElementTree as Xml

from gblint.checking import BROKEN_FILE, Outcome, Problem
from gblint.findings.finding import Finding
from gblint.report.full import facts
from gblint.report.order import numbered
from gblint.report.style import Style, in_checkout, printable, short

_NO_XML = re.compile("[\ufffe\uffff]")  # what `printable` leaves and XML has no way to say


def render(outcome: Outcome, style: Style) -> str:
    """The whole document, suites by name of the file."""
    cases: dict[str, list[Xml.Element]] = {in_checkout(name): [] for name in outcome.checked}
    for item, _, number in numbered(outcome):
        name = in_checkout(item.filename)
        cases.setdefault(name, []).append(_failed(item, name, number))
    top = Xml.Element("testsuites", name="gblint")
    for name in sorted(cases):
        suite = Xml.SubElement(top, "testsuite", name=_text(name))
        suite.extend(cases[name] or [_case(name, "no graph break")])
        _count(suite)
    _count(top)
    Xml.indent(top)
    return f"<?xml version='1.0' encoding='utf-8'?>\n{Xml.tostring(top, 'unicode')}\n"


def _failed(item: Finding | Problem, filename: str, number: int) -> Xml.Element:
    where = f" in {short(item.function)}" if isinstance(item, Finding) and item.function else ""
    again = f" ({number})" if number > 1 else ""
    case = _case(filename, f"{item.code} {item.name}{where}{again}", item.row)
    tag = "error" if item.code == BROKEN_FILE else "failure"
    result = Xml.SubElement(case, tag, message=_text(item.message), type=_text(item.severity))
    lines = [f"{filename}:{item.row}:{item.column}: {item.message}"]
    if isinstance(item, Finding):
        lines += [f"{label}: {text}" for label, text in facts(item)]
    result.text = "\n".join(map(_text, lines))
    return case


def _case(filename: str, name: str, row: int = 0) -> Xml.Element:
    """A test. Readers take the part of a class name before its last dot for a package."""
    place = {"file": _text(filename)} | ({"line": str(row)} if row else {})
    parts = PurePath(filename).with_suffix("").parts if filename else ()
    return Xml.Element("testcase", place, classname=_text(".".join(parts)), name=_text(name), time="0")


def _count(element: Xml.Element) -> None:
    for attribute, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
        element.set(attribute, str(sum(1 for _ in element.iter(tag))))
    element.set("time", "0")


def _text(text: str) -> str:
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", printable(text)).encode("utf-8", "backslashreplace").decode()
