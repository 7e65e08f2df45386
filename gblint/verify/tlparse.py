"""Reading the pages that tlparse makes of a trace, where the trace itself (raw.log) is not among them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from pathlib import Path

from gblint.verify.compilations import PAYLOADS, Compilations, Metrics
from gblint.verify.lines import readable
from gblint.verify.message import function_name
from gblint.verify.said import Collector, Frame

_METRICS = "compilation_metrics"
_FOLDER = re.compile(r"^(?:[-\w]*?_)?(?:(\d+)_(\d+)(?:_(\d+))?|-_-_-)$")  # of a compilation, or of none
NUMBERED = re.compile(rf"^({'|'.join((*PAYLOADS, _METRICS))})_(\d{{1,12}})\.(?:txt|json|html)$")
_NUMBER = r"(\d{1,12})"  # longer ones, which Python may refuse to read, are damage
_RANK = re.compile(r"^rank_(\d+)$")
_ROW = re.compile(rf"<li>([^<>]*):{_NUMBER} in ([^<>]*)<br>")
_SECONDS = re.compile(r"Entire Frame <abbr[^<>]*>[^<>]*</abbr>: (\d+(?:\.\d*)?)")
_OPS = re.compile(rf"Graph Ops: {_NUMBER}")
_FAILED_AT = re.compile(rf"<p>In file <pre>([^<>]*)</pre>, line {_NUMBER}")
_LARGEST = 1 << 20


def read_pages(folder: Path, collector: Collector) -> bool:
    """Read what tlparse has written to a folder; False if that is nothing. With several ranks, each has a folder in it
    and a reader of its own, since frames are counted anew."""
    by_rank: dict[str, dict[str, list[Path]]] = {}
    for path in folder.rglob("*"):
        match = _FOLDER.match(path.parent.name)
        if match and NUMBERED.match(path.name) and path.is_file():
            compilation = f"{match[1]}/{match[2]}" if match[1] else ""
            above = _RANK.match(path.parent.parent.name)
            by_rank.setdefault(above[1] if above else "", {}).setdefault(compilation, []).append(path)
    for rank, compilations in sorted(by_rank.items()):
        into = Compilations(collector)
        for compilation, files in sorted(compilations.items(), key=lambda item: min(map(_number, item[1]))):
            _compilation(sorted(files, key=_number), f"rank {rank}: {compilation}" if rank else compilation, into)
        into.finish()
        collector.said.processes += 1
    return bool(by_rank)


def _number(file: Path) -> int:
    """The place of a file in the order in which its contents were recorded."""
    match = NUMBERED.match(file.name)
    return int(match[2]) if match else 0


def _compilation(files: Iterable[Path], compile_id: str, into: Compilations) -> None:
    texts = [(file.name, _text(file)) for file in files]
    page = next((text for name, text in texts if name.startswith(_METRICS)), "")
    if stack := _stack(page):
        into.started(compile_id, stack)
    for name, text in texts:
        match = NUMBERED.match(name)
        if match and match[1] != _METRICS:
            into.artifact(match[1], text, compile_id)
    if page:
        into.ended(compile_id, _metrics(page))


def _text(file: Path) -> str:
    with file.open("rb") as stream:
        return readable(stream.read(_LARGEST)).replace("\r\n", "\n")


def _stack(page: str) -> tuple[Frame, ...]:
    """The calls that lead to the frame that was compiled."""
    part = page.partition("<h2>Stack</h2>")[2].partition("<h2>")[0]
    return tuple(
        Frame(html.unescape(f), int(row), function_name(html.unescape(name))) for f, row, name in _ROW.findall(part)
    )


def _metrics(page: str) -> Metrics:
    seconds, ops, failed_at = _SECONDS.search(page), _OPS.search(page), _FAILED_AT.search(page)
    kind = _between(page, "Failure Exception: <pre>")
    return Metrics(
        graph_op_count=int(ops[1]) if ops else None,
        has_guarded_code=not kind,
        entire_frame_compile_time_s=float(seconds[1]) if seconds else None,
        fail_type=kind or None,
        fail_reason=_between(page, "Failure Reason: <pre>") or None,
        fail_user_frame_filename=html.unescape(failed_at[1]) if failed_at else None,
        fail_user_frame_lineno=int(failed_at[2]) if failed_at else None,
    )


def _between(page: str, start: str) -> str:
    return html.unescape(page.partition(start)[2].partition("</pre>")[0])
