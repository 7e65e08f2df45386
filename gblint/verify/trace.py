"""Reading a TORCH_TRACE directory: structured records, one file for each process."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from gblint.verify.lines import bounded, plain
from gblint.verify.message import function_name, parse, raised
from gblint.verify.said import Collector, Failure, Frame, Recompile

_RANK = re.compile(r"rank_(\d+)_")
_COMPILE_ID = re.compile(r"^\d+/\d+: ")
_HEAD = re.compile(rb"^\x1b?\[?[VIWEC]\d{4} \d\d:\d\d:\d\d\.\d+ \d+ [^\s\]]+:\d+\] \{")
_WANTED = (b'"str"', b'"dynamo_start"', b'"artifact"', b'"compilation_metrics"')
_PAYLOADS = ("dynamo_graph_break_reason", "dynamo_error", "recompile_reasons", "torch_version")
_MOST_LINES = 5_000  # of one payload
_BREAKS = ("Unsupported", "UserError")
_PENDING = 1_000


class _Row(msgspec.Struct):
    line: int = 0
    name: str = ""
    filename: int = -1


class _Start(msgspec.Struct):
    stack: list[_Row] = []


class _Artifact(msgspec.Struct):
    name: str = ""


class _Metrics(msgspec.Struct):
    co_name: str | None = None
    co_filename: str | None = None
    co_firstlineno: int | None = None
    graph_op_count: int | None = None
    has_guarded_code: bool | None = None
    entire_frame_compile_time_s: float | None = None
    fail_type: str | None = None
    fail_reason: str | None = None
    fail_user_frame_filename: str | None = None
    fail_user_frame_lineno: int | None = None


class _Record(msgspec.Struct):
    str: list[Any] | None = None
    dynamo_start: _Start | None = None
    artifact: _Artifact | None = None
    compilation_metrics: _Metrics | None = None
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
        self._into = collector
        self._rank = rank
        self._names: dict[int, str] = {}
        self._starts: dict[str, tuple[Frame, ...]] = {}
        self._broken: set[str] = set()  # attempts for which a graph break was reported
        self._errors: dict[str, str] = {}  # compile id → text of an error that may yet be reported as a break
        self._record: _Record | None = None
        self._payload: list[str] = []
        self._guards: dict[str, str] = {}  # compile id → guard that failed before it
        self._failed: dict[str, _Metrics] = {}

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
        for compile_id in list(self._errors):
            self._error(compile_id)

    def _start(self, line: bytes) -> None:
        begin = line.find(b"] {")
        if begin < 0:
            return
        try:
            record = _DECODER.decode(line[begin + 2 :])
        except (msgspec.DecodeError, ValueError):  # cut off, or written by two processes at once
            return
        if record.str and len(record.str) == 2 and isinstance(record.str[1], int):
            self._names[record.str[1]] = str(record.str[0])
        elif record.dynamo_start:
            self._started(self._id(record), self._stack(record.dynamo_start.stack))
        elif record.compilation_metrics:
            self._metrics(record, record.compilation_metrics)
        elif record.artifact and record.artifact.name in _PAYLOADS:
            self._record, self._payload = record, []

    def _started(self, compile_id: str, stack: tuple[Frame, ...]) -> None:
        self._starts[compile_id] = stack
        guard = self._guards.pop(compile_id, None)
        if guard is not None and stack:
            at = stack[-1]
            self._into.recompile(Recompile(at.function, at.filename, at.row, guard))

    def _id(self, record: _Record) -> str:
        rank = self._rank or ("" if record.rank is None else str(record.rank))
        if record.frame_id is None:
            return ""
        return (f"rank {rank}: " if rank else "") + f"{record.frame_id}/{record.frame_compile_id}"

    def _stack(self, rows: list[_Row]) -> tuple[Frame, ...]:
        return tuple(Frame(self._names.get(row.filename, ""), row.line, function_name(row.name)) for row in rows)

    def _close(self) -> None:
        record, self._record = self._record, None
        if record is None or record.artifact is None:
            return
        text, compile_id = "\n".join(self._payload), self._id(record)
        name = record.artifact.name
        if name == "dynamo_graph_break_reason":
            self._break(text, compile_id)
        elif name == "dynamo_error":
            if compile_id not in self._broken and len(self._errors) < _PENDING:
                self._errors[compile_id] = text
        elif name == "recompile_reasons":
            self._recompile(text, compile_id)
        else:
            self._version(text)

    def _break(self, text: str, compile_id: str) -> None:
        self._errors.pop(compile_id, None)
        self._broken.add(compile_id)
        message = parse(text)
        if text.startswith("Graph break: torch.compile cannot"):
            # This one is printed without the rows above the frame that Dynamo gives up.
            above = self._starts.get(compile_id, ())[:-1]
            message = msgspec.structs.replace(message, stack=above + message.stack)
        self._into.add(message, compile_id, restarted=message.effect == "resumes")

    def _metrics(self, record: _Record, metrics: _Metrics) -> None:
        compile_id = self._id(record)
        graph = bool(metrics.has_guarded_code and metrics.graph_op_count)
        self._into.compile(compile_id, metrics.entire_frame_compile_time_s or 0.0, graph)
        if metrics.fail_type:
            self._failed[compile_id] = metrics

    def _error(self, compile_id: str) -> None:
        """A compilation that raised: a break where fullgraph=True forbids them, or an error of Dynamo or a backend."""
        text, metrics = self._errors.pop(compile_id), self._failed.get(compile_id) or _Metrics()
        kind = raised(text) or (metrics.fail_type or "error")
        message = parse(text)
        at = Frame(metrics.fail_user_frame_filename or metrics.co_filename or "", metrics.fail_user_frame_lineno or 0)
        if kind in _BREAKS and message.code:
            stack = (*self._starts.get(compile_id, ())[:-1], *(message.stack or (at,)))
            self._into.add(msgspec.structs.replace(message, stack=stack, effect="raises"), compile_id)
            return
        reason = (metrics.fail_reason or text.strip().rpartition("\n")[2]).partition("\n")[0]
        self._into.fail(Failure(kind, reason[:500], at.filename, at.row or metrics.co_firstlineno or 0))

    def _recompile(self, text: str, compile_id: str) -> None:
        """The guard that failed; which function is compiled anew, the next record says."""
        try:
            reasons = msgspec.json.decode(text)
        except (msgspec.DecodeError, ValueError):
            reasons = text
        first = reasons[0] if isinstance(reasons, list) and reasons else reasons
        self._guards[compile_id] = _COMPILE_ID.sub("", str(first).strip().partition("\n")[0])[:500]

    def _version(self, text: str) -> None:
        if match := re.search(r'"pytorch_version": "([^"]+)"', text):
            self._into.said.torch = match[1]


def trace_files(folder: Path) -> Iterator[Path]:
    """The files of a TORCH_TRACE directory, one for each process."""
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.suffix == ".log" and is_trace(path):
            yield path


def read_trace(path: Path, collector: Collector) -> None:
    """Read the file of one process."""
    match = _RANK.search(path.name)
    reader = TraceReader(collector, match[1] if match else "")
    with path.open("rb") as stream:
        reader.read(bounded(stream))
    collector.said.processes += 1
