"""Which rows a comment silences, and for which codes."""

from __future__ import annotations

import textwrap

import pytest

from gblint.index.build import build_index


def found(text: str) -> list[tuple[int, tuple[str, ...], int, int, str]]:
    info = build_index(textwrap.dedent(text), "/p/m.py", "m", "", "")
    return [(s.row, s.codes, s.first, s.last, s.form) for s in info.suppressions]


@pytest.mark.parametrize(
    ("comment", "codes", "form"),
    [
        ("# noqa", (), "noqa"),
        ("#NOQA", (), "noqa"),
        ("# noqa: GB0059", ("GB0059",), "noqa"),
        ("# noqa: F401, GB0059 E501 because", ("F401", "GB0059", "E501"), "noqa"),
        ("# noqa : GB0059", ("GB0059",), "noqa"),
        ("# noqa: untraceable-builtin", ("untraceable-builtin",), "noqa"),
        ("# type: ignore  # noqa: GB1", ("GB1",), "noqa"),
        ("# noqa F403", (), "noqa"),
        ("# gblint: ignore[GB0059] it is only for debugging", ("GB0059",), "ignore"),
        ("# gblint: ignore[GB0059, data-dependent-branch]", ("GB0059", "data-dependent-branch"), "ignore"),
        ("# gblint: ignore", (), "ignore"),
    ],
)
def test_forms_on_one_row(comment: str, codes: tuple[str, ...], form: str) -> None:
    assert found(f"a = 1\nx = f()  {comment}\n") == [(2, codes, 2, 2, form)]


@pytest.mark.parametrize(
    ("comment", "codes"),
    [
        ("# gblint: noqa", ()),
        ("# gblint: noqa: GB0059, GB0170", ("GB0059", "GB0170")),
        ("# gblint: skip-file", ()),
    ],
)
def test_file_level(comment: str, codes: tuple[str, ...]) -> None:
    assert found(f"x = 1\n{comment}\ny = 2\n") == [(2, codes, 1, 3, "file-noqa")]


@pytest.mark.parametrize(
    "line",
    [
        "# ruff: noqa",
        "# flake8: noqa: F401",
        "x = '# noqa'",
        "# noqa:",
        "# noqa: ,",
        "# gblint: ignore[]",
        "# gblint: noqa:",
        "# nonoqa",
        "# noqaish",
        "'''\n# gblint: noqa\n'''",
    ],
)
def test_what_silences_nothing(line: str) -> None:
    assert found(line + "\n") == []


def test_a_comment_at_either_end_covers_a_whole_statement() -> None:
    text = """
        x = f(  # noqa: GB1
            1,  # noqa: GB2
            2,
        )  # noqa: GB3
    """
    assert found(text) == [
        (2, ("GB1",), 2, 5, "noqa"),
        (3, ("GB2",), 3, 3, "noqa"),
        (5, ("GB3",), 2, 5, "noqa"),
    ]


def test_a_comment_on_a_block_covers_its_header_only() -> None:
    text = """
        @decorator
        def f(  # noqa: GB1
            a,
        ):
            if (a and
                a > 1):  # noqa: GB2
                return a
            match a:  # noqa: GB3
                case 1: pass
    """
    assert [(row, first, last) for row, _, first, last, _ in found(text)] == [(3, 3, 5), (7, 6, 7), (9, 9, 9)]


def test_comment_after_a_multi_line_string() -> None:
    assert found('x = """\n# noqa: GB1\n"""  # noqa: GB2\n') == [(3, ("GB2",), 1, 3, "noqa")]


def test_a_file_that_cannot_be_parsed_has_none() -> None:
    assert found("x = (  # noqa\n") == []
