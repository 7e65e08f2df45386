"""Reading what TORCH_LOGS prints: a file of any size, or a process's standard error while it runs."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from gblint.verify.lines import plain
from gblint.verify.message import RECOMPILE_LIMIT, failed_guard, function_name, parse, recompile_limit
from gblint.verify.said import Collector, Frame, Recompile

# [rank0]:V1129 19:45:40.802000 13995 torch/_dynamo/symbolic_convert.py:1554] [0/0_1] [__trace_source] text
_PREFIX = re.compile(
    r"(?:\[\w{0,20}?(?P<rank>\d{1,6})\]: ?)?"
    r"(?P<level>[VIWEC])\d{4} \d\d:\d\d:\d\d\.\d+ (?P<pid>\d+) (?P<where>[^\s\]]+:\d+)\]"
    r"(?: \[(?P<id>[\d/_!-]+)\])?(?: \[__(?P<artifact>\w+)\])? ?(?P<text>.*)"
)
_SHORT = re.compile(r"[A-Z]+:torch[\w.]*\.__(?P<artifact>\w+):(?P<text>.*)")  # TORCH_LOGS_FORMAT=short
_TRACED = re.compile(r"TRACE (?:starts_line )?(.*):(\d+) in (\S+) \(")
_RECOMPILED = re.compile(r"Recompiling function (\S+) in (.*):(\d+)")
_LIMIT = re.compile(r"torch\._dynamo hit config\.(?:recompile|cache_size|accumulated_\w+)_limit")
_LIMIT_AT = re.compile(r"function: '(\S+)' \((.*):(\d+)\)")
_REFUSED = re.compile(r"WON'T CONVERT (\S+) (.*) line (\d+)")
_RAISED = re.compile(r"(?:\[\w{1,26}\]: ?)?(torch\._dynamo\.exc\.\w+: .*)")
_RANK = re.compile(r"^\[\w{1,26}\]: ?")
_STARTS = ("Graph break in user code", "Graph break (user stack", "Graph break: torch.compile cannot")
_MARKS = (b"] [__", b"torch._dynamo", b"convert_frame.py:", b"WON'T CONVERT", b"raph break", b"function: '", b".__")
_MOST_LINES = 2_000  # of one record
_AFTER_RAISE = 200  # lines of an exception's text that are looked at

CONVERT_FRAME = "torch._dynamo.convert_frame"  # logs frames that are refused without a graph break


class _Open(msgspec.Struct):
    """A record whose lines are still coming. where: file and row in torch that logs it, if they tell it from others."""

    kind: str
    compile_id: str
    lines: list[str]
    where: str = ""


class LogReader:
    """Takes lines of a log one by one and hands what they say to a collector.

    with_trace: leave graph breaks, recompiles and limits that it knows to a trace of the same run, which says more.
    """

    def __init__(self, collector: Collector, with_trace: bool = False) -> None:
        self._into = collector
        self._with_trace = with_trace
        self._open: dict[str, _Open] = {}
        self._loose: _Open | None = None
        self._processes: set[str] = set()

    def feed(self, line: bytes) -> str:
        """Read a line; the log that it belongs to if it is one that gblint asks for, "" for anything else."""
        if self._loose is None and not any(mark in line for mark in _MARKS) and not self._open:
            return ""
        text = plain(line)
        match = _PREFIX.search(text)
        if match:
            self._close_loose()
            return self._prefixed(match)
        return self._unprefixed(text)

    def finish(self) -> None:
        """No more lines will come: what is open is taken as it is."""
        self._close_loose()
        for key in list(self._open):
            self._close(key)
        self._into.said.processes = max(self._into.said.processes, len(self._processes))

    def _prefixed(self, match: re.Match[str]) -> str:
        rank, artifact, text = match["rank"], match["artifact"] or "", match["text"]
        key = f"{rank or ''}:{match['pid']}"
        self._processes.add(key)
        compile_id = (f"rank {rank}: " if rank else "") + (match["id"] or "")
        if artifact in ("trace_source", "graph_breaks", "recompiles"):
            self._artifact(key, artifact, compile_id, text)
            return artifact
        if "convert_frame.py" in match["where"]:
            self._frame(key, compile_id, text, match["where"])
            return CONVERT_FRAME if match["level"] == "I" else ""
        self._close(key)
        return ""

    def _artifact(self, key: str, artifact: str, compile_id: str, text: str) -> None:
        if artifact == "trace_source":
            self._traced(key, text)
        elif artifact == "graph_breaks":
            starts = text.startswith(_STARTS)
            self._line(key, "break", compile_id, text, starts)
        else:
            self._line(key, "recompile", compile_id, text, text.startswith("Recompiling function"))

    def _traced(self, key: str, text: str) -> None:
        if match := _TRACED.match(text):
            self._close(key)
            self._into.trace(match[1], int(match[2]))
            self._open[key] = _Open("source", f"{match[1]}:{match[2]}", [])
        elif (known := self._open.get(key)) and known.kind == "source":
            filename, _, row = known.compile_id.rpartition(":")
            self._into.said.texts.setdefault((filename, int(row)), text.strip()[:200])
            del self._open[key]

    def _frame(self, key: str, compile_id: str, text: str, where: str) -> None:
        """What convert_frame.py logs outside the artifacts: frames refused, and the recompile limit."""
        known = self._open.get(key)
        if _LIMIT.search(text):
            self._line(key, "limit", compile_id, text, True, where)
        elif _REFUSED.match(text):
            self._line(key, "refused", compile_id, text, True, where)
        elif known and known.kind in ("limit", "refused") and known.where == where:
            self._line(key, known.kind, compile_id, text, False)
        elif known and known.where:
            self._close(key)

    def _line(self, key: str, kind: str, compile_id: str, text: str, starts: bool, where: str = "") -> None:
        known = self._open.get(key)
        if starts or known is None or known.kind != kind:
            self._close(key)
            self._open[key] = _Open(kind, compile_id, [text], where)
        elif len(known.lines) < _MOST_LINES:
            known.lines.append(text)

    def _close(self, key: str) -> None:
        known = self._open.pop(key, None)
        if known is not None:
            self._record(known)

    def _record(self, record: _Open) -> None:
        frame, _, attempt = record.compile_id.rpartition("/")
        compile_id = f"{frame}/{attempt.partition('_')[0]}" if frame else record.compile_id
        if record.kind == "recompile" and not self._with_trace:
            self._recompile(record.lines)
        elif record.kind == "limit":
            self._limit(record.lines, compile_id)
        elif record.kind == "refused":
            self._refused(record.lines, compile_id)
        elif record.kind == "break" and not self._with_trace and record.lines[0].startswith("Graph break"):
            message = parse("\n".join(record.lines))
            self._into.add(message, compile_id, restarted=message.effect == "resumes")

    def _recompile(self, lines: list[str]) -> None:
        match = _RECOMPILED.match(lines[0])
        if match is None:
            return
        reasons = [line.strip().removeprefix("- ") for line in lines[1:] if line.strip().startswith("- ")]
        reason = failed_guard(reasons[0]) if reasons else ""
        self._into.recompile(Recompile(function_name(match[1]), match[2], int(match[3]), reason))

    def _limit(self, lines: list[str], compile_id: str) -> None:
        text = "\n".join(lines)
        if match := _LIMIT_AT.search(text):
            reason = re.search(r"last reason: (.*)", text)
            at = Frame(match[2], int(match[3]), function_name(match[1]))
            message = recompile_limit(at, reason[1] if reason else "")
            if not (self._with_trace and self._into.knows(message)):
                self._into.add(message, compile_id, silent=True)

    def _refused(self, lines: list[str], compile_id: str) -> None:
        """A frame that Dynamo left alone without reporting a graph break, such as a generator."""
        match = _REFUSED.match(lines[0])
        message = parse("\n".join(lines))
        if match is None or not message.code or message.stack or not _is_whole(lines):
            return  # with a stack it came from tracing, and was reported as a graph break before
        if message.code == RECOMPILE_LIMIT:
            return  # which a warning has told before
        stack = (Frame(match[2], int(match[3]), function_name(match[1])),)
        self._into.add(msgspec.structs.replace(message, stack=stack, effect="skips-frame"), compile_id, silent=True)

    # ------------------------------------------------------------------------------------- lines without a prefix

    def _unprefixed(self, text: str) -> str:
        if match := _SHORT.match(text):
            self._close_loose()
            artifact = match["artifact"]
            if artifact == "trace_source":
                self._traced("short", match["text"])
            elif artifact in ("graph_breaks", "recompiles"):
                self._loose = _Open("break" if artifact == "graph_breaks" else "recompile", "", [match["text"]])
            return artifact
        if match := _RAISED.match(text):
            self._close_loose()
            self._loose = _Open("raise", "", [match[1]])
        elif self._loose is not None:
            text = _RANK.sub("", text)
            ends = text.startswith(("Traceback (most", "Set TORCHDYNAMO_VERBOSE"))
            if ends or len(self._loose.lines) > _AFTER_RAISE:
                self._close_loose()
            else:
                self._loose.lines.append(text)
        return ""

    def _close_loose(self) -> None:
        loose, self._loose = self._loose, None
        if loose is None:
            return
        if loose.kind != "raise":
            self._record(loose)
        elif (message := parse("\n".join(loose.lines))).code:
            self._into.add(message)


def _is_whole(lines: list[str]) -> bool:
    """Whether the record of a refused frame is not cut off: the text comes twice, as such and in the traceback, each
    with its link; a stack would come behind it."""
    last = next((line for line in reversed(lines) if line.strip()), "")
    return sum(line.startswith("torch._dynamo.exc.") for line in lines) >= 2 and "/gb/gb" in last


def read_log(lines: Iterable[bytes], collector: Collector) -> None:
    """Read all lines of a log."""
    reader = LogReader(collector)
    for line in lines:
        reader.feed(line)
    reader.finish()
