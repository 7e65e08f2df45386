"""Reading what an earlier run left: a log, a TORCH_TRACE directory, or what tlparse made of one."""

from __future__ import annotations

import re
from pathlib import Path

from gblint.errors import GblintError
from gblint.verify.lines import bounded, readable
from gblint.verify.message import parse
from gblint.verify.said import Collector, Said
from gblint.verify.textlog import read_log
from gblint.verify.trace import is_trace, read_trace, trace_files

_REASON = "dynamo_graph_break_reason"
_COMPILE_ID = re.compile(r"^(?:[-\w]*?_)?(\d+)_(\d+)(?:_(\d+))?$")
_LARGEST_REASON = 1 << 20


def read(path: Path) -> Said:
    """What Dynamo said, from whatever lies at the path.

    A file: a log with TORCH_LOGS=graph_breaks in it, the traceback of a compilation with fullgraph=True, or one file of
    a trace. A folder: of TORCH_TRACE, or tlparse's output. Raises GblintError when there is nothing of the kind,
    OSError when it cannot be read.
    """
    collector = Collector()
    if path.is_dir():
        _folder(path, collector)
    elif path.exists():
        _file(path, collector)
    else:
        raise GblintError(f"no such file or folder: {path}")
    return collector.done()


def _file(path: Path, collector: Collector) -> None:
    if path.is_file() and is_trace(path):  # a pipe can be read only once
        read_trace(path, collector)
        return
    with path.open("rb") as stream:
        read_log(bounded(stream), collector)


def _folder(path: Path, collector: Collector) -> None:
    files = list(trace_files(path))
    for file in files:
        read_trace(file, collector)
    if files:
        return
    reasons = sorted(file for file in path.rglob(f"*{_REASON}*.txt") if file.is_file())
    for file in reasons:
        _reason(file, collector)
    logs = (
        [] if reasons else sorted(file for file in path.iterdir() if file.is_file() and file.suffix in (".log", ".txt"))
    )
    for file in logs:
        _file(file, collector)
    if not (reasons or logs):
        raise GblintError(
            f"{path} holds neither a trace nor tlparse's output",
            "give a file with what TORCH_LOGS=graph_breaks printed, a TORCH_TRACE folder, or tlparse's output folder",
        )


def _reason(file: Path, collector: Collector) -> None:
    """One break of tlparse's output: the folder it lies in is named after the compilation."""
    with file.open("rb") as stream:
        text = readable(stream.read(_LARGEST_REASON)).replace("\r\n", "\n")
    match = _COMPILE_ID.match(file.parent.name)
    message = parse(text)
    collector.add(message, f"{match[1]}/{match[2]}" if match else "", restarted=message.effect == "resumes")
