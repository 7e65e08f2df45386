"""Labels of programs: where the author says that Dynamo breaks the graph.

A program of the corpus says it in its leading comment lines:

    # expect: GB0059 @ 12            a graph break whose innermost frame in the program is line 12
    # expect: GB0059 @ helper.py:4   the same in another file of a program that is a folder
    # also: GB7000 @ 12              a further id reported while handling the break at that line
    # silent: GB0003 @ 12            a frame that Dynamo refuses without reporting a break
    # expect: none                   no graph break at all
    # needs: numpy, einops           packages it imports beside torch

An example of a rule says it at the end of the line, `x.item()  # GB0124`, with commas between several ids;
`# silent: GB0003` likewise. `# GB0039` stands where a value changes that has the function around it compiled anew until
Dynamo gives up. One without such comments is expected not to break.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize

import msgspec

from gblint.devtools.observed import UNNUMBERED, Break, Observed
from gblint.verify.message import RECOMPILE_LIMIT

HEADER = re.compile(r"#\s*(expect|also|silent):\s*(?:none|(GB\d{4})\s*@\s*(?:([\w./]+):)?(\d+))\s*$")
NEEDS = re.compile(r"#\s*needs:\s*(.+)$")
TRAILING = re.compile(r"#\s*(silent:\s*)?(GBL?\d{3,4}(?:\s*,\s*GBL?\d{3,4})*)\s*$")
ID = re.compile(r"GB(?:\d{4}|L\d{3})")
PLACE = re.compile(rf"(GB\d{{4}}|{re.escape(UNNUMBERED)}) @ (?:([\w./]+):)?(\d+)")


class Place(msgspec.Struct, frozen=True, order=True):
    """An id at a row; `file` as in `Break`."""

    file: str
    row: int
    code: str

    def __str__(self) -> str:
        return f"{self.code} @ {self.file + ':' if self.file else ''}{self.row}"

    @staticmethod
    def parse(text: str) -> Place:
        """The place that `str` has written. Raises ValueError for any other text."""
        match = PLACE.fullmatch(text)
        if not match:
            raise ValueError(f"not a place in a program: {text!r}; expected something like 'GB0059 @ 12'")
        return Place(match[2] or "", int(match[3]), match[1])


class Labels(msgspec.Struct, frozen=True):
    """The header of a program."""

    expect: frozenset[Place] = frozenset()
    also: frozenset[Place] = frozenset()
    silent: frozenset[Place] = frozenset()
    needs: tuple[str, ...] = ()


def header(text: str) -> Labels:
    """Labels in the leading comment lines of a program's text. Raises ValueError without an `expect` line."""
    places: dict[str, set[Place]] = {"expect": set(), "also": set(), "silent": set()}
    needs: list[str] = []
    labelled = False
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        if match := NEEDS.match(line):
            needs += [name.strip() for name in match[1].split(",")]
        elif match := HEADER.match(line):
            labelled |= match[1] == "expect"
            if match[2]:
                places[match[1]].add(Place(match[3] or "", int(match[4]), match[2]))
    if not labelled:
        raise ValueError("no `# expect:` line among the leading comments")
    expect, also, silent = (frozenset(places[kind]) for kind in ("expect", "also", "silent"))
    return Labels(expect, also, silent, tuple(needs))


def expected(text: str) -> set[tuple[int, str]]:
    """Row and id of each break that the trailing comments of an example announce."""
    return _trailing(text, silent=False)


def expected_silent(text: str) -> set[tuple[int, str]]:
    """Row and id of each silently refused frame that the trailing comments of an example announce."""
    return _trailing(text, silent=True)


def _trailing(text: str, silent: bool) -> set[tuple[int, str]]:
    found: set[tuple[int, str]] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        match = TRAILING.match(token.string) if token.type == tokenize.COMMENT else None
        if match and bool(match[1]) is silent:
            found |= {(token.start[0], code) for code in ID.findall(match[2])}
    return found


def is_own(code: str) -> bool:
    """Whether an id is gblint's own: Dynamo says nothing of it."""
    return code.startswith("GBL")


def example_problems(text: str, observed: Observed) -> list[str]:
    """What an example says wrongly, in words; empty when Dynamo does what its comments announce."""
    breaks = {(row, code) for row, code in expected(text) if code != RECOMPILE_LIMIT and not is_own(code)}
    silent = {(row, code) for row, code in observed.silent_places() if code != RECOMPILE_LIMIT}
    problems = _differences(breaks, observed.places(), "break")
    problems += _differences(expected_silent(text), silent, "silent refusal")
    problems += _recompiling(text, {row for row, code in expected(text) if code == RECOMPILE_LIMIT}, observed)
    if observed.error:
        problems.append(f"it ends with {observed.error}")
    if not observed.traced:
        problems.append("Dynamo traced none of it: is the compiled function called?")
    return problems


def _recompiling(text: str, rows: set[int], observed: Observed) -> list[str]:
    """How rows that are announced to have functions compiled anew differ from the functions that Dynamo gave up, of
    which it tells the first row."""
    abandoned = {row for row, code in observed.silent_places() if code == RECOMPILE_LIMIT}
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    starts = [min([f.lineno, *(d.lineno for d in f.decorator_list)]) for f in functions]
    spans = [(s, f.end_lineno or 0) for s, f in zip(starts, functions, strict=True) if s in abandoned]
    for_nothing = {row for row in rows if not any(first <= row <= last for first, last in spans)}
    problems = [f"the function around line {row} is not given up" for row in sorted(for_nothing)]
    return problems + ["functions are given up, and no line is announced"] * (bool(spans) and not rows)


def _differences(want: set[tuple[int, str]], got: set[tuple[int, str]], what: str) -> list[str]:
    missing = [f"no {what} {code} at line {row}" for row, code in sorted(want - got)]
    surplus = [f"unannounced {what} {code} at line {row}" for row, code in sorted(got - want)]
    return missing + surplus


def program_problems(labels: Labels, observed: Observed) -> list[str]:
    """How a program's header differs from what was observed, in words; empty when it is true."""
    problems = []
    seen = labels_from(observed)
    for kind, want, got in (
        ("expect", labels.expect, seen.expect),
        ("also", labels.also, seen.also),
        ("silent", labels.silent, seen.silent),
    ):
        problems += [f"{kind}: {place} did not happen" for place in sorted(want - got)]
        problems += [f"{kind}: {place} is not in the header" for place in sorted(got - want)]
    return problems


def header_lines(observed: Observed) -> list[str]:
    """The header that is true of an observation."""
    labels = labels_from(observed)
    lines = [f"# expect: {place}" for place in sorted(labels.expect)] or ["# expect: none"]
    lines += [f"# also: {place}" for place in sorted(labels.also)]
    return lines + [f"# silent: {place}" for place in sorted(labels.silent)]


def labels_from(observed: Observed) -> Labels:
    """The labels that are true of an observation."""
    expect = frozenset(_places(observed.breaks))
    return Labels(expect, frozenset(_wraps(observed.breaks)), frozenset(_places(observed.silent)))


def _places(breaks: tuple[Break, ...]) -> set[Place]:
    return {Place(b.file, b.row, b.gb_id) for b in breaks}


def _wraps(breaks: tuple[Break, ...]) -> set[Place]:
    wraps = {Place(b.file, b.row, code) for b in breaks for code in b.wrapped_by}
    return wraps - _places(breaks)
