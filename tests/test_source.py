"""Decoding source files as Python does, and saying what is wrong with those that cannot be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gblint.source import SIZE_LIMIT, SourceError, read_source


def write(folder: Path, data: bytes) -> Path:
    path = folder / "m.py"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"", "", "utf-8"),
        ("x = 'é'".encode(), "x = 'é'", "utf-8"),
        (b"\xef\xbb\xbfx = 1", "x = 1", "utf-8-sig"),
        (b"\xef\xbb\xbf# coding: utf-8\nx = 1", "# coding: utf-8\nx = 1", "utf-8-sig"),
        (b"# -*- coding: latin-1 -*-\nx = '\xe9'", "# -*- coding: latin-1 -*-\nx = 'é'", "iso8859-1"),
        (b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\n'\x80'", None, "cp1252"),
        (b"x = 1\r\n# coding: latin-1\r\ny = '\xc3\xa9'", "x = 1\r\n# coding: latin-1\r\ny = 'é'", "utf-8"),
        (b"'''\n# coding: ascii\n'''", "'''\n# coding: ascii\n'''", "utf-8"),
    ],
)
def test_decoding(tmp_path: Path, data: bytes, text: str | None, encoding: str) -> None:
    source = read_source(write(tmp_path, data))
    assert source.encoding == encoding
    assert source.text == (data.decode("cp1252") if text is None else text)


@pytest.mark.parametrize(
    ("data", "row", "column", "part"),
    [
        (b"x = 1\ny = '\xe9'\n", 2, 6, "utf-8"),
        (b"x = 1\nab\0c", 2, 3, "NUL"),
        ("x = 1".encode("utf-16"), 1, 1, "decoded|NUL"),
        (b"# coding: klingon\n", 1, 1, "klingon"),
        (b"\n# coding: rot13\n", 2, 1, "rot13"),
        (b"\xef\xbb\xbf# coding: latin-1\n", 1, 1, "byte order mark"),
        (b"# coding: ascii\n'\xe9'", 2, 2, "ascii"),
    ],
)
def test_bad_encoding(tmp_path: Path, data: bytes, row: int, column: int, part: str) -> None:
    with pytest.raises(SourceError, match=part) as caught:
        read_source(write(tmp_path, data))
    assert caught.value.kind == "bad-encoding"
    if b"x\0" not in data:
        assert (caught.value.row, caught.value.column) == (row, column)


def test_too_large(tmp_path: Path) -> None:
    path = tmp_path / "big.py"
    with path.open("wb") as file:
        file.truncate(SIZE_LIMIT + 1)
    with pytest.raises(SourceError, match="limit") as caught:
        read_source(path)
    assert caught.value.kind == "too-large"


def test_what_cannot_be_read(tmp_path: Path) -> None:
    loop = tmp_path / "loop.py"
    loop.symlink_to(loop)
    pipe = tmp_path / "pipe.py"
    os.mkfifo(pipe)
    for path in (tmp_path, tmp_path / "missing.py", loop, pipe, "bad\0name.py"):
        with pytest.raises(SourceError) as caught:
            read_source(path)
        assert caught.value.kind == "unreadable"
        assert caught.value.message
