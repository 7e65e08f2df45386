"""The JSON schema of `[tool.gblint]`, for editors: made of the tables that settings are read with."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from gblint import config
from gblint.knowledge import declared

DIALECT = "http://json-schema.org/draft-07/schema#"  # what editors read of TOML files understand

_STRING = {"type": "string", "minLength": 1}
_STRINGS = {"type": "array", "items": _STRING}
_CONFIDENCE = {"type": "number", "minimum": 0, "maximum": 1}
_SELECTORS = {"type": "array", "items": {"type": "string", "pattern": f"^({config.SELECTOR.pattern})$"}}
_ROOT = {"anyOf": [{"enum": list(config.ROOTS_MODES)}, {"type": "string", "pattern": f"^{config.ROOT.pattern}$"}]}


def schema(about: Mapping[str, str]) -> dict[str, Any]:
    """The schema. about: what each key means, in one or two sentences; a table within has its keys as "fix.logging"."""
    keys = {key: {**_OF[parser], "description": about[key]} for key, parser in config.PARSERS.items()}
    keys["fix"]["properties"] = {
        key: {**_OF[parser], "description": about[f"fix.{key}"]} for key, parser in config.FIX_PARSERS.items()
    }
    return {
        "$schema": DIALECT,
        "title": "Settings of gblint",
        "description": "What stands in [tool.gblint] of pyproject.toml, or in gblint.toml.",
        "type": "object",
        "properties": keys,
        "additionalProperties": False,
    }


def text(page: str) -> str:
    """The schema as a file has it. page: docs/configuration.md, whose tables say what each key means."""
    rows = re.findall(r"^\| `([\w-]+)` \|.*\| (.*?) \|$", page, re.MULTILINE)
    words = re.compile(r"\(\[[^\]]*\]\([^)]*\)\)|[`\[\]]|(?<=\])\([^)]*\)")  # links go, and marks
    about = {key: " ".join(words.sub("", meaning).split()) for key, meaning in rows}
    about |= {f"fix.{key}": about[key] for key in config.FIX_PARSERS}
    return json.dumps(schema(about), indent=2, ensure_ascii=False) + "\n"


def _table(values: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values, **more}


_FUNCTION = {
    "type": "object",
    "properties": {
        "breaks": {"type": "string"},
        "logs": {"type": "boolean"},
        "disabled": {"type": "boolean"},
        "returns": {"enum": list(declared.RETURNS)},
    },
    "additionalProperties": False,
    "minProperties": 1,
}
_OF: dict[Callable[[object], Any], dict[str, Any]] = {
    config.parse_selectors: _SELECTORS,
    config.parse_per_file: _table(_SELECTORS),
    config.parse_patterns: _STRINGS,
    config.parse_roots: {"anyOf": [_ROOT, {"type": "array", "items": _ROOT}]},
    config.parse_release: {"type": "string", "pattern": f"^{config.RELEASE.pattern}$"},
    config.parse_confidence: _CONFIDENCE,
    config.parse_fail_table: {
        "type": "object",
        "properties": {heat: {"anyOf": [_CONFIDENCE, {"const": False}]} for heat in config.HEATS},
        "additionalProperties": False,
    },
    config.parse_flag: {"type": "boolean"},
    config.parse_string: _STRING,
    config.parse_strings: _STRINGS,
    config.parse_logging: {"enum": list(config.LOGGING_MODES)},
    config.parse_fix: {"type": "object", "additionalProperties": False},
    declared.parse_functions: _table(_FUNCTION, propertyNames={"pattern": f"^{declared.NAME.pattern}$"}),
}
