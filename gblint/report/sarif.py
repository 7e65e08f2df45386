"""SARIF 2.1.0 for code scanning: rules with their pages, findings with the way to them as code flow and with repairs.

Text from the user's code stands in messages as it is: the standard would have braces doubled, but the services and
editors that show messages do not undo that.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import gblint
from gblint.checking import BROKEN_FILE, GAP, UNUSED_SUPPRESSION, Outcome, Problem
from gblint.findings.finding import Edit, Finding, Fix
from gblint.report.json import dump
from gblint.report.order import fingerprint, numbered
from gblint.report.page import markdown
from gblint.report.style import Style, from_checkout, printable, short

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "%SRCROOT%"  # what relative names are relative to; services put the checkout in its place

_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_APPLICABLE = ("safe", "unsafe")  # a draft or an illustration is no repair that an editor could apply
_LINK = re.compile(r"\](?=\(\d)")  # `x[i](0)` would be a link to a related location
_OWN = {
    BROKEN_FILE: "A file that gblint could not analyse.",
    UNUSED_SUPPRESSION: "A comment that silences nothing.",
    GAP: "Something that gblint could not see.",
}


def render(outcome: Outcome, style: Style) -> str:
    """One run with a result for each finding and problem by file and row."""
    items = numbered(outcome)
    ids = list(dict.fromkeys(_rule_id(item) for item, _, _ in items))
    driver = {
        "name": "gblint",
        "semanticVersion": _semantic(gblint.__version__),
        "rules": [_rule(name) for name in ids],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"description": _message("The checkout, or the folder gblint was started in.")}},
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [{"level": "note", "message": _message(note)} for note in outcome.notes],
            }
        ],
        "results": [_result(item, ids.index(_rule_id(item)), fingerprint(key, n)) for item, key, n in items],
    }
    return dump({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _semantic(version: str) -> str:
    """A version of three numbers, as SARIF wants it."""
    numbers = re.match(r"\d+(\.\d+){0,2}", version)
    return ".".join((*(numbers[0] if numbers else "0").split("."), "0", "0")[:3])


def _rule_id(item: Finding | Problem) -> str:
    """One id of PyTorch's can stand for several rules, while SARIF wants an id for each."""
    return f"{item.code}/{item.name}"


# ------------------------------------------------------------------------------------------------------------- rules


@cache
def _known() -> dict[str, dict[str, Any]]:
    """The descriptions of all rules, by id. Rules are loaded for nothing else, so they wait."""
    from gblint.registry import documentation, load_rules

    return {
        f"{meta.code}/{meta.slug}": {
            "shortDescription": {"text": f"{meta.summary[:1].upper()}{meta.summary[1:]}."},
            "fullDescription": {"text": f"{meta.summary[:1].upper()}{meta.summary[1:]}. {meta.advice}"},
            "help": {"text": documentation(rule), "markdown": markdown(documentation(rule))},
            **({"helpUri": meta.url} if meta.url else {}),
            "properties": {"tags": ["torch.compile", "graph-break", meta.category], "torch": meta.torch},
        }
        for rule in load_rules()
        for meta in [rule.meta]
    }


def _rule(rule_id: str) -> dict[str, Any]:
    code, _, name = rule_id.partition("/")
    if code in _OWN:
        about: dict[str, Any] = {"shortDescription": {"text": _OWN[code]}}
    else:
        about = _known().get(rule_id, {"shortDescription": {"text": f"{code} {name}"}})
    return {"id": rule_id, "name": name} | about


# ----------------------------------------------------------------------------------------------------------- results


def _result(item: Finding | Problem, rule: int, identity: str) -> dict[str, Any]:
    result = {
        "ruleId": _rule_id(item),
        "ruleIndex": rule,
        "level": _LEVELS.get(item.severity, "warning"),
        "message": _message(item.message),
        "locations": [_place_of(item)],
        "partialFingerprints": {"gblint/v1": identity},
    }
    if isinstance(item, Problem):
        return result
    about = {
        "confidence": round(item.confidence, 4),
        "hot": item.hot,
        "heat": round(item.heat, 2),
        "consequence": item.consequence,
        "owner": item.owner,
        "root": item.root,
        "reach": item.reach,
        "frees": item.frees,
        "rootKind": item.root_kind,
        "advice": item.advice,
    }
    parts = {
        "rank": round(100 * item.confidence, 1),
        "codeFlows": list(_flows(item)),
        "relatedLocations": list(_related(item)),
        "fixes": [_fix(fix) for fix in item.fixes if fix.applicability in _APPLICABLE and fix.edits],
    }
    return result | {key: value for key, value in parts.items() if value != []} | {"properties": about}


def _message(text: str) -> dict[str, str]:
    return {"text": _LINK.sub("] ", printable(text)) or " "}


def _place_of(item: Finding | Problem) -> dict[str, Any]:
    end = (item.end_row, item.end_column) if isinstance(item, Finding) else (item.row, item.column)
    place = _place(item.filename, item.row, item.column, *end)
    if isinstance(item, Finding) and item.function:
        place["logicalLocations"] = [{"fullyQualifiedName": item.function, "kind": "function"}]
    return place


def _place(filename: str, row: int, column: int = 0, end_row: int = 0, end_column: int = 0) -> dict[str, Any]:
    """A physical location; without a column the whole row."""
    region = _region(row, column, end_row, end_column) if column else {"startLine": max(1, row)}
    return {"physicalLocation": {"artifactLocation": _artifact(filename), "region": region}}


def _region(row: int, column: int, end_row: int, end_column: int) -> dict[str, int]:
    start = max(1, row), max(1, column)
    end = max(start, (end_row, end_column))
    return {"startLine": start[0], "startColumn": start[1], "endLine": end[0], "endColumn": end[1]}


def _artifact(filename: str) -> dict[str, str]:
    name = from_checkout(filename)
    if os.path.isabs(name):  # a library, or a file beside the project
        return {"uri": Path(name).as_uri()}
    return {"uri": quote(os.fsencode(name)), "uriBaseId": ROOT}


def _flows(finding: Finding) -> Iterator[dict[str, Any]]:
    """The calls from the compiled root on, and what happens where they lead; nothing if it is the root itself."""
    path = finding.path
    if path and path[-1].function == finding.function:
        path = path[:-1]  # where the finding is
    if not path:
        return
    functions = [*(step.function for step in path), finding.function]
    calls = [
        _place(step.filename or finding.filename, step.row)
        | {"message": _message(f"{short(step.function)} calls {short(called)}")}
        for step, called in zip(path, functions[1:], strict=True)
    ]
    here = _place_of(finding) | {"message": _message(finding.message)}
    steps: list[dict[str, Any]] = [
        {"location": place, "nestingLevel": level, "importance": "important"} for level, place in enumerate(calls)
    ]
    steps.append({"location": here, "nestingLevel": len(calls), "importance": "essential"})
    yield {"threadFlows": [{"locations": steps}]}


def _related(finding: Finding) -> Iterator[dict[str, Any]]:
    """Where the reasons were established, and where in a library it happens."""
    for reason in finding.why:
        if reason.row:
            yield _place(reason.filename or finding.filename, reason.row) | {"message": _message(reason.text)}
    if finding.library:
        text = f"it happens in {short(finding.library.function)}"
        yield _place(finding.library.filename, finding.library.row) | {"message": _message(text)}


def _fix(fix: Fix) -> dict[str, Any]:
    text = f"{fix.message} ({fix.codemod}, {fix.applicability})"
    by_file: dict[str, list[Edit]] = {}
    for edit in fix.edits:
        by_file.setdefault(edit.filename, []).append(edit)
    return {"description": _message(text), "artifactChanges": [_change(*file) for file in by_file.items()]}


def _change(filename: str, edits: Iterable[Edit]) -> dict[str, Any]:
    return {
        "artifactLocation": _artifact(filename),
        "replacements": [
            {
                "deletedRegion": _region(e.row, e.column, e.end_row, e.end_column),
                "insertedContent": {"text": e.content},
            }
            for e in edits
        ],
    }
