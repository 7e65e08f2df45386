"""The report for programs: one array of objects in the shape of ruff's, with more in them."""

from __future__ import annotations

from typing import Any

import msgspec

from gblint.checking import Outcome, Problem
from gblint.findings.finding import Edit, Finding, Fix, Reason, Step
from gblint.report.style import Style, readable


def render(outcome: Outcome, style: Style) -> str:
    """All findings and problems by file and row.

    A file that could not be analysed is an object with code "GBL000" and its kind as name, an unused suppression one
    with code "GBL001"; both have the keys of a finding, null where a key makes no sense.
    """
    items = [((f.filename, f.row, f.column, f.code), _finding(f)) for f in outcome.findings]
    items += [((p.filename, p.row, p.column, p.code), _problem(p)) for p in outcome.problems]
    items.sort(key=lambda item: item[0])
    return dump([item for _, item in items])


def dump(data: object) -> str:
    """JSON as a person can still read it."""
    try:
        encoded = msgspec.json.encode(data)
    except UnicodeEncodeError:  # names of files that are no text, and what is named after them
        encoded = msgspec.json.encode(_text(data))
    return msgspec.json.format(encoded, indent=2).decode() + "\n"


def _finding(f: Finding) -> dict[str, Any]:
    return {
        "code": f.code,
        "name": f.name,
        "message": f.message,
        "filename": readable(f.filename),
        "location": {"row": f.row, "column": f.column},
        "end_location": {"row": f.end_row, "column": f.end_column},
        "confidence": round(f.confidence, 4),
        "severity": f.severity,
        "consequence": f.consequence,
        "hot": f.hot,
        "heat": round(f.heat, 2),
        "owner": f.owner,
        "category": f.category,
        "function": f.function,
        "root": f.root,
        "path": [_step(s) for s in f.path],
        "why": [_reason(r) for r in f.why],
        "fix": _fix(f.fix) if f.fix else None,
        "url": f.url or None,
        "noqa_row": f.noqa_row or f.row,
        "root_kind": f.root_kind,
        "masked_by": f.masked_by or None,
        "library": _step(f.library) if f.library else None,
        "advice": f.advice,
        "alternatives": [_fix(fix) for fix in f.fixes[1:]],
        "declined": [{"codemod": name, "reason": reason} for name, reason in f.refusals],
        "certainty": round(f.certainty, 4),
        "guards": f.guards,
    }


def _problem(p: Problem) -> dict[str, Any]:
    empty = dict.fromkeys(_finding(_NOTHING))
    place = {"row": p.row, "column": p.column}
    return empty | {
        "code": p.code,
        "name": p.name,
        "message": p.message,
        "filename": readable(p.filename),
        "location": place,
        "end_location": place,
        "confidence": 1.0,
        "severity": p.severity,
        "path": [],
        "why": [],
    }


_NOTHING = Finding("", "", "", "", 1, 1, 1, 1)


def _step(step: Step) -> dict[str, Any]:
    return {"function": step.function, "filename": readable(step.filename), "row": step.row}


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "codemod": fix.codemod,
        "applicability": fix.applicability,
        "message": fix.message,
        "edits": [_edit(e) for e in fix.edits],
    }


def _edit(edit: Edit) -> dict[str, Any]:
    return {
        "content": edit.content,
        "filename": readable(edit.filename),
        "location": {"row": edit.row, "column": edit.column},
        "end_location": {"row": edit.end_row, "column": edit.end_column},
    }


def _reason(reason: Reason) -> dict[str, Any]:
    place = {"filename": readable(reason.filename)} if reason.filename else {}
    return {"row": reason.row, "text": reason.text} | place


def _text(data: Any) -> Any:
    """Data with every string made one that UTF-8 can hold."""
    if isinstance(data, str):
        return data.encode("utf-8", "backslashreplace").decode()
    if isinstance(data, dict):
        return {key: _text(value) for key, value in data.items()}
    return [_text(item) for item in data] if isinstance(data, list) else data
