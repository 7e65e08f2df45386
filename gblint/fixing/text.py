"""Indentation of source text."""

from __future__ import annotations

import io
import tokenize


def indent_of(line: str) -> str:
    """The whitespace a line starts with."""
    return line[: len(line) - len(line.lstrip(" \t\f"))]


def reindent(text: str, old: str, new: str) -> str | None:
    """Lines moved from one indentation to another; blank lines and lines inside brackets keep their relative place.

    None where that would change a string that spans lines.
    """
    if old == new:
        return text
    if _has_long_string(text, old):
        return None
    moved = []
    for line in text.splitlines(keepends=True):
        if not line.strip():
            moved.append(line)
        elif line.startswith(old):
            moved.append(new + line[len(old) :])
        else:  # a continuation line that stands further left
            moved.append(line)
    return "".join(moved)


def _has_long_string(text: str, indent: str) -> bool:
    source = f"if True:\n{text}" if indent else text
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError):
        return '"""' in text or "'''" in text
    strings = (tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))
    return any(t.type in strings and t.start[0] != t.end[0] for t in tokens)
