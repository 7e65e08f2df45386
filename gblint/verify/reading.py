"""Reading what an earlier run left: a log, a TORCH_TRACE directory, or what tlparse made of one."""

from __future__ import annotations

from pathlib import Path

from gblint.errors import GblintError
from gblint.verify.lines import bounded
from gblint.verify.said import Collector, Said
from gblint.verify.textlog import read_log
from gblint.verify.tlparse import read_pages
from gblint.verify.trace import is_trace, read_trace, trace_files


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
    if files or read_pages(path, collector):
        return
    logs = sorted(file for file in path.iterdir() if file.is_file() and file.suffix in (".log", ".txt"))
    for file in logs:
        _file(file, collector)
    if not logs:
        raise GblintError(
            f"{path} holds neither a trace nor tlparse's output",
            "give a file with what TORCH_LOGS=graph_breaks printed, a TORCH_TRACE folder, or tlparse's output folder",
        )
