"""The documentation of a rule or codemod as Markdown."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress

_HEADING = re.compile(r"(\S.*):")
_CODE_HEADINGS = ("Example", "Instead")


def markdown(docstring: str) -> str:
    """A docstring with headings (`What breaks:`, text indented below) as Markdown; examples become code blocks."""
    parts: list[str] = []
    for heading, body in _blocks(docstring):
        if heading in _CODE_HEADINGS and _is_code(body):
            parts.append(f"**{heading}**\n\n```python\n{body}\n```\n")
        elif heading:
            parts.append(f"**{heading}.** {body}\n")
        elif body:
            parts.append(f"{body}\n")
    return "\n".join(parts)


def _is_code(text: str) -> bool:
    """What to write instead is code (or a handler alone), unless the answer is to do it elsewhere, in words."""
    for start in ("", "try:\n    pass\n"):
        with suppress(SyntaxError):
            ast.parse(start + text)
            return True
    return False


def _blocks(docstring: str) -> Iterator[tuple[str, str]]:
    heading, lines = "", list[str]()
    for line in docstring.splitlines():
        found = _HEADING.fullmatch(line)
        if found:
            yield heading, "\n".join(lines).strip("\n")
            heading, lines = found[1], []
        else:
            lines.append(line.removeprefix("    ") if heading else line)
    yield heading, "\n".join(lines).strip("\n")
