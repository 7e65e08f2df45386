"""Comments that are put on findings: where, and with what else left as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from gblint.errors import GblintError
from gblint.fixing.silence import silence
from tests.conftest import finding

MARK = "  # gblint: ignore[branch-on-tensor]"


def silenced(tmp_path: Path, source: str, *rows: tuple[int, int], reason: str = "") -> str:
    """A file with comments on findings that reach from row to row; all have to be covered."""
    path = tmp_path / "a.py"
    path.write_bytes(source.encode())
    done = silence([finding(path, first, end_row=last, noqa_row=last) for first, last in rows], reason)
    assert done.left == []
    return path.read_bytes().decode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1\n", f"x = 1{MARK}\n"),
        ("x = 1", f"x = 1{MARK}"),
        ("x = 1  # why\n", f"x = 1  # why{MARK}\n"),
        ("x = 1  # why \\\n", f"x = 1  # why \\{MARK}\n"),
        ("x = 1  # noqa: E501\n", f"x = 1  # noqa: E501{MARK}\n"),
        ("x = 1  # type: ignore\n", f"x = 1  # type: ignore{MARK}\n"),
        ("x = 1  # gblint: ignore[print-call] why\n", "x = 1  # gblint: ignore[print-call, branch-on-tensor] why\n"),
        ("x = 1  # gblint: ignore[GB0059 , ]\n", "x = 1  # gblint: ignore[GB0059, branch-on-tensor , ]\n"),
        ("x = 1  # gblint: ignore[]\n", "x = 1  # gblint: ignore[branch-on-tensor]\n"),
        ("x = '# gblint: ignore[print-call]'\n", f"x = '# gblint: ignore[print-call]'{MARK}\n"),
        ("x = f(\n    1,\n)\n", f"x = f({MARK}\n    1,\n)\n"),
        ("x = '''\n'''\n", f"x = '''\n'''{MARK}\n"),
        ("x = f'''\n{1}\n'''\n", f"x = f'''\n{{1}}\n'''{MARK}\n"),
        ("x = f'''{f'{1}'}\n'''\n", f"x = f'''{{f'{{1}}'}}\n'''{MARK}\n"),
        ("x = 1 + \\\n    2\n", f"x = 1 + \\\n    2{MARK}\n"),
        ("if x: pass\nelse: pass\n", f"if x: pass{MARK}\nelse: pass\n"),
        ("if (\n    x\n):\n    # here\n    pass\n", f"if ({MARK}\n    x\n):\n    # here\n    pass\n"),
        ("x = 1; y = 2\n", f"x = 1; y = 2{MARK}\n"),
        ("x = 1\r\ny = 2\r\n", f"x = 1{MARK}\r\ny = 2\r\n"),
        ("\ufeffx = 1\n", f"\ufeffx = 1{MARK}\n"),
    ],
)
def test_a_comment_goes_where_it_covers(tmp_path: Path, before: str, after: str) -> None:
    assert silenced(tmp_path, before, (1, 1)) == after


def test_a_finding_inside_a_statement(tmp_path: Path) -> None:
    source = "x = f(\n    1,\n    '''a\nb''',\n    2,\n)\n"
    assert silenced(tmp_path, source, (2, 2)).splitlines()[1] == f"    1,{MARK}"
    assert silenced(tmp_path, source, (3, 4)).splitlines()[3] == f"b''',{MARK}", "where it ends"
    assert silenced(tmp_path, source, (3, 3)).splitlines()[5] == f"){MARK}", "its own row ends in a string"


def test_findings_of_one_row_share_a_comment(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = 1\n")
    done = silence([finding(path), finding(path, name="print-call", code="GB0059"), finding(path)], "both are rare")
    assert path.read_text() == "x = 1  # gblint: ignore[branch-on-tensor, print-call] both are rare\n"
    assert (done.rows, done.files, len(done.findings)) == (1, 1, 3)


def test_a_reason_that_the_encoding_lacks_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    source = "# coding: latin-1\nx = '\xe9'\n".encode("latin-1")
    path.write_bytes(source)
    done = silence([finding(path, 2)], "\u4e2d")
    assert (len(done.left), done.files) == (1, 0)
    assert path.read_bytes() == source
    silence([finding(path, 2)], "caf\xe9")
    assert path.read_bytes() == source.removesuffix(b"\n") + f"{MARK} caf\xe9\n".encode("latin-1")


@pytest.mark.parametrize("source", [b"def f(:\n", b"x = '\xff'\n", b"", b"x = 1\n"])
def test_what_cannot_be_silenced_is_left(tmp_path: Path, source: bytes) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(source)
    assert len(silence([finding(path, 7)]).left) == 1
    assert path.read_bytes() == source


def test_a_file_that_cannot_be_written_does_not_keep_others_from_it(tmp_path: Path, monkeypatch) -> None:
    first, second = tmp_path / "a.py", tmp_path / "b.py"
    for path in (first, second):
        path.write_text("x = 1\n")
    monkeypatch.setattr("os.access", lambda path, mode: not str(path).endswith("a.py"))
    with pytest.raises(GblintError, match="read-only"):
        silence([finding(first), finding(second)])
    assert first.read_text() == "x = 1\n"
    assert MARK in second.read_text()
