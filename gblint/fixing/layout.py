"""New texts put into a statement, which is laid out anew where its line gets too long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import libcst as cst

from gblint.findings.finding import Edit

if TYPE_CHECKING:
    from gblint.fixing.site import Site

WIDTH = 88  # columns that a changed line may have: what black allows, the least of the usual formatters
WIDEST = 120
_OPEN, _CLOSE = "([{", ")]}"


def flat_with(site: Site, node: cst.CSTNode, texts: Mapping[cst.CSTNode, str]) -> str:
    """The source of an expression or small statement on one line, with other texts in the place of some of its parts.
    Raises Refusal where a comment stands in it, or an f-string has no room for a text."""
    for part, new in texts.items():
        site.check_room(part, new)
    names = {part: f"_gblint_{number}_" for number, part in enumerate(texts)}

    class Put(cst.CSTTransformer):
        def on_visit(self, node: cst.CSTNode) -> bool:
            return node not in names

        def on_leave(self, original: cst.CSTNode, updated: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
            return cst.Name(names[original]) if original in names else updated

    changed = node.visit(Put()) if texts else node
    assert isinstance(changed, cst.CSTNode)
    text = site.flat(changed)
    for part, name in names.items():
        text = text.replace(name, texts[part])
    return text


def put(site: Site, statement: cst.CSTNode, texts: Mapping[cst.CSTNode, str]) -> list[Edit]:
    """Edits that put texts in the place of parts of a statement: one each, or, where the line would get too long, one
    for the statement."""
    edits = [site.replace(node, text) for node, text in texts.items()]
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return edits
    row, column, end_row, end_column = site.span(statement.body[0])
    if row != end_row or site.lines[row - 1][end_column - 1 :].strip():
        return edits
    small = statement.body[0]
    text = texts[small] if small in texts else flat_with(site, small, texts)
    width = width_of(site)
    if column - 1 + len(text) <= width:
        return edits
    return [site.replace(small, fitted(text, site.indent(statement), site.step, width))]


def width_of(site: Site) -> int:
    """The columns that lines of the file may have, going by its longest line."""
    longest = max((len(line) for line in site.lines if not line.lstrip().startswith("#")), default=WIDTH)
    return min(max(longest, WIDTH), WIDEST)


def fitted(text: str, indent: str, step: str, width: int = WIDTH) -> str:
    """A statement of one line as black would break it: at its last brackets, or, where it ends in none, in parentheses
    round what it assigns or returns. Lines behind the first bring their indentation."""
    if len(indent) + len(text) <= width:
        return text
    head, body, tail = _last_brackets(text)
    if not head or not body:
        return _in_parentheses(text, indent, step, width)
    inner = f"{indent}{step}"
    if len(inner) + len(body) <= width:
        return f"{head}\n{inner}{body}\n{indent}{tail}"
    clauses = _clauses(body)
    parts = clauses or _parts(body)
    comma = "," if len(parts) > 1 and not clauses else ""
    lines = "".join(f"{inner}{fitted(part, inner, step, width - 1)}{comma}\n" for part in parts)
    return f"{head}\n{lines}{indent}{tail}"


def _in_parentheses(text: str, indent: str, step: str, width: int) -> str:
    keyword, _, value = text.partition(" ") if text.startswith("return ") else text.partition(" = ")
    if not value or value.startswith("("):
        return text
    start = "return" if keyword == "return" else f"{keyword} ="
    inner = f"{indent}{step}"
    parts = _parts(value)
    if len(parts) > 1:
        return f"{start} (\n" + "".join(f"{inner}{part},\n" for part in parts) + f"{indent})"
    lines = [value] if len(inner) + len(value) <= width else [fitted(o, inner, step, width) for o in _operands(value)]
    return f"{start} (\n" + "".join(f"{inner}{line}\n" for line in lines) + f"{indent})"


def _operands(text: str) -> list[str]:
    """A line broken in front of its loosest operators."""
    for operators in (("+", "-"), ("*", "/", "@")):
        cuts = [p for p in _top_level(text) if text[p] in operators and text[p - 1] == " " and text[p + 1] == " "]
        if cuts:
            return [text[a:b].strip() for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    return [text]


def _top_level(text: str) -> list[int]:
    depth, found = 0, []
    for place, character in _code(text):
        depth += (character in _OPEN) - (character in _CLOSE)
        if depth == 0 and 0 < place < len(text) - 1:
            found.append(place)
    return found


def _last_brackets(text: str) -> tuple[str, str, str]:
    """A line up to its last opening bracket, what is in the brackets, and the closing one; empty where the line does
    not end in brackets or they hold all there is to the right of an operator."""
    if text[-1] not in _CLOSE:
        return "", "", ""
    depth = 0
    for place, character in _code(text):
        if character in _OPEN:
            depth += 1
            if depth == 1:
                start = place
        elif character in _CLOSE:
            depth -= 1
            end = place
    before = text[:start]
    value = before.partition(" = ")[2] if " = " in before else before.removeprefix("return ")
    if end != len(text) - 1 or _has_operator(value):
        return "", "", ""
    return text[: start + 1], text[start + 1 : end], text[end:]


def _has_operator(text: str) -> bool:
    depth = 0
    for _, character in _code(text):
        depth += (character in _OPEN) - (character in _CLOSE)
        if depth == 0 and character in "+-*/%&|^<>@ ":
            return True
    return False


def _parts(text: str) -> list[str]:
    """What commas separate, outside brackets and parameters of lambdas."""
    found, start, parameters = [], 0, False
    for place in _outside(text):
        if text.startswith("lambda", place) and not _within_word(text, place):
            parameters = True
        elif text[place] == ":":
            parameters = False
        elif text[place] == "," and not parameters:
            found.append(text[start:place].strip())
            start = place + 1
    rest = text[start:].strip()
    return [*found, rest] if rest else found


def _clauses(text: str) -> list[str]:
    """A comprehension cut in front of its `for` and `if`; nothing for any other text."""
    cuts: list[int] = []
    for place in _outside(text):
        words = (" for ", " async for ", " if ") if cuts else (" for ", " async for ")
        if text.startswith(words, place) and not (text.startswith(" for ", place) and text[:place].endswith(" async")):
            cuts.append(place)
    return [text[a:b].strip() for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)] if cuts else []


def _outside(text: str) -> Iterator[int]:
    """The places outside strings and brackets."""
    depth = 0
    for place, character in _code(text):
        depth += (character in _OPEN) - (character in _CLOSE)
        if depth == 0:
            yield place


def _within_word(text: str, place: int) -> bool:
    return place > 0 and (text[place - 1].isalnum() or text[place - 1] in "_.")


def _code(text: str) -> list[tuple[int, str]]:
    """The characters outside strings, with their places."""
    found, quote, place = [], "", 0
    while place < len(text):
        character = text[place]
        if quote:
            if character == "\\":
                place += 1
            elif character == quote:
                quote = ""
        elif character in "\"'":
            quote = character
        else:
            found.append((place, character))
        place += 1
    return found
