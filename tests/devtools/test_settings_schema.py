"""The schema of the settings takes what gblint takes, and refuses what gblint refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gblint.config import FIX_PARSERS, KEYS, PARSERS

FILE = Path(__file__).parents[2] / "docs/schema/settings.json"
SCHEMA = json.loads(FILE.read_text("utf-8"))
VALUES: tuple[Any, ...] = (
    "", "x", "2.13", "2.13.1", "auto", "pkg.model:Net.forward", "guard", 0, 0.5, 1, 2, -0.1, True, False, None,
    [], ["GB0059"], ["print-call", "ALL"], ["SHOP001"], ["Bad Name"], ["GB00591"], [""], [3], ["auto"], ["all", "a:b"],
    ["src", "."], {}, {"x": ["GB0059"]}, {"x": "GB0059"}, {"x": [3]}, {"hot": 0.5}, {"hot": False}, {"hot": True},
    {"cold": 2}, {"warm": 1}, {"a.b": {"returns": "tensor"}}, {"a.b.*": {"breaks": "why"}}, {"a.b": {"returns": "x"}},
    {"a": {"logs": True}}, {"a.b": {}}, {"a.b": {"log": True}}, {"a.b": 3}, {"a.b": {"logs": "x"}},
    {"logging": "guard"}, {"logging": "x"}, {"logging": 1}, {"extend-safe-fixes": ["GB0059"]},
    {"extend-unsafe-fixes": "GB0059"},
)  # fmt: skip
# What a schema cannot say: that a table says nothing, or two things that exclude each other.
BEYOND = [{"a.b": {"logs": False}}, {"a.b": {"logs": True, "disabled": True}}]


def accepts(value: dict[str, Any]) -> bool:
    return jsonschema.Draft7Validator(SCHEMA).is_valid(value)


def takes(key: str, value: object) -> bool:
    try:
        PARSERS[key](value)
    except ValueError:
        return False
    return True


def test_the_schema_is_one() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    assert tuple(SCHEMA["properties"]) == KEYS
    assert tuple(SCHEMA["properties"]["fix"]["properties"]) == tuple(FIX_PARSERS)
    assert not accepts({"selct": ["GB0059"]})


@pytest.mark.parametrize("key", KEYS)
def test_schema_and_parser_agree(key: str) -> None:
    taken = [value for value in VALUES if takes(key, value)]
    assert taken
    assert [value for value in VALUES if accepts({key: value})] == taken


def test_what_the_schema_cannot_say_gblint_does() -> None:
    for value in BEYOND:
        assert accepts({"functions": value})
        assert not takes("functions", value)


def test_every_key_says_what_it_means_in_plain_words() -> None:
    keys = SCHEMA["properties"] | SCHEMA["properties"]["fix"]["properties"]
    for key, about in keys.items():
        assert len(about["description"]) > 8, key
        assert not set("`[]|#") & set(about["description"]), key
