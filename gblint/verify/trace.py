"""Reading a TORCH_TRACE directory: structured records, one file for each process."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from gblint.verify.compilations import PAYLOADS, Compilations, Metrics
from gblint.verify.lines import bounded, plain
from gblint.verify.message import function_name
from gblint.verify.said import Collector, Frame

_COPY = "raw.log"
_RANK = re.compile(r"rank_(\d+)_")
_HEAD = re.compile(rb"^\x1b?\[?[VIWEC]\d{4} \d\d:\d\d:\d\d\.\d+ \d+ [^\s\]]+:\d+\] \{")
_WANTED = (b'"str"', b'"dynamo_start"', b'"artifact"', b'"compilation_metrics"')
_MOST_LINES = 5_000  # of one payload


class _Row(msgspec.Struct):
    line: int = 0
    name: str = ""
    filename: int = -1


class _Start(msgspec.Struct):
    stack: list[_Row] = []


class _Artifact(msgspec.Struct):
    name: str = ""


class _Record(msgspec.Struct):
    str: list[Any] | None = None
    dynamo_start: _Start | None = None
    artifact: _Artifact | None = None
    compilation_metrics: Metrics | None = None
    frame_id: int | None = None
    frame_compile_id: int | None = None
    attempt: int | None = None
    rank: int | None = None


_DECODER = msgspec.json.Decoder(_Record)


def is_trace(path: Path) -> bool:
    """Whether a file starts as the files of a TORCH_TRACE directory do."""
    with path.open("rb") as stream:
        return any(_HEAD.match(line) for _, line in zip(range(5), bounded(stream, 4096), strict=False))


class TraceReader:
    """Reads the file of one process. Where the file is cut off, what stands before is taken."""

    def __init__(self, collector: Collector, rank: str = "") -> None:
        self._into = Compilations(collector)
        self._rank = rank
        self._names: dict[int, str] = {}
        self._record: _Record | None = None
        self._payload: list[str] = []

    def read(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            if line.startswith(b"\t"):
                if self._record is not None and len(self._payload) < _MOST_LINES:
                    self._payload.append(plain(line[1:]))
                continue
            self._close()
            if any(mark in line for mark in _WANTED):
                self._start(line)
        self._close()
        self._into.finish()

    def _start(self, line: bytes) -> None:
        begin = line.find(b"] {")
        if begin < 0:
            return
        try:
            record = _DECODER.decode(line[begin + 2 :])
        except (msgspec.DecodeError, ValueError, RecursionError):  # cut off, or written by two processes at once
            return
        if record.str and len(record.str) == 2 and isinstance(record.str[1], int):
            self._names[record.str[1]] = str(record.str[0])
        elif record.dynamo_start:
            self._into.started(self._id(record), self._stack(record.dynamo_start.stack))
        elif record.compilation_metrics:
            self._into.ended(self._id(record), record.compilation_metrics)
        elif record.artifact and record.artifact.name in PAYLOADS:
            self._record, self._payload = record, []

    def _id(self, record: _Record) -> str:
        rank = self._rank or ("" if record.rank is None else str(record.rank))
        if record.frame_id is None:
            return ""
        return (f"rank {rank}: " if rank else "") + f"{record.frame_id}/{record.frame_compile_id}"

    def _stack(self, rows: list[_Row]) -> tuple[Frame, ...]:
        return tuple(Frame(self._names.get(row.filename, ""), row.line, function_name(row.name)) for row in rows)

    def _close(self) -> None:
        record, self._record = self._record, None
        if record is not None and record.artifact is not None:
            self._into.artifact(record.artifact.name, "\n".join(self._payload), self._id(record))


def trace_files(folder: Path) -> Iterator[Path]:
    """The files of a TORCH_TRACE directory, one for each process, or the copies in what tlparse has made of them: one
    for each rank."""
    for path in sorted([*folder.iterdir(), *folder.glob(f"rank_*/{_COPY}")]):
        if path.is_file() and path.suffix == ".log" and is_trace(path):
            yield path


def read_trace(path: Path, collector: Collector) -> None:
    """Read the file of one process."""
    match = _RANK.search(f"{path.parent.name}_" if path.name == _COPY else path.name)
    reader = TraceReader(collector, match[1] if match else "")
    with path.open("rb") as stream:
        reader.read(bounded(stream))
    collector.said.processes += 1
