"""The text of a graph break, as torch 2.8 and later write it, taken apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gblint.verify.said import RAISES, RESUMES, SKIPS, Frame, Message

# torch puts a link to the page of the graph break into its message; the break itself comes first, what wraps it next.
_LINK = re.compile(r"/gb/gb(\d{4})\.html")
_FRAME = re.compile(r' {2,3}File "(.*)", line (\d+), in (.*)')
_PLACE = re.compile(r"in user code at (.*):(\d+)\s*$")
_RESUME = re.compile(r"^torch_dynamo_resume_in_(.*)_at_\d+$")
_RAISED = re.compile(r"^(?:torch\._dynamo\.exc\.)(\w+): (.*)")
_STACK_STARTS = ("User code traceback:", "The graph break occurred in the following user code:", "from user code:")
_STACK_ENDS = ("Traceback (most recent call last):", "Most recent bytecode", "Set TORCHDYNAMO_VERBOSE")
_WRAPPED = "*** While handling this graph break, another graph break occurred: ***"
_NO_RESUME = ("Failed to handle graph break gracefully", "Graph break: torch.compile cannot properly resume")
_SUPPRESSED = "user stack suppressed"
RECOMPILE_LIMIT = "GB0039"
_COMPILE_ID = re.compile(r"^\d+/\d+: ")

# Words of the hints in torch/_dynamo/graph_break_hints.py, over the releases 2.8 to 2.14.
_CATEGORIES = (
    ("cascade", "caused by an earlier graph break"),
    ("dynamo-bug", "likely to be a Dynamo bug"),
    ("user-error", "may result in an error when running in eager"),
    ("user-error", "will result in an error when running in eager"),
    ("fundamental", "This graph break is fundamental"),
    ("supportable", "may be possible to write Dynamo tracing rules"),
    ("supportable", "Please report an issue to PyTorch"),
    ("supportable", "please file an issue on GitHub"),
    ("supportable", "Please file an issue to PyTorch"),
)


def function_name(name: str) -> str:
    """The name of a function as its author knows it: without what Dynamo calls the rest of it after a break."""
    while match := _RESUME.match(name):
        name = match[1]
    return name


def frames(lines: Iterable[str]) -> Iterator[Frame]:
    """The rows of a printed stack."""
    for line in lines:
        if match := _FRAME.fullmatch(line.rstrip()):
            yield Frame(match[1], int(match[2]), function_name(match[3]))


def parse(text: str) -> Message:
    """Take the report of one graph break apart: the record in a log, the payload in a trace, or a traceback.

    A text that is cut short gives what is in it.
    """
    lines = text.split("\n")
    stack = _stack(lines)
    body = _body(lines)
    suppressed = _SUPPRESSED in lines[0]
    if at := _PLACE.search(lines[0]):
        place = (at[1], int(at[2]))
        if not any((frame.filename, frame.row) == place for frame in stack):
            # No stack, or one that is cut short: then it does not tell whose row led there either.
            stack, suppressed = (Frame(*place),), True
    joined = "\n".join(body)
    codes = ["GB" + number for number in _LINK.findall(joined)]
    facts = _facts(joined.partition(_WRAPPED)[0].split("\n"))
    return Message(
        code=codes[0] if codes else "",
        wraps=tuple(dict.fromkeys(code for code in codes[1:] if code != codes[0])),
        title=facts["title"],
        explanation=facts["explanation"],
        hints=tuple(hint for hint in facts["hints"].split("\n") if hint),
        context=facts["context"],
        category=_category(facts["hints"] or joined),
        effect=_effect(lines),
        stack=stack,
        suppressed=suppressed,
    )


def raised(text: str) -> str:
    """The class of Dynamo's exception that a traceback ends in, "" if there is none."""
    found = [match[1] for line in text.split("\n") if (match := _RAISED.match(line.lstrip()))]
    return found[-1] if found else ""


def recompile_limit(at: Frame, guard: str) -> Message:
    """The break of a function that is compiled no more: where it starts, and the guard that failed last. torch 2.9 and
    earlier give it no id, the id is that of later releases."""
    explanation = f"compiled anew until the recompile limit; last: {failed_guard(guard)}" if guard else ""
    title = "Dynamo recompile limit exceeded"
    return Message(RECOMPILE_LIMIT, title=title, explanation=explanation, effect=SKIPS, stack=(at,))


def failed_guard(text: str) -> str:
    """A guard that failed, on one line, without the compile id that may stand before it."""
    return " ".join(_COMPILE_ID.sub("", text.strip().partition("\n")[0])[:500].split())


def _effect(lines: list[str]) -> str:
    if any(mark in line for line in lines[:2] for mark in _NO_RESUME):
        return SKIPS
    return RESUMES if "raph break" in lines[0] else RAISES


def _stack(lines: list[str]) -> tuple[Frame, ...]:
    start = next((n for n, line in enumerate(lines) if line.strip() in _STACK_STARTS), None)
    if start is None:
        return ()
    end = next((n for n, line in enumerate(lines) if n > start and line.startswith(_STACK_ENDS)), len(lines))
    return tuple(frames(lines[start:end]))


def _body(lines: list[str]) -> list[str]:
    """The lines of the message itself: after the lead, or after the name of the exception; before any stack."""
    exceptions = [n for n, line in enumerate(lines) if _RAISED.match(line)]
    if exceptions and not lines[0].startswith("Graph break in") and _SUPPRESSED not in lines[0]:
        start = exceptions[-1]
        first = _RAISED.match(lines[start])
        body = [first[2] if first else "", *lines[start + 1 :]]
    else:
        reason = "Graph Break Reason: "
        start = next((n for n, line in enumerate(lines) if line.startswith(reason)), 0)
        body = [lines[start].removeprefix(reason), *lines[start + 1 :]]
    stops = (*_STACK_STARTS, "Stack variable source attribution:")
    end = next((n for n, line in enumerate(body) if line.strip() in stops or line.startswith(_STACK_ENDS)), len(body))
    return body[:end]


def _facts(lines: list[str]) -> dict[str, str]:
    """Title, explanation, hints and context of the first break in a message."""
    facts = {"title": "", "explanation": "", "hints": "", "context": ""}
    labels = {"Explanation": "explanation", "Hint": "hints", "Developer debug context": "context"}
    last = ""
    for line in lines:
        label, colon, rest = line.strip().partition(":")
        if line.startswith("  ") and colon and label in labels:
            last = labels[label]
            facts[last] += ("\n" if facts[last] else "") + rest.strip()
        elif not last and line.strip() and not line.startswith(" ") and not line.startswith(("Graph ", "torch.")):
            # The last line before the explanation is the kind of break; a lead and its colon may stand before it.
            facts["title"] = line.strip()
        elif line.strip().startswith("For more details"):
            break
        elif last and line.strip():
            facts[last] += " " + line.strip()
    return facts


def _category(text: str) -> str:
    return next((name for name, words in _CATEGORIES if words.lower() in text.lower()), "")
