"""Statements that have got too long are laid out as a formatter would, and stay what they are."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from gblint.fixing.layout import fitted

STATEMENTS = [
    "return {key: value(data[key], **kwargs) for key, value in self.data.items() if (callable(value) and key in data)}",
    "found = [name for group in groups for name, size in group.items() if size > least if name not in known and size]",
    "total = sum(weight * value for weight, value in zip(weights, values_of_everything) if weight > 0 and value < 9.5)",
    "chosen = apply(lambda first, second: first.some(second), *arguments, key=lambda pair, other: pair[0] - other)",
    "rows = [row async for row in source_of_all_rows(connection, limit=100, offset=200) if row is not None and row]",
    "text = join(', for each, if any', [part for part in parts_of_text if part], separator=' for ', last=final_one)",
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_broken_statement_says_the_same(statement: str) -> None:
    laid = fitted(statement, "    ", "    ")
    assert "\n" in laid
    assert max(map(len, laid.split("\n"))) <= 88
    assert _tree(laid) == _tree(statement)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_formatter_leaves_it_as_it_is(statement: str) -> None:
    source = f"async def f():\n    {fitted(statement, '    ', '    ')}\n"
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", "88", "-"]
    formatted = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    assert formatted == source.replace("', for each, if any'", '", for each, if any"').replace("' for '", '" for "')


def _tree(statement: str) -> str:
    return ast.dump(ast.parse(f"async def f():\n    {statement}\n"))
