"""The rows given to tests that are written over several rows are those of the jumps in real bytecode."""

from __future__ import annotations

import dis
import sys
import textwrap
from types import CodeType

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider

from gblint.findings.jumps import jump_place

FORMS = [
    "if (\n p(1)\n or p(2)\n or p(3)\n):\n x = 1",
    "if a and (\n p(1)\n):\n x = 1",
    "while (\n p(1)\n and not p(2)\n):\n break",
    "assert (\n p(1)\n and p(2)\n)",
    "if (\n p(1) > 1\n and p(2)\n):\n x = 1",
    "if (\n a\n and (p(1)\n or p(2) is None)\n and not p(3)\n):\n x = 1",
    "if a:\n x = 1\nelif (\n p(1)\n or p(2)\n):\n x = 2",
    "x = (\n p(1)\n or p(2)\n or a\n)",
    "x = (\n 1\n if p(1)\n and p(2)\n else 2\n)",
    "x = [\n t\n for t in a\n if p(t)\n]",
]


def jumps(code: CodeType) -> list[int]:
    """Rows of the conditional jumps, in order."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    own = [i.positions.lineno for i in dis.get_instructions(code) if "JUMP" in i.opname and "_IF_" in i.opname]  # type: ignore[attr-defined]
    return [*own, *(row for each in inner for row in jumps(each))]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="no places in the bytecode")
@pytest.mark.parametrize("form", FORMS)
def test_rows_are_those_of_the_jumps(form: str) -> None:
    text = "def f(a, p):\n" + textwrap.indent(form, "    ") + "\n"
    scope: dict[str, object] = {}
    exec(compile(text, "form", "exec"), scope)
    wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    parents, places = wrapper.resolve(ParentNodeProvider), wrapper.resolve(PositionProvider)
    called = [n for n in places if isinstance(n, cst.Call) and isinstance(n.func, cst.Name) and n.func.value == "p"]
    tests = [parents[c] if isinstance(parents[c], cst.Comparison) else c for c in called]
    rows = [places[jump_place(t, parents, sys.version_info[:2])].start.line for t in tests]
    found = jumps(scope["f"].__code__)  # type: ignore[attr-defined]
    last = len(found) if not form.startswith("while") else len(rows)  # a loop tests again at its end
    assert [row for row in rows if row not in found[:last]] == []
