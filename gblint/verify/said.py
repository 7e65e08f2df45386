"""What Dynamo said about a run, as plain data: graph breaks, recompiles, rows it traced, what compiling cost."""

from __future__ import annotations

import msgspec

MOST_FRAMES = 200  # compile ids kept with one break
MOST_KINDS = 20_000  # different breaks kept apart

RESUMES, SKIPS, RAISES = "resumes", "skips-frame", "raises"


class Frame(msgspec.Struct, frozen=True, array_like=True):
    """One row of a Python stack."""

    filename: str
    row: int
    function: str = ""


class Message(msgspec.Struct, frozen=True):
    """The text of a graph break, taken apart.

    code: id in torch's registry, "" where torch gave none. wraps: ids "while handling this graph break, another one
    occurred". title: the kind of break in words. category: "user-error", "fundamental", "supportable", "cascade"
    (caused by an earlier break), "dynamo-bug" or "". effect: RESUMES, SKIPS (the whole frame runs eagerly) or RAISES.
    stack: outermost first; where it is suppressed, the innermost row alone.
    """

    code: str = ""
    wraps: tuple[str, ...] = ()
    title: str = ""
    explanation: str = ""
    hints: tuple[str, ...] = ()
    context: str = ""
    category: str = ""
    effect: str = RESUMES
    stack: tuple[Frame, ...] = ()
    suppressed: bool = False


class Break(msgspec.Struct):
    """A graph break at one stack, however often it happened.

    compile_ids: "frame/compile" of the first few, with the rank before them where there are several processes.
    restarts: how often Dynamo had to trace the frame again. silent: the frame was refused without a graph break being
    reported. seconds: spent on compilations in which it happened.
    """

    message: Message
    count: int = 1
    compile_ids: list[str] = []
    restarts: int = 0
    silent: bool = False
    seconds: float = 0.0

    @property
    def place(self) -> Frame:
        """Where it happened: the innermost row of the stack."""
        return self.message.stack[-1] if self.message.stack else Frame("", 0)


class Recompile(msgspec.Struct, frozen=True):
    """A function compiled again: where it starts and the guard that failed."""

    function: str
    filename: str
    row: int
    reason: str


class Failure(msgspec.Struct, frozen=True):
    """A compilation that ended in an error which is no graph break: Dynamo's or the backend's."""

    kind: str
    reason: str
    filename: str
    row: int


class Said(msgspec.Struct):
    """Everything read from one run.

    traced: rows Dynamo traced, by file; texts: what stood on them. recompiles, failures: with how often. compiled:
    frames that Dynamo started on; graphs: those that became a graph; seconds: spent compiling. torch: its version.
    processes: how many wrote. notes: what a reader has to know to trust this.
    """

    breaks: list[Break] = []
    recompiles: dict[Recompile, int] = {}
    failures: dict[Failure, int] = {}
    traced: dict[str, set[int]] = {}
    texts: dict[tuple[str, int], str] = {}
    compiled: int = 0
    graphs: int = 0
    seconds: float = 0.0
    torch: str = ""
    processes: int = 0
    notes: list[str] = []

    @property
    def empty(self) -> bool:
        """Whether Dynamo did nothing at all."""
        return not (self.breaks or self.traced or self.compiled or self.failures)


class Collector:
    """Gathers events into a `Said`, equal breaks together, so that memory does not grow with the log."""

    def __init__(self) -> None:
        self.said = Said()
        self._breaks: dict[tuple[object, ...], Break] = {}
        self._latest: dict[tuple[object, ...], Break] = {}
        self._by_compile: dict[str, list[Break]] = {}
        self._dropped = 0

    def add(self, message: Message, compile_id: str = "", silent: bool = False, restarted: bool = False) -> None:
        """Note a break. One whose stack is suppressed counts for the last equal one at that row."""
        at = _at(message)
        known = self._latest.get(at) if message.suppressed else None
        if known is None:
            key = (message.code, message.wraps, message.title, message.stack, message.effect, silent)
            known = self._breaks.get(key)
            if known is None:
                known = self._new(key, message, silent)
                if known is None:
                    return
            self._latest[at] = known
        known.count += 1
        known.restarts += restarted
        if compile_id and compile_id not in known.compile_ids and len(known.compile_ids) < MOST_FRAMES:
            known.compile_ids.append(compile_id)
            self._by_compile.setdefault(compile_id, []).append(known)

    def knows(self, message: Message) -> bool:
        """Whether a break of the kind was noted at that row."""
        return _at(message) in self._latest

    def _new(self, key: tuple[object, ...], message: Message, silent: bool) -> Break | None:
        if len(self._breaks) >= MOST_KINDS:
            self._dropped += 1
            return None
        made = self._breaks[key] = Break(message, count=0, silent=silent)
        return made

    def trace(self, filename: str, row: int, text: str = "") -> None:
        """Note that Dynamo traced a row."""
        self.said.traced.setdefault(filename, set()).add(row)
        if text:
            self.said.texts.setdefault((filename, row), text)

    def recompile(self, event: Recompile) -> None:
        self.said.recompiles[event] = self.said.recompiles.get(event, 0) + 1

    def fail(self, event: Failure) -> None:
        self.said.failures[event] = self.said.failures.get(event, 0) + 1

    def compile(self, compile_id: str, seconds: float, graph: bool) -> None:
        """Note a compilation that has ended."""
        self.said.compiled += 1
        self.said.graphs += graph
        self.said.seconds += seconds
        for known in self._by_compile.get(compile_id, ()):
            known.seconds += seconds

    def note(self, text: str) -> None:
        if text not in self.said.notes:
            self.said.notes.append(text)

    def done(self) -> Said:
        """What was gathered."""
        self.said.breaks = list(self._breaks.values())
        if self._dropped:
            self.note(f"{self._dropped:,} breaks were left out: there are more than {MOST_KINDS:,} kinds of them")
        return self.said


def _at(message: Message) -> tuple[str, str, str, int]:
    """Kind and row of a break."""
    last = message.stack[-1] if message.stack else Frame("", 0)
    return (message.code, message.title, last.filename, last.row)
