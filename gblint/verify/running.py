"""Running a command of the user's and reading what Dynamo says meanwhile."""

from __future__ import annotations

import math
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import msgspec

from gblint.errors import GblintError
from gblint.verify.environment import Places, prepare, switched_off
from gblint.verify.lines import bounded, plain
from gblint.verify.processes import Family
from gblint.verify.said import RAISES, Break, Collector, Said
from gblint.verify.textlog import LogReader
from gblint.verify.trace import is_trace, read_trace

Show = Callable[[bytes], None]
Tick = Callable[[float, str], None]

EXITED, TIMED_OUT, INTERRUPTED, TOO_LARGE = "exited", "timed-out", "interrupted", "too-large"
_TAIL = 40  # lines of output that are kept
_JOIN = 5.0  # seconds to wait for the end of its output, which a process that goes on may hold open
_LONGEST_TAIL_LINE = 500
_LOOK = 0.5  # seconds between two looks at the processes
_ERROR = re.compile(r"(?:\[\w+\]: ?)?(?:[A-Za-z_]\w*\.)*\w*(?:Error|Exception|Interrupt|Exit|Unsupported)\b")


class Command(msgspec.Struct, frozen=True):
    """What to run. timeout: in seconds, memory: in MB for all its processes together, None for none. verbose:
    TORCHDYNAMO_VERBOSE=1. env: of the process, None for gblint's own."""

    words: tuple[str, ...]
    timeout: float | None = None
    cwd: Path | None = None
    verbose: bool = False
    env: Mapping[str, str] | None = None
    memory: float | None = None


class Ran(msgspec.Struct):
    """What came of it. code: exit code, negative for a signal. tail: the last lines it printed. with_torch: whether it
    imported torch."""

    said: Said
    code: int
    ended: str
    seconds: float
    tail: list[str]
    with_torch: bool
    off: str = ""

    @property
    def failed(self) -> bool:
        return self.code != 0 or self.ended != EXITED


def run(command: Command, show: Show | None = None, tick: Tick | None = None) -> Ran:
    """Run a command to its end, its timeout, or an interrupt; read what Dynamo said.

    show: gets the output as it comes, logs that only gblint asked for left out. tick: called every now and then with
    the seconds so far and the last line of output. Raises GblintError if the command cannot be started.
    """
    with _scratch() as scratch:
        env, places = prepare(os.environ if command.env is None else command.env, scratch, command.verbose)
        start = time.monotonic()
        output = _Output(places.hidden, show)
        code, ended = _wait(_start(command, env), command, output, tick)
        said = _read(places, output)
        said.notes[:0] = places.notes
        with_torch = places.log.exists()
    return Ran(said, code, ended, time.monotonic() - start, list(output.tail), with_torch, switched_off(env))


@contextmanager
def _scratch() -> Iterator[Path]:
    folder = tempfile.mkdtemp(prefix="gblint-verify-")
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _start(command: Command, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    program = command.words[0]
    try:
        return subprocess.Popen(
            command.words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=command.cwd,
            env=dict(env),
            start_new_session=True,
        )
    except FileNotFoundError:
        raise GblintError(f"there is no program `{program}` to run", _hint(program)) from None
    except (PermissionError, OSError) as error:
        raise GblintError(f"`{program}` cannot be run: {error.strerror or error}", _hint(program)) from None


def _hint(program: str) -> str:
    if program.endswith(".py"):
        return f"give the whole command: python {program}"
    return "the command is what you would type in a shell, without shell syntax: gblint verify src -- python train.py"


def _wait(process: subprocess.Popen[bytes], command: Command, output: _Output, tick: Tick | None) -> tuple[int, str]:
    """Read the output until the process ends or is ended; its exit code, and how it ended."""
    threads = [
        threading.Thread(target=read, args=(pipe,), daemon=True)
        for read, pipe in ((output.read_out, process.stdout), (output.read_err, process.stderr))
    ]
    for thread in threads:
        thread.start()
    family = Family(process)
    start = time.monotonic()
    looked = 0.0
    ended = EXITED
    try:
        while process.poll() is None:
            passed = time.monotonic() - start
            if command.timeout is not None and passed > command.timeout:
                ended = TIMED_OUT
                break
            if passed - looked > _LOOK:
                looked = passed
                if family.look() > (command.memory or math.inf):
                    ended = TOO_LARGE
                    break
            if tick:
                tick(passed, output.tail[-1] if output.tail else "")
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0.1)
    except KeyboardInterrupt:
        ended = INTERRUPTED
    if ended == EXITED:
        family.end_group()
    else:
        family.end(signal.SIGINT if ended == INTERRUPTED else signal.SIGTERM)
    for thread in threads:
        thread.join(timeout=_JOIN)
    return process.returncode, ended


class _Output:
    """What the program prints: kept, shown, and on standard error told apart from the logs."""

    def __init__(self, hidden: frozenset[str], show: Show | None) -> None:
        self.tail: deque[str] = deque(maxlen=_TAIL)
        self.errors = Collector()
        self._reader = LogReader(self.errors, with_trace=True)
        self._hidden = hidden
        self._show = show

    def read_out(self, pipe: IO[bytes]) -> None:
        with pipe, suppress(ValueError, OSError):
            for line in bounded(pipe):
                self._keep(line)

    def read_err(self, pipe: IO[bytes]) -> None:
        with pipe, suppress(ValueError, OSError):
            for line in bounded(pipe):
                if self._reader.feed(line) not in self._hidden:
                    self._keep(line)

    def finish(self) -> list[Break]:
        """Exceptions of Dynamo's that the program printed."""
        self._reader.finish()
        return [event for event in self.errors.done().breaks if event.message.effect == RAISES]

    def _keep(self, line: bytes) -> None:
        if line.strip():
            self.tail.append(plain(line)[:_LONGEST_TAIL_LINE])
        if self._show:
            self._show(line + b"\n")


def _read(places: Places, output: _Output) -> Said:
    collector = Collector()
    files = sorted(places.trace.iterdir()) if places.trace.is_dir() else []
    traces = [file for file in files if file.name not in places.old and file.is_file() and is_trace(file)]
    for file in traces:
        read_trace(file, collector)
    if places.log.is_file():
        reader = LogReader(collector, with_trace=bool(traces))
        with places.log.open("rb") as stream:
            stream.seek(places.skip)
            for line in bounded(stream):
                reader.feed(line)
        reader.finish()
    said = collector.done()
    for event in output.finish():
        _add_raised(said, event)
    return said


def _add_raised(said: Said, event: Break) -> None:
    """Add an exception that was printed. A trace knows the rows above the compiled frame, the text those in it."""
    for known in said.breaks:
        same = (known.message.code, known.place.filename, known.place.row)
        if known.message.effect == RAISES and same == (event.message.code, event.place.filename, event.place.row):
            above = known.message.stack[:-1]
            known.message = msgspec.structs.replace(known.message, stack=above + event.message.stack)
            return
    said.breaks.append(event)


def problem(ran: Ran, words: Sequence[str]) -> GblintError | None:
    """Why nothing can be learnt from a run; None if something can."""
    if ran.ended == INTERRUPTED:
        return GblintError("interrupted, nothing is reported")
    shown = f"`{' '.join(words)}`"
    missing = next((line for line in reversed(ran.tail) if "No module named 'torch'" in line), "")
    if missing and not ran.with_torch:
        return GblintError(
            f"{shown} has no torch: {missing}", "run it with the Python that your project runs with, torch installed"
        )
    if not ran.with_torch:
        return GblintError(f"{shown} never imported torch{_ending(ran)}", _last_words(ran))
    if _too_old(ran.said.torch) and ran.said.breaks and not any(event.message.code for event in ran.said.breaks):
        return GblintError(
            "this torch is too old: it breaks graphs but gives no ids", "torch 2.8 and later say which break it is"
        )
    if ran.said.empty:
        why = f"{ran.off} is set, which turns torch.compile off" if ran.off else "nothing was compiled"
        hint = f"unset {ran.off}" if ran.off else "the run has to call what torch.compile returns, at least once"
        return GblintError(f"{why} in {shown}{_ending(ran)}", _last_words(ran) if ran.failed else hint)
    return None


def _too_old(torch: str) -> bool:
    """Whether a version, unless it is known, may be one of those that give no ids."""
    numbers = re.match(r"(\d+)\.(\d+)", torch)
    return numbers is None or (int(numbers[1]), int(numbers[2])) < (2, 8)


def ending(ran: Ran, timeout: float | None) -> str:
    """A warning about a run that did not end well, "" about one that did."""
    if ran.ended == TOO_LARGE:
        return (
            "the command was ended when it had taken more memory than allowed: what would have come later was not seen"
        )
    if ran.ended == TIMED_OUT:
        return f"the command was ended after {timeout:g} s: what would have come later was not seen"
    if ran.code:
        return f"the command failed with {_exit(ran.code)}: what would have come later was not seen; {_last_words(ran)}"
    return ""


def _ending(ran: Ran) -> str:
    if ran.ended == TIMED_OUT:
        return f" in {ran.seconds:.0f} s, when it was ended"
    if ran.ended == TOO_LARGE:
        return " before it was ended for its memory"
    return f" before it failed with {_exit(ran.code)}" if ran.code else ""


def _exit(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with suppress(ValueError):
        return f"signal {signal.Signals(-code).name}"
    return f"signal {-code}"


def _last_words(ran: Ran) -> str:
    """The error that the program ended in, or else the last that it printed."""
    errors = [line for line in ran.tail if _ERROR.match(line)]
    last = errors[-1] if errors else ran.tail[-1] if ran.tail else ""
    advice = "; an exported notebook with magics in it runs with ipython" if "get_ipython" in last else ""
    return f"its last words: {last}{advice}" if last else "it printed nothing"
