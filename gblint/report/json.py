"""The report for programs: objects in the shape of ruff's, with more in them; in one array, or one a line.

Their schema is docs/schema/output-1.json: a key that is taken away or comes to mean something else makes it output-2.
"""

from __future__ import annotations

from typing import Any

import msgspec

from gblint.checking import Outcome, Problem
from gblint.findings.finding import Edit, Finding, Fix, Reason, Step
from gblint.report.cells import cell_of
from gblint.report.order import by_place
from gblint.report.style import Style, readable


def render(outcome: Outcome, style: Style) -> str:
    """All findings and problems by file and row.

    A file that could not be analysed is an object with code "GBL000" and its kind as name, an unused suppression one
    with code "GBL001"; both have the keys of a finding, null where a key makes no sense.
    """
    return dump([_data(item) for item in by_place(outcome)])


def render_lines(outcome: Outcome, style: Style) -> str:
    """The same objects, one a line."""
    return "".join(line(_data(item)) for item in by_place(outcome))


def dump(data: object) -> str:
    """JSON as a person can still read it."""
    return msgspec.json.format(_encoded(data), indent=2).decode() + "\n"


def line(data: object) -> str:
    """JSON in one line, with its end."""
    return _encoded(data).decode() + "\n"


def _encoded(data: object) -> bytes:
    try:
        return msgspec.json.encode(data)
    except UnicodeEncodeError:  # names of files that are no text, and what is named after them
        return msgspec.json.encode(_text(data))


def _data(item: Finding | Problem) -> dict[str, Any]:
    return finding_data(item) if isinstance(item, Finding) else problem_data(item)


def finding_data(f: Finding) -> dict[str, Any]:
    """A finding as plain data."""
    return {
        "code": f.code,
        "name": f.name,
        "message": f.message,
        "filename": readable(cell_of(f.filename)[0]),
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
        "cell": cell_of(f.filename)[1],
        "inline": f.inline,
        "reach": f.reach,
        "frees": f.frees,
    }


def problem_data(p: Problem) -> dict[str, Any]:
    """What gblint reports besides graph breaks, with the keys of a finding."""
    empty = dict.fromkeys(finding_data(_NOTHING))
    place = {"row": p.row, "column": p.column}
    return empty | {
        "code": p.code,
        "name": p.name,
        "message": p.message,
        "filename": readable(cell_of(p.filename)[0]),
        "cell": cell_of(p.filename)[1],
        "location": place,
        "end_location": place,
        "confidence": 1.0,
        "severity": p.severity,
        "path": [],
        "why": [],
    }


_NOTHING = Finding("", "", "", "", 1, 1, 1, 1)


def _file(filename: str) -> dict[str, Any]:
    """A file, and the cell if it is a notebook."""
    path, cell = cell_of(filename)
    return {"filename": readable(path)} | ({} if cell is None else {"cell": cell})


def _step(step: Step) -> dict[str, Any]:
    return {"function": step.function, **_file(step.filename), "row": step.row}


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
        **_file(edit.filename),
        "location": {"row": edit.row, "column": edit.column},
        "end_location": {"row": edit.end_row, "column": edit.end_column},
    }


def _reason(reason: Reason) -> dict[str, Any]:
    place = _file(reason.filename) if reason.filename else {}
    return {"row": reason.row, "text": reason.text} | place


def _text(data: Any) -> Any:
    """Data with every string made one that UTF-8 can hold."""
    if isinstance(data, str):
        return data.encode("utf-8", "backslashreplace").decode()
    if isinstance(data, dict):
        return {key: _text(value) for key, value in data.items()}
    return [_text(item) for item in data] if isinstance(data, list) else data
