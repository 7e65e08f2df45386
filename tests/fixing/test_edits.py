"""Edits on text: what they cover changes, everything else keeps its bytes."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gblint.findings.finding import Edit, Fix
from gblint.fixing.edits import Conflict, compatible, edited, moved_row


def edit(row: int, column: int, end_row: int, end_column: int, content: str) -> Edit:
    return Edit("a.py", row, column, end_row, end_column, content)


def test_replaces_inserts_and_deletes() -> None:
    data = b"one\ntwo\nthree\n"
    edits = [edit(1, 1, 1, 4, "ONE"), edit(2, 1, 3, 1, ""), edit(3, 1, 3, 1, "new\n")]
    assert edited(data, edits) == b"ONE\nnew\nthree\n"


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_new_text_takes_the_line_ends_of_the_file(newline: bytes) -> None:
    data = newline.join([b"a", b"b  ", b"\tc", b""])
    expected = newline.join([b"a", b"x", b"y", b"\tc", b""])
    assert edited(data, [edit(2, 1, 3, 1, "x\ny\n")]) == expected


def test_byte_order_mark_and_encoding_stay() -> None:
    marked = codecs.BOM_UTF8 + "é = 1\n".encode()
    assert edited(marked, [edit(1, 5, 1, 6, "2")]) == codecs.BOM_UTF8 + "é = 2\n".encode()
    latin = "# coding: latin-1\né = 1\n".encode("latin-1")
    assert edited(latin, [edit(2, 5, 2, 6, "2")]) == "# coding: latin-1\né = 2\n".encode("latin-1")


def test_a_character_the_encoding_lacks_is_a_conflict() -> None:
    with pytest.raises(Conflict, match="lacks a character"):
        edited(b"# coding: latin-1\nx = 1\n", [edit(2, 5, 2, 6, "'→'")])


def test_a_last_line_without_line_end_stays_without() -> None:
    assert edited(b"a\nb", [edit(3, 1, 3, 1, "c\n")]) == b"a\nb\nc"
    assert edited(b"a\nb", [edit(2, 1, 3, 1, "")]) == b"a\n"
    assert edited(b"a", [edit(1, 1, 1, 1, "x\n")]) == b"x\na"


def test_equal_insertions_are_made_once() -> None:
    insertion = edit(1, 1, 1, 1, "import torch\n")
    assert edited(b"x\n", [insertion, insertion]) == b"import torch\nx\n"


@pytest.mark.parametrize(
    "place", [(5, 1, 5, 1), (1, 9, 1, 9), (0, 1, 0, 1), (2, 1, 1, 1)], ids=["row", "column", "zero", "backwards"]
)
def test_a_place_outside_the_file_is_a_conflict(place: tuple[int, int, int, int]) -> None:
    with pytest.raises(Conflict):
        edited(b"a\nb\n", [edit(*place, "x")])


def test_overlapping_edits_are_a_conflict() -> None:
    with pytest.raises(Conflict, match="overlap"):
        edited(b"abcdef\n", [edit(1, 1, 1, 4, "x"), edit(1, 3, 1, 6, "y")])


def test_which_edits_go_together() -> None:
    fix = Fix("c", "safe", "m", (edit(2, 1, 4, 1, "x\n"),))
    apart = Fix("c", "safe", "m", (edit(4, 1, 5, 1, "y\n"),))
    inside = Fix("c", "safe", "m", (edit(3, 1, 3, 2, "y"),))
    insertion = Fix("c", "safe", "m", (edit(3, 1, 3, 1, "y\n"),))
    border = Fix("c", "safe", "m", (edit(2, 1, 2, 1, "y\n"),))
    taken = {"a.py": list(fix.edits)}
    assert compatible(taken, apart)
    assert compatible(taken, border)
    assert not compatible(taken, inside)
    assert not compatible(taken, insertion)
    assert compatible({"b.py": list(fix.edits)}, inside)


def test_two_definitions_of_one_name_do_not_go_together() -> None:
    first = edit(1, 1, 1, 1, "def _seed(s):\n    x = s\n")
    assert not compatible({"a.py": [first]}, Fix("c", "safe", "m", (edit(1, 1, 1, 1, "def _seed(t):\n    x = t\n"),)))
    assert not compatible({"a.py": [first]}, Fix("c", "safe", "m", (edit(9, 1, 9, 1, "_seed = 2\n"),)))
    assert compatible({"a.py": [first]}, Fix("c", "safe", "m", (edit(1, 1, 1, 1, "def _sow(s):\n    x = s\n"),)))
    assert compatible({"a.py": [first]}, Fix("c", "safe", "m", (first,)))


LINES = st.lists(st.text(alphabet="ab é\t#", max_size=5), min_size=1, max_size=8)


@given(LINES, st.data())
def test_rows_not_covered_keep_their_bytes_and_move_as_said(lines: list[str], data: st.DataObject) -> None:
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    new = data.draw(st.lists(st.text(alphabet="xy", max_size=3), max_size=4))
    text = "".join(f"{line}\n" for line in lines)
    made = edit(first, 1, last + 1, 1, "".join(f"{line}\n" for line in new))
    after = edited(text.encode(), [made]).decode().split("\n")
    for row, line in enumerate(lines, 1):
        if not first <= row <= last:
            assert after[moved_row(row, [made]) - 1] == line
