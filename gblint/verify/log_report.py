"""The report of `gblint logs`: each place where the graph broke, in the order to fix in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gblint.report import json
from gblint.report.excerpt import Sources, excerpt
from gblint.report.style import Style, plural, printable, readable, short, shown
from gblint.verify.said import RAISES, RESUMES, SKIPS, Frame, Said
from gblint.verify.sites import Site, by_worth

EFFECTS = {
    RESUMES: "the graph is split here",
    SKIPS: "the whole frame runs eagerly, no graph is made of it",
    RAISES: "compiling ends in an error: fullgraph=True allows no break",
}
CATEGORIES = {
    "user-error": "an error of yours, it seems: the code may fail without torch.compile too",
    "fundamental": "fundamental: Dynamo is unlikely ever to trace it",
    "supportable": "Dynamo could support it, but does not",
    "cascade": "caused by an earlier break",
    "dynamo-bug": "a bug in Dynamo, it seems",
}
_FRAMES_SHOWN = 6
_RECOMPILES_SHOWN = 5
_REASON_LENGTH = 400


def render(found: Sequence[Site], said: Said, style: Style) -> str:
    """For reading."""
    sources = Sources({})
    blocks = ["\n".join(site_lines(site, sources, style)) for site in by_worth(found)]
    text = "".join(f"{block}\n\n" for block in blocks)
    return text + "".join(f"{line}\n" for line in summary(found, said, style)) if style.summary else text


def render_concise(found: Sequence[Site], said: Said, style: Style) -> str:
    """One line for each place."""
    lines = [
        f"{style.paint(f'{shown(s.filename)}:{s.row}:', bold=True)} {style.paint(s.shown_code, fg='red')} {s.name} "
        f"{cut(s.reason)} [{times(s.count)}]"
        for s in by_worth(found)
    ]
    lines += summary(found, said, style) if style.summary else []
    return "".join(f"{line}\n" for line in lines)


def render_json(found: Sequence[Site], said: Said, style: Style) -> str:
    """An object: the places in order of file and row, recompiles, failures, and figures of the run."""
    return json.dump({"breaks": [site_data(s) for s in found], **run_data(said)})


def run_data(said: Said) -> dict[str, Any]:
    """What is known of a run besides its breaks."""
    return {
        "recompiles": [
            {"function": r.function, "filename": readable(r.filename), "row": r.row, "reason": r.reason, "count": n}
            for r, n in said.recompiles.items()
        ],
        "failures": [
            {"kind": f.kind, "reason": f.reason, "filename": readable(f.filename), "row": f.row, "count": n}
            for f, n in said.failures.items()
        ],
        "compiled": said.compiled,
        "graphs": said.graphs,
        "compile_seconds": round(said.seconds, 3),
        "torch": said.torch or None,
        "processes": said.processes,
        "notes": said.notes,
    }


def site_data(s: Site) -> dict[str, Any]:
    """A place as plain data."""
    return {
        "code": s.shown_code,
        "name": s.name,
        "message": s.reason,
        "filename": readable(s.filename),
        "row": s.row,
        "function": s.function,
        "wrapped_by": list(s.wraps),
        "category": s.category or None,
        "effect": s.effect,
        "silent": s.silent,
        "owner": s.owner,
        "library": frame_data(s.library) if s.library else None,
        "count": s.count,
        "restarts": s.restarts,
        "compile_ids": s.compile_ids,
        "compile_seconds": round(s.seconds, 3),
        "hints": list(s.hints),
        "stack": [frame_data(f) for f in s.stack],
    }


def frame_data(frame: Frame) -> dict[str, Any]:
    return {"filename": readable(frame.filename), "row": frame.row, "function": frame.function}


def site_lines(site: Site, sources: Sources, style: Style) -> Iterator[str]:
    """A place with its source and what is known of it, line by line."""
    yield " ".join(
        (
            style.paint(f"{shown(site.filename)}:{site.row}", bold=True),
            style.paint(site.shown_code, fg="red", bold=True),
            printable(site.name),
            style.paint(f"[{times(site.count)}]", fg="yellow"),
        )
    )
    yield f"  {cut(site.reason)}"
    yield from (f"  {line}" for line in excerpt(sources.lines(site.filename), _row_span(site, sources), style))
    for label, text in facts(site):
        yield f"  {style.paint(label + ':', fg='cyan')} {printable(text)}"


def _row_span(site: Site, sources: Sources) -> tuple[int, int, int, int]:
    lines = sources.lines(site.filename)
    text = lines[site.row - 1] if 0 < site.row <= len(lines) else ""
    return site.row, len(text) - len(text.lstrip()) + 1, site.row, len(text.rstrip()) + 1


def facts(site: Site) -> Iterator[tuple[str, str]]:
    """What is known of a place, with labels."""
    yield "path", call_chain(site.stack)
    if site.library:
        yield (
            "library",
            f"it happens in {short(site.library.function)} ({shown(site.library.filename)}:{site.library.row})",
        )
    yield "cost", EFFECTS.get(site.effect, site.effect) + _around(site)
    if site.category:
        yield "kind", CATEGORIES[site.category]
    compiles = [f"frame {', '.join(site.compile_ids[:_FRAMES_SHOWN])}"] if site.compile_ids else []
    compiles += [f"{plural(site.restarts, 'restart')} of the analysis"] if site.restarts else []
    compiles += [f"{site.seconds:.2f} s of compiling"] if site.seconds else []
    if compiles:
        yield "compiled", ", ".join(compiles)
    for hint in site.hints[:3]:
        yield "hint", hint


def _around(site: Site) -> str:
    return f" ({', '.join(site.wraps)})" if site.wraps else ""


def call_chain(stack: Sequence[Frame]) -> str:
    """ "main.py:12 → Net.forward:20", with long ones cut in the middle."""
    steps = [f"{frame.function or '?'}:{frame.row}" for frame in stack]
    if len(steps) > _FRAMES_SHOWN:
        steps = [*steps[:2], "…", *steps[-(_FRAMES_SHOWN - 3) :]]
    return " → ".join(steps)


def times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def cut(text: str) -> str:
    """A reason on one line, not too long, without what could steer a terminal."""
    text = printable(text)
    return text if len(text) <= _REASON_LENGTH else f"{text[:_REASON_LENGTH]}…"


def summary(found: Sequence[Site], said: Said, style: Style) -> list[str]:
    """The last lines of the report."""
    yours = [s for s in found if s.owner == "yours"]
    if found:
        files = plural(len({s.filename for s in yours}), "file")
        head = f"Read {plural(len(yours), 'place')} in {files} where the graph breaks"
        others = len(found) - len(yours)
        head += f", and {others:,} in code that is not yours." if others else "."
    else:
        head = "Read no graph breaks."
    lines = [style.paint(head, bold=True), *figures(said)]
    lines += [f"note: {printable(note)}" for note in said.notes]
    return lines


def figures(said: Said) -> list[str]:
    """Lines with what compiling came to, and with recompiles and failures."""
    lines: list[str] = []
    if said.compiled:
        lines.append(
            f"Dynamo compiled {plural(said.compiled, 'frame')} to {plural(said.graphs, 'graph')}"
            f" in {said.seconds:.2f} s{f' (torch {printable(said.torch)})' if said.torch else ''}."
        )
    if said.recompiles:
        lines.append(f"{plural(sum(said.recompiles.values()), 'recompile')}:")
        often = sorted(said.recompiles.items(), key=lambda item: -item[1])
        lines += [
            f"  {shown(r.filename)}:{r.row} {printable(r.function)}, {times(n)}: {cut(r.reason)}"
            for r, n in often[:_RECOMPILES_SHOWN]
        ]
        if len(often) > _RECOMPILES_SHOWN:
            lines.append(f"  … and {len(often) - _RECOMPILES_SHOWN:,} more kinds")
    for f, n in said.failures.items():
        lines.append(f"failed {times(n)}: {printable(f.kind)} at {shown(f.filename)}:{f.row}: {cut(f.reason)}")
    return lines
