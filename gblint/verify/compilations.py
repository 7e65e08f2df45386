"""What structured tracing records of each compilation, put together: graph breaks, errors, recompiles, cost."""

from __future__ import annotations

import re

import msgspec

from gblint.verify.message import failed_guard, parse, raised, recompile_limit
from gblint.verify.said import RAISES, RESUMES, SKIPS, Collector, Failure, Frame, Message, Recompile

REASON = "dynamo_graph_break_reason"
ERROR = "dynamo_error"
GUARDS = "recompile_reasons"
VERSION = "torch_version"
PAYLOADS = (REASON, ERROR, GUARDS, VERSION)

_LAST = re.compile(r"\d+$")
_BREAKS = ("Unsupported", "UserError")
_LIMIT = re.compile(r"RecompileLimitExceeded|Dynamo recompile limit exceeded")  # up to torch 2.9, and later
_PENDING = 1_000


class Metrics(msgspec.Struct):
    """What a compilation came to. fail_type: the class of the exception that it ended in, None if it ended well;
    graph_op_count: None if there is no graph."""

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


class Compilations:
    """Takes what one process has recorded, in its order, and hands a collector what that comes to.

    A compile id is "frame/compile", with the rank before it where there are several processes.
    """

    def __init__(self, collector: Collector) -> None:
        self._into = collector
        self._starts: dict[str, tuple[Frame, ...]] = {}
        self._broken: set[str] = set()  # compilations for which a graph break was reported
        self._breaks: dict[str, list[Message]] = {}  # those of which it is not known yet what Dynamo did
        self._errors: dict[str, str] = {}  # texts of errors that may yet be reported as a break
        self._guards: dict[str, str] = {}  # guards that failed before
        self._failed: dict[str, Metrics] = {}

    def started(self, compile_id: str, stack: tuple[Frame, ...]) -> None:
        """Dynamo starts on a frame, the last of the stack."""
        self._starts[compile_id] = stack
        self._recompiled(compile_id, stack)

    def artifact(self, name: str, text: str, compile_id: str) -> None:
        """One of PAYLOADS."""
        if name == REASON:
            self._break(text, compile_id)
        elif name == ERROR:
            if compile_id not in self._broken and len(self._errors) < _PENDING:
                self._errors[compile_id] = text
        elif name == GUARDS:
            self._guard(text, compile_id)
        elif match := re.search(r'"pytorch_version": "([^"]+)"', text):
            self._into.said.torch = match[1]

    def ended(self, compile_id: str, metrics: Metrics) -> None:
        """A compilation has come to its end."""
        given_up = metrics.graph_op_count is None and not metrics.fail_type
        self._tell(compile_id, SKIPS if given_up else RESUMES)
        graph = bool(metrics.has_guarded_code and metrics.graph_op_count)
        self._into.compile(compile_id, metrics.entire_frame_compile_time_s or 0.0, graph)
        if metrics.fail_type:
            self._failed[compile_id] = metrics
            if _LIMIT.match(metrics.fail_type) or _LIMIT.match(metrics.fail_reason or ""):
                self._limit(compile_id)

    def finish(self) -> None:
        """Nothing more will come."""
        for compile_id in list(self._breaks):
            self._tell(compile_id, RESUMES)
        for compile_id in list(self._errors):
            self._error(compile_id)

    def _break(self, text: str, compile_id: str) -> None:
        self._errors.pop(compile_id, None)
        self._broken.add(compile_id)
        message = parse(text)
        if text.startswith("Graph break: torch.compile cannot"):
            # This one is printed without the rows above the frame that Dynamo gives up.
            above = self._starts.get(compile_id, ())[:-1]
            message = msgspec.structs.replace(message, stack=above + message.stack)
        if message.effect == RESUMES and len(self._breaks) < _PENDING:
            self._breaks.setdefault(compile_id, []).append(message)
        else:
            self._into.add(message, compile_id, restarted=message.effect == RESUMES)

    def _tell(self, compile_id: str, effect: str) -> None:
        """Up to torch 2.9 a break in a loop gives the frame up; only that it ends without a graph tells."""
        for message in self._breaks.pop(compile_id, ()):
            told = msgspec.structs.replace(message, effect=effect)
            self._into.add(told, compile_id, restarted=effect == RESUMES)

    def _limit(self, compile_id: str) -> None:
        """The frame that is compiled no more is not said, but the one compiled before is the same."""
        before = _LAST.sub(lambda number: str(int(number[0]) - 1), compile_id)
        stack = self._starts.get(before, ())[-1:]
        self._errors.pop(compile_id, None)
        if stack:
            self._into.add(recompile_limit(stack[0], self._guards.get(compile_id, "")), compile_id, silent=True)
            self._recompiled(compile_id, stack)

    def _error(self, compile_id: str) -> None:
        """A compilation that raised: a break where fullgraph=True forbids them, or an error of Dynamo or a backend."""
        text, metrics = self._errors.pop(compile_id), self._failed.get(compile_id) or Metrics()
        kind = raised(text) or (metrics.fail_type or "error")
        message = parse(text)
        at = Frame(metrics.fail_user_frame_filename or metrics.co_filename or "", metrics.fail_user_frame_lineno or 0)
        if kind in _BREAKS and message.code:
            stack = (*self._starts.get(compile_id, ())[:-1], *(message.stack or (at,)))
            self._into.add(msgspec.structs.replace(message, stack=stack, effect=RAISES), compile_id)
            return
        reason = (metrics.fail_reason or text.strip().rpartition("\n")[2]).partition("\n")[0]
        self._into.fail(Failure(kind, reason[:500], at.filename, at.row or metrics.co_firstlineno or 0))

    def _guard(self, text: str, compile_id: str) -> None:
        """The guard that failed; which function is compiled anew, the start says."""
        try:
            reasons = msgspec.json.decode(text)
        except (msgspec.DecodeError, ValueError, RecursionError):
            reasons = text
        first = reasons[0] if isinstance(reasons, list) and reasons else reasons
        self._guards[compile_id] = failed_guard(str(first))
        self._recompiled(compile_id, self._starts.get(compile_id, ()))

    def _recompiled(self, compile_id: str, stack: tuple[Frame, ...]) -> None:
        if stack and compile_id in self._guards:
            at, guard = stack[-1], self._guards.pop(compile_id)
            self._into.recompile(Recompile(at.function, at.filename, at.row, guard))
